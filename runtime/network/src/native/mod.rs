//! Native plugins: programs outside the sandbox, which run only if weir's own configuration lists them by name, digest and
//! network.
//!
//! Each call passes the gate, which has the listing for rules, and is recorded even if it is refused.

mod answer;
mod binary;
mod call;
mod found;
mod ipam;
mod listing;
mod run;
mod successor;

use std::path::{Path, PathBuf};

use weir_cni::{AddResult, Error};
use weir_files::Paths;
use weir_sandbox::Sandbox;

pub use binary::inspect;
pub use call::{NativeCall, SEARCH_PATH};
pub(super) use ipam::NativeIpam;
pub use successor::{Successor, ToolEnvironment};

use self::found::Found;
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
    native_call: NativeCall<'_>,
) -> Result<Option<AddResult>, AddFailed> {
    let found = Found::find(sandbox, native_call.plugin, bin_dirs)?;
    Run::new(sandbox, native_call, &found)?.carry_out()
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
