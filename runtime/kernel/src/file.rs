//! Configuration files of the host that plugins read: a resolver configuration, an administrator's
//! list.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use weir_files::Paths;
use weir_gate::Permit;
use weir_grant::store::ReadFile;

use super::error::Error;

/// A larger one is no configuration.
const LARGEST: u64 = 64 << 10;

/// The file's content.
///
/// Errors: `NotFound`; `Invalid` for what is not a regular file or is too large.
pub fn read(permit: &Permit<ReadFile>, paths: &Paths) -> Result<Vec<u8>, Error> {
    let named = &permit.operation().path;
    let shown = named.display();
    let failed = |e: std::io::Error| Error::from(e).while_doing(format!("read `{shown}`"));
    // A named pipe would keep the opener waiting: what it is must be known before.
    let path = paths.resolve(named);
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(Error::invalid(format!("`{shown}` is not a regular file")));
    }
    let mut content = Vec::new();
    let file = open(&path).map_err(failed)?;
    // Another file may have taken its name since.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(Error::invalid(format!("`{shown}` is not a regular file")));
    }
    file.take(LARGEST + 1)
        .read_to_end(&mut content)
        .map_err(failed)?;
    match content.len() as u64 > LARGEST {
        true => Err(Error::invalid(format!(
            "`{shown}` has more than {LARGEST} bytes"
        ))),
        false => Ok(content),
    }
}

/// Without waiting, whatever it is.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
}
