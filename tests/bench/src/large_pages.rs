//! The virtual machine's programs in large pages, as `weir install` leaves weir on a file system that has these.
//!
//! The machine boots from files with pages of 4 KiB. Of its file systems only tmpfs has larger ones, where they are asked for.

use std::fs;
use std::path::{Path, PathBuf};
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
    fs::copy(contenders.floor(), &floor)?;
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
    let files: Vec<PathBuf> = fs::read_dir(from)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    for file in files.iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap_or_default();
        fs::copy(file, to.join(name)).with_context(|| file.display().to_string())?;
    }
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
