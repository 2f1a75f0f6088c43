//! Whose a file is, and who else may change it: what weir trusts on disk is its own user's, or root's.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use nix::unistd::geteuid;

/// Permission to write for others than the owner.
const OTHERS_WRITE: u32 = 0o022;

/// Whose a file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user as whom weir runs.
    User,
    /// That user, or root.
    UserOrRoot,
}

/// Why somebody else could change a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It belongs to `owner`, and weir runs as `user`.
    Owner { owner: u32, user: u32 },
    /// Others may write in it: its permissions.
    Mode(u32),
}

/// Fails where somebody else than its owner may write in a file or a directory, or where it has another
/// owner than it may have. The metadata must be that of the open descriptor which is used afterwards.
pub fn check(metadata: &Metadata, expected: Owner) -> Result<(), Foreign> {
    let (owner, user) = (metadata.uid(), geteuid().as_raw());
    if owner != user && (expected == Owner::User || owner != 0) {
        return Err(Foreign::Owner { owner, user });
    }
    match metadata.mode() & 0o7777 {
        mode if mode & OTHERS_WRITE != 0 => Err(Foreign::Mode(mode)),
        _ => Ok(()),
    }
}
