//! The virtual machine's programs in large pages, as `weir install` leaves weir on a file system that has these.
//!
//! The machine boots from files with pages of 4 KiB. Of its file systems only tmpfs has larger ones, where they are asked for.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::mount::{MsFlags, mount};

use crate::contender::{Contender, Contenders};

/// Where the file system is mounted, in the virtual machine.
const DIRECTORY: &str = "/lab/large";

/// The same programs in large pages.
pub fn copy(contenders: &Contenders) -> Result<Contenders> {
    let directory = Path::new(DIRECTORY);
    mount_tmpfs(directory).with_context(|| format!("mount a tmpfs at `{DIRECTORY}`"))?;
    let [floor, reference, weir] = ["weir-floor", "reference", "weir"].map(|it| directory.join(it));
    copy_file(contenders.floor(), &floor)?;
    copy_files(contenders.search_path(Contender::Reference), &reference)?;
    install(&contenders.delegating(), &weir)?;
    Contenders::in_directories(&floor, &reference, &weir)
}

fn mount_tmpfs(directory: &Path) -> Result<()> {
    fs::create_dir(directory)?;
    let options = Some("huge=always");
    mount(
        None::<&str>,
        directory,
        Some("tmpfs"),
        MsFlags::empty(),
        options,
    )?;
    Ok(())
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let file = entry?.path();
        if file.is_file() {
            copy_file(&file, &to.join(file.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("copy `{}`", from.display()))?;
    Ok(())
}

fn install(weir: &Path, bin_dir: &Path) -> Result<()> {
    let output = Command::new(weir)
        .args(["install", "--bin-dir"])
        .arg(bin_dir)
        .output()
        .with_context(|| weir.display().to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "weir install: {said}");
    Ok(())
}
