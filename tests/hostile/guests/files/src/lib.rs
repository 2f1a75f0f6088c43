//! A plugin that reads a file of the host, and so imports `wasi:filesystem`.

use weir_sdk::config::NoKeys;
use weir_sdk::{AddResult, Error, Plugin, Request};

/// The plugin.
pub struct Files;

impl Plugin for Files {
    type Config = NoKeys;

    fn add(request: Request<NoKeys>) -> Result<AddResult, Error> {
        std::fs::read("/etc/shadow").map_err(|e| Error::io_failure(e.to_string()))?;
        Ok(request.previous.unwrap_or_default())
    }

    fn check(_: Request<NoKeys>) -> Result<(), Error> {
        Ok(())
    }
}

weir_sdk::export!(Files);
