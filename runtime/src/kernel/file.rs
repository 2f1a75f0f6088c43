//! Configuration files of the host that plugins read: a resolver configuration, an administrator's
//! list.

use std::fs::File;
use std::io::Read;

use super::error::Error;
use crate::gate::Permit;
use crate::grant::store::ReadFile;
use crate::paths::Paths;

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
    let file = File::open(&path).map_err(failed)?;
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
