//! Configuration files of the host that plugins read, such as a resolver configuration.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use weir_gate::Permit;
use weir_grant::store::ReadFile;

use super::error::{Error, Result};
use super::linux::Linux;
use super::perform::Answer;

/// The largest file in bytes.
const LARGEST: u64 = 64 << 10;

/// Reads a file.
///
/// Errors: `NotFound`; `Invalid` for what is not a regular file or is too large.
impl Answer<ReadFile, Vec<u8>> for Linux {
    fn answer(&mut self, permit: &Permit<ReadFile>) -> Result<Vec<u8>> {
        let named = &permit.operation().path;
        let shown = named.display();
        let failed = |e: std::io::Error| Error::from(e).while_doing(format_args!("read `{shown}`"));
        // Opening a device may already have an effect.
        let path = self.paths.resolve(named);
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(Error::invalid(format!("`{shown}` is not a regular file")));
        }
        let mut content = Vec::new();
        let file = open(&path).map_err(failed)?;
        // Another file may have been put in its place since.
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Error::invalid(format!("`{shown}` is not a regular file")));
        }
        file.take(LARGEST + 1)
            .read_to_end(&mut content)
            .map_err(failed)?;
        if content.len() as u64 > LARGEST {
            return Err(Error::invalid(format!(
                "`{shown}` has more than {LARGEST} bytes"
            )));
        }
        Ok(content)
    }
}

/// Opens without blocking, as a named pipe would.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
}
