//! A plugin that connects to somebody, and so imports `wasi:sockets`.

use serde::Deserialize;
use weir_sdk::{AddResult, Error, Plugin, Request};

/// The plugin.
pub struct Sockets;

/// It needs no configuration.
#[derive(Debug, Deserialize)]
pub struct Config {}

impl Plugin for Sockets {
    type Config = Config;
    const NAME: &'static str = "sockets";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const DESCRIPTION: &'static str = "wants sockets";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        std::net::TcpStream::connect("192.0.2.1:443")
            .map_err(|e| Error::io_failure(e.to_string()))?;
        Ok(request.previous.unwrap_or_default())
    }

    fn del(_: Request<Config>) -> Result<(), Error> {
        Ok(())
    }

    fn check(_: Request<Config>) -> Result<(), Error> {
        Ok(())
    }
}

weir_sdk::export!(Sockets);
