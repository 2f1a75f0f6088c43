//! Native plugins: programs outside the sandbox, which run only if weir's own configuration lists them by name, digest and
//! network.
//!
//! Each call passes the gate, which has the listing for rules, and is recorded even if it is refused.

mod answer;
mod binary;
mod call;
mod listing;
mod run;
mod successor;

use std::path::{Path, PathBuf};

use weir_cni::{AddResult, Error};
use weir_files::Paths;
use weir_sandbox::Sandbox;

pub use binary::inspect;
pub use call::{NativeCall, SEARCH_PATH};
pub use successor::{Successor, Surroundings};

use self::binary::Binary;
use self::listing::Listing;
use self::run::Run;
use super::in_order::AddFailed;

/// Runs a plugin that is not a component, from `bin_dirs`: `CNI_PATH`, or the directories that a configuration names. Only
/// ADD has a result. After an ADD that fails it runs DEL, and the runtime's DEL must do so again.
///
/// Errors: the plugin's own; `sandbox::codes::NO_PLUGIN` if there is none of that name; those of [`codes`] if it does not
/// run, or does not answer.
pub(super) fn call(
    sandbox: &Sandbox,
    bin_dirs: &[PathBuf],
    asked: NativeCall<'_>,
) -> Result<Option<AddResult>, AddFailed> {
    let paths = sandbox.paths();
    let listing = Listing::load(paths)?;
    let bin_dirs = listing.bin_dirs(paths, asked.plugin, bin_dirs);
    let Some(binary) = Binary::find(asked.plugin, &bin_dirs)? else {
        return Err(missing(sandbox, asked.plugin, &bin_dirs).into());
    };
    Run::new(sandbox, asked, &listing, &binary, &bin_dirs)?.carry_out()
}

/// Whether weir's own configuration lists a program, for any network. Errors: `codes::SETTINGS`.
pub(super) fn is_listed(paths: &Paths, program: &Path) -> Result<bool, Error> {
    let listing = Listing::load(paths)?;
    if listing.entries().is_empty() {
        return Ok(false);
    }
    let digest = inspect(program).ok();
    let mut entries = listing.entries().iter();
    Ok(entries.any(|entry| Some(&entry.digest) == digest.as_ref()))
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
