//! The program of a native plugin with what lists it, found and read once.

use std::path::PathBuf;

use weir_cni::Error;
use weir_sandbox::Sandbox;

use super::binary::Binary;
use super::listing::Listing;

/// A program, whether it is listed or not.
pub(super) struct Found {
    pub(super) listing: Listing,
    pub(super) binary: Binary,
    /// `CNI_PATH`.
    pub(super) search: String,
}

impl Found {
    /// The program of a plugin that is not a component, in the directories of its listing or in `bin_dirs`.
    ///
    /// Errors: `sandbox::codes::NO_PLUGIN` if there is none of that name; `codes::SETTINGS`; `codes::UNFIT`.
    pub(super) fn find(
        sandbox: &Sandbox,
        plugin: &str,
        bin_dirs: &[PathBuf],
    ) -> Result<Self, Error> {
        let paths = sandbox.paths();
        let listing = Listing::load(paths)?;
        let bin_dirs = listing.bin_dirs(paths, plugin, bin_dirs);
        let Some(binary) = Binary::find(plugin, &bin_dirs)? else {
            return Err(missing(sandbox, plugin, &bin_dirs));
        };
        Ok(Self {
            listing,
            binary,
            search: joined(&bin_dirs),
        })
    }
}

/// Neither a component nor a program has that name.
fn missing(sandbox: &Sandbox, plugin: &str, bin_dirs: &[PathBuf]) -> Error {
    let shown = bin_dirs.iter().map(|d| format!("`{}`", d.display()));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let nor = format!("no native plugin of that name in {shown} either");
    match sandbox.catalogue().find(plugin) {
        Err(error) => error.and_details([nor]),
        Ok(_) => Error::try_again_later(format!("plugin `{plugin}` has just been installed")),
    }
}

fn joined(directories: &[PathBuf]) -> String {
    let shown = directories.iter().map(|d| d.display().to_string());
    shown.collect::<Vec<_>>().join(":")
}
