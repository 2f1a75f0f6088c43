//! What an operation on a store does, in words, and how far it reaches.

use std::path::Path;

use super::{Claim, Delete, Find, Get, Keys, Location, OpenRead, OpenWrite, Put, ReadFile, Revert};
use crate::act::{Act, Severity};
use crate::invocation::Invocation;
use crate::operation::{reads, required};
use crate::pattern::is_plain;
use crate::phrase::{joined, quoted};

reads!(OpenRead, Get, Keys, Find, ReadFile);

/// Where CNI's plugins keep their state.
const STATE: [&str; 3] = ["/run/cni", "/var/lib/cni", "/var/run/cni"];

/// The keys that are named one by one.
const MOST_KEYS: usize = 4;

impl Location {
    /// The plugin's own directory is weir's for it alone; one for state may be read by others. Files anywhere else, such as
    /// in `/etc/cron.d`, can make programs of the host do what the plugin wants.
    fn severity(&self) -> Severity {
        match self {
            Self::Private => Severity::Contained,
            Self::ConfiguredDirectory(_) | Self::ConfiguredSharedDirectory(_) => {
                Severity::ChangesHost
            }
            Self::Directory(path) | Self::SharedDirectory(path) if is_for_state(path) => {
                Severity::ChangesHost
            }
            _ => Severity::LeavesContainer,
        }
    }
}

fn is_for_state(path: &Path) -> bool {
    is_plain(path) && STATE.iter().any(|state| path.starts_with(state))
}

/// Implements [`Act`] for operations that write into a store.
macro_rules! writes {
    ($($operation:ty: |$own:ident| $act:expr;)+) => {$(
        impl Act for $operation {
            fn act(&self) -> String {
                let $own = self;
                $act
            }

            fn severity(&self, _: &Invocation) -> Severity {
                self.location.severity()
            }
        }
    )+};
}

writes! {
    OpenWrite: |own| required(own);
    Put: |own| format!("set `{}` in {}", own.key, own.location);
    Claim: |own| format!("claim {} in {}", first_free(&own.keys), own.location);
    Delete: |own| format!("delete `{}` from {}", own.key, own.location);
    Revert: |own| {
        let keys = own.changes.iter().map(|change| change.key.as_str());
        format!("take back changes{} in {}", of_keys(keys.collect()), own.location)
    };
}

/// "`10.1.0.2`", or "the first free one of `10.1.0.2` and 3 more keys".
fn first_free(keys: &[String]) -> String {
    match keys {
        [only] => format!("`{only}`"),
        several => format!(
            "the first free key{}",
            of_keys(several.iter().map(String::as_str).collect())
        ),
    }
}

/// " of `a`, `b` and 2 more keys"; empty if none is recorded.
fn of_keys(keys: Vec<&str>) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let mut named = quoted(keys.iter().take(MOST_KEYS));
    if keys.len() > MOST_KEYS {
        named.push(format!("{} more keys", keys.len() - MOST_KEYS));
    }
    format!(" of {}", joined(named, "and"))
}
