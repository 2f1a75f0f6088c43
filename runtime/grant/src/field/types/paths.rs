//! Directories and files of the host.

use std::path::Path;

use super::one;
use crate::field::{FieldType, Seen, Texts, points};
use crate::invocation::Invocation;
use crate::pattern::{DATA_DIR, Directory, File, RESOLV_CONF, globs_meet};

/// An operation's path, and whether the node's own configuration names it.
#[derive(Clone, Copy, Debug)]
pub struct StorePath<'r> {
    pub path: &'r Path,
    pub is_configured: bool,
}

/// Directories, with everything below them; none, when left out.
pub struct Directories;

impl FieldType for Directories {
    type Values = Vec<Directory>;
    type Fact<'r> = StorePath<'r>;
    const LEFT_OUT_IS_ALL: bool = false;
    const EXAMPLES: &'static [&'static str] = &["/var/lib/cni", "/run/cni/x", "/", DATA_DIR];

    fn matches(directories: &Vec<Directory>, place: StorePath<'_>, _: &Invocation) -> bool {
        directories.iter().any(|directory| {
            directory.contains(place.path) || place.is_configured && directory.is_of_configuration()
        })
    }

    fn text(place: StorePath<'_>) -> Texts {
        one(place.path.display())
    }

    fn write(place: StorePath<'_>, _: &Seen<'_>) -> Texts {
        write_path(place, DATA_DIR)
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        Path::new(narrow).starts_with(wide)
    }

    /// What a configuration names in the key is not known.
    fn meets(value: &str, query: &str) -> bool {
        let below = format!("{}/*", value.trim_end_matches('/'));
        globs_meet(value, query) || globs_meet(&below, query)
    }

    fn points(value: &str, others: &Texts) -> Texts {
        points::of_directory(value, others)
    }

    fn included(value: &str) -> Option<String> {
        match value {
            "/" => Some("every directory of the host".to_owned()),
            DATA_DIR => Some("the directory that the node's own configuration names".to_owned()),
            _ => None,
        }
    }
}

/// Files, by exact path; none, when left out.
pub struct Files;

impl FieldType for Files {
    type Values = Vec<File>;
    type Fact<'r> = StorePath<'r>;
    const LEFT_OUT_IS_ALL: bool = false;
    const EXAMPLES: &'static [&'static str] = &["/etc/resolv.conf", "/etc/hosts", RESOLV_CONF];
    const OTHER: Option<&'static str> = Some("/another");

    fn matches(files: &Vec<File>, place: StorePath<'_>, _: &Invocation) -> bool {
        files
            .iter()
            .any(|file| file.is(place.path) || place.is_configured && file.is_of_configuration())
    }

    fn text(place: StorePath<'_>) -> Texts {
        one(place.path.display())
    }

    fn write(place: StorePath<'_>, _: &Seen<'_>) -> Texts {
        write_path(place, RESOLV_CONF)
    }

    /// What a configuration names in the key is not known.
    fn meets(value: &str, query: &str) -> bool {
        globs_meet(value, query)
    }

    fn included(value: &str) -> Option<String> {
        let named = "the one that the node's own configuration names";
        (value == RESOLV_CONF).then(|| named.to_owned())
    }
}

/// What a grant has for a path: the path itself or, if the node's own configuration names it, the grant's placeholder for that, such
/// as [`DATA_DIR`].
fn write_path(place: StorePath<'_>, placeholder: &str) -> Texts {
    if place.is_configured {
        return one(placeholder);
    }
    one(place.path.display())
}
