//! `weir install`: the binary and one link for each plugin, put in place atomically.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhow::{Context, Result};

use super::OWN_NAME;
use super::output::show;
use crate::cli::output::print_line;
use crate::paths::Paths;
use crate::sandbox::Catalogue;

/// Installs into `bin_dir`: a running binary, and whatever stands under a plugin's name, is
/// replaced by a rename, so that a runtime finds the old one or the new one at any moment.
pub fn run(bin_dir: &Path) -> Result<()> {
    let shown = bin_dir.display();
    fs::create_dir_all(bin_dir).with_context(|| format!("create `{shown}`"))?;
    install_binary(bin_dir)?;
    let catalogue = Catalogue::new(&Paths::from_environment());
    let mut names = Vec::new();
    for plugin in catalogue.list().context("list the installed plugins")? {
        names.push(plugin.plugin.map_err(show)?.name);
    }
    for name in &names {
        link(bin_dir, name)?;
    }
    print_line!(
        "installed {shown}/{OWN_NAME}, and as plugins: {}",
        names.join(", ")
    );
    Ok(())
}

fn install_binary(bin_dir: &Path) -> Result<()> {
    let own = std::env::current_exe().context("find the running binary")?;
    let new = temporary(bin_dir, OWN_NAME);
    let place = bin_dir.join(OWN_NAME);
    replace(&new, &place, || {
        fs::copy(&own, &new)?;
        fs::set_permissions(&new, Permissions::from_mode(0o755))?;
        fs::File::open(&new)?.sync_all()
    })
}

fn link(bin_dir: &Path, name: &str) -> Result<()> {
    let new = temporary(bin_dir, name);
    replace(&new, &bin_dir.join(name), || symlink(OWN_NAME, &new))
}

fn temporary(bin_dir: &Path, name: &str) -> std::path::PathBuf {
    bin_dir.join(format!(".{name}.{}", std::process::id()))
}

fn replace(new: &Path, place: &Path, make: impl FnOnce() -> std::io::Result<()>) -> Result<()> {
    let _ = fs::remove_file(new);
    let replaced = make().and_then(|()| fs::rename(new, place));
    if replaced.is_err() {
        let _ = fs::remove_file(new);
    }
    replaced.with_context(|| format!("install `{}`", place.display()))
}
