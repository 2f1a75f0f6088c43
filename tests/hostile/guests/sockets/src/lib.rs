//! A plugin that connects to somebody, and so imports `wasi:sockets`.

use weir_sdk::config::NoKeys;
use weir_sdk::{AddResult, Error, Plugin, Request};

/// The plugin.
pub struct Sockets;

impl Plugin for Sockets {
    type Config = NoKeys;

    fn add(request: Request<NoKeys>) -> Result<AddResult, Error> {
        std::net::TcpStream::connect("192.0.2.1:443")
            .map_err(|e| Error::io_failure(e.to_string()))?;
        Ok(request.previous.unwrap_or_default())
    }

    fn check(_: Request<NoKeys>) -> Result<(), Error> {
        Ok(())
    }
}

weir_sdk::export!(Sockets);
