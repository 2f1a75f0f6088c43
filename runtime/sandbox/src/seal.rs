//! Binds ahead-of-time code to the component that it was compiled from: a grant names the component's digest, but the code is
//! what runs.
//!
//! The seal is an HMAC over both, with a key that only root can read, created when the first plugin is installed on the node.
//! Someone who only exchanges a plugin's files, by restoring a backup or by unpacking an archive, cannot make a seal.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weir_files::Paths;
use weir_files::file_trust::{self, Untrusted};
use weir_grant::document::Digest;

/// The key's file, beside the plugins' directories. No plugin's name begins with a dot.
const KEY: &str = ".key";

/// The length of the key in bytes, as of SHA-256.
const LENGTH: usize = 32;

/// The permissions of others than the owner.
const OF_OTHERS: u32 = 0o077;

/// The node's key.
pub(super) struct Key([u8; LENGTH]);

impl Key {
    /// The existing key. Errors: it does not exist, or others could have read it.
    pub(super) fn of_node(paths: &Paths) -> io::Result<Self> {
        let path = paths.plugins().join(KEY);
        let read = match file_trust::open(&path, paths.root()) {
            Ok(file) => Self::read(file),
            Err(Untrusted::Unreadable(error)) => Err(error),
            Err(Untrusted::Exposed(found)) => {
                Err(io::Error::other(format!("not trusted: {found}")))
            }
        };
        read.map_err(|error| about(&path, &error))
    }

    fn read(mut file: File) -> io::Result<Self> {
        let mode = file.metadata()?.mode();
        if mode & OF_OTHERS != 0 {
            return Err(io::Error::other(format!(
                "not trusted: others may read it (mode {:04o}): remove it, and install the plugins again",
                mode & 0o7777
            )));
        }
        let mut key = [0; LENGTH];
        file.read_exact(&mut key)?;
        Ok(Self(key))
    }

    /// The key, created if it does not exist.
    pub(super) fn make(paths: &Paths) -> io::Result<Self> {
        match Self::of_node(paths) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        let path = paths.plugins().join(KEY);
        write_new(&path).map_err(|error| about(&path, &error))?;
        Self::of_node(paths)
    }

    /// The seal on code that was compiled from a component, in hexadecimal.
    pub(super) fn seal(&self, component: &Digest, code: &[u8]) -> String {
        let bytes = self.mac(component, code).finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether the seal is on this code and component.
    pub(super) fn is_on(&self, seal: &str, component: &Digest, code: &[u8]) -> bool {
        let bytes: Option<Vec<u8>> = (0..seal.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(seal.get(at..at + 2)?, 16).ok())
            .collect();
        bytes.is_some_and(|bytes| self.mac(component, code).verify_slice(&bytes).is_ok())
    }

    fn mac(&self, component: &Digest, code: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key may have any length");
        mac.update(component.to_string().as_bytes());
        mac.update(code);
        mac
    }
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Writes a new key atomically, even after an installation that was killed. One process at a time installs.
fn write_new(path: &Path) -> io::Result<()> {
    let mut key = [0; LENGTH];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(&key)?;
    file.sync_all()?;
    fs::rename(new, path)
}

/// Seals code as an installation does, for tests that install what it would refuse.
pub fn seal(paths: &Paths, component: &Digest, code: &[u8]) -> Result<String, String> {
    let key = Key::make(paths).map_err(|error| error.to_string())?;
    Ok(key.seal(component, code))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;
    use crate::digest;

    fn node() -> (TempDir, Paths) {
        let root = TempDir::new().expect("a directory");
        let paths = Paths::below(root.path());
        fs::create_dir_all(paths.plugins()).expect("a directory");
        (root, paths)
    }

    #[test]
    fn a_seal_is_on_one_code_and_one_component() {
        let (_root, paths) = node();
        let key = Key::make(&paths).expect("a key");
        let seal = key.seal(&digest(b"one"), b"code");
        assert!(key.is_on(&seal, &digest(b"one"), b"code"));
        assert!(!key.is_on(&seal, &digest(b"other"), b"code"));
        assert!(!key.is_on(&seal, &digest(b"one"), b"cod"));
        for forged in [
            "",
            "00",
            "zz",
            "é",
            &seal[2..],
            &seal.replace(&seal[..2], "00"),
        ] {
            assert!(!key.is_on(forged, &digest(b"two"), b"code"), "{forged}");
        }
    }

    #[test]
    fn each_node_has_a_key_of_its_own_and_keeps_it() {
        let (_one, one) = node();
        let (_other, other) = node();
        let seal = |paths| super::seal(paths, &digest(b"one"), b"code").expect("a seal");
        assert_eq!(seal(&one), seal(&one));
        assert_ne!(seal(&one), seal(&other));
        let mode = fs::metadata(one.plugins().join(KEY)).expect("a key").mode();
        assert_eq!(mode & 0o7777, 0o600);
    }

    #[test]
    fn a_key_that_others_can_read_is_none() {
        let (_root, paths) = node();
        Key::make(&paths).expect("a key");
        let key = paths.plugins().join(KEY);
        fs::set_permissions(&key, Permissions::from_mode(0o640)).expect("permissions");
        let why = Key::of_node(&paths).err().expect("no key").to_string();
        assert!(
            why.contains("0640") && why.contains("install the plugins again"),
            "{why}"
        );
        assert!(Key::make(&paths).is_err(), "it is not replaced in silence");
    }
}
