//! A plugin that imports an interface of its own, which nobody can have granted.

use weir_sdk::config::NoKeys;
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

impl Plugin for Stranger {
    type Config = NoKeys;

    fn add(request: Request<NoKeys>) -> Result<AddResult, Error> {
        backdoor::knock();
        Ok(request.previous.unwrap_or_default())
    }

    fn check(_: Request<NoKeys>) -> Result<(), Error> {
        Ok(())
    }
}

weir_sdk::export!(Stranger);
