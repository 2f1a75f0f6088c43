//! A plugin that reads a file of the host, and so imports `wasi:filesystem`.

use serde::Deserialize;
use weir_sdk::{AddResult, Error, Plugin, Request};

/// The plugin.
pub struct Files;

/// It needs no configuration.
#[derive(Debug, Deserialize)]
pub struct Config {}

impl Plugin for Files {
    type Config = Config;
    const NAME: &'static str = "files";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const DESCRIPTION: &'static str = "wants files";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        std::fs::read("/etc/shadow").map_err(|e| Error::io_failure(e.to_string()))?;
        Ok(request.previous.unwrap_or_default())
    }

    fn del(_: Request<Config>) -> Result<(), Error> {
        Ok(())
    }

    fn check(_: Request<Config>) -> Result<(), Error> {
        Ok(())
    }
}

weir_sdk::export!(Files);
