//! A plugin that imports an interface of its own, which nobody can have granted.

use serde::Deserialize;
use weir_sdk::{AddResult, Error, Plugin, Request};

#[cfg(target_family = "wasm")]
mod imports {
    wit_bindgen::generate!({
        inline: "
            package stranger:house@1.0.0;
            interface backdoor { knock: func(); }
            world side { import backdoor; }
        ",
        world: "side",
    });
}
#[cfg(target_family = "wasm")]
use imports::stranger::house::backdoor;
#[cfg(not(target_family = "wasm"))]
mod backdoor {
    pub fn knock() {}
}

/// The plugin.
pub struct Stranger;

/// It needs no configuration.
#[derive(Debug, Deserialize)]
pub struct Config {}

impl Plugin for Stranger {
    type Config = Config;
    const NAME: &'static str = "stranger";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const DESCRIPTION: &'static str = "wants what is not in the contract";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        backdoor::knock();
        Ok(request.previous.unwrap_or_default())
    }

    fn del(_: Request<Config>) -> Result<(), Error> {
        Ok(())
    }

    fn check(_: Request<Config>) -> Result<(), Error> {
        Ok(())
    }
}

weir_sdk::export!(Stranger);
