//! Tells whether a store's directory is as weir left it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::time::SystemTime;

use super::directory::Directory;

/// The kernel makes a new one at each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const BOOT_LENGTH: usize = 36;
/// Bytes of a fingerprint in the index.
pub(super) const LENGTH: usize = BOOT_LENGTH + 6 * 8;

/// The boot, and the directory's device, inode and times: seconds and nanoseconds of the last
/// modification, and of the last change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; LENGTH]);

impl Fingerprint {
    /// The directory's present state.
    pub(super) fn of(directory: &Directory) -> io::Result<Self> {
        Ok(Self::new(boot()?, &directory.metadata()?))
    }

    /// One that was recorded.
    pub(super) fn from_bytes(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// Marks the directory, and returns the mark; none if the file system's times are too coarse to tell it from a later
    /// change.
    pub(super) fn mark(directory: &Directory) -> io::Result<Option<Self>> {
        let now = SystemTime::now();
        directory.set_modified(now)?;
        let metadata = directory.metadata()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        let tells = metadata.modified()? == now && modified != changed;
        let boot = boot()?;
        Ok(tells.then(|| Self::new(boot, &metadata)))
    }

    fn new(boot: &[u8; BOOT_LENGTH], metadata: &std::fs::Metadata) -> Self {
        let mut bytes = [0; LENGTH];
        let (first, rest) = bytes.split_at_mut(BOOT_LENGTH);
        first.copy_from_slice(boot);
        let numbers = [
            metadata.dev().to_le_bytes(),
            metadata.ino().to_le_bytes(),
            metadata.mtime().to_le_bytes(),
            metadata.mtime_nsec().to_le_bytes(),
            metadata.ctime().to_le_bytes(),
            metadata.ctime_nsec().to_le_bytes(),
        ];
        rest.copy_from_slice(numbers.as_flattened());
        Self(bytes)
    }
}

/// This boot's id, read once.
fn boot() -> io::Result<&'static [u8; BOOT_LENGTH]> {
    static BOOT: OnceLock<[u8; BOOT_LENGTH]> = OnceLock::new();
    if let Some(boot) = BOOT.get() {
        return Ok(boot);
    }
    let mut boot = [0; BOOT_LENGTH];
    File::open(BOOT_ID)?.read_exact(&mut boot)?;
    Ok(BOOT.get_or_init(|| boot))
}
