//! What the author of a weir network plugin imports.
//!
//! A plugin is a type that implements [`Plugin`], exported with [`export!`] as the contract's interface `commands`, in
//! a library of crate type `cdylib` built for `wasm32-wasip2`; or for `wasm32-unknown-unknown`, where it needs neither
//! clocks nor random numbers and its core module is made a component afterwards:
//!
//! ```no_run
//! use serde::Deserialize;
//! use weir_sdk::{AddResult, Error, Interface, Namespace, Plugin, Request, link};
//!
//! /// Sets an interface of the container up.
//! struct Upper;
//!
//! #[derive(Deserialize)]
//! #[serde(rename_all = "camelCase", default)]
//! struct Config {
//!     /// The interface to set up.
//!     device: String,
//! }
//!
//! impl Default for Config {
//!     fn default() -> Self {
//!         Config { device: "lo".to_owned() }
//!     }
//! }
//!
//! impl Plugin for Upper {
//!     type Config = Config;
//!     const NAME: &'static str = "upper";
//!
//!     fn add(request: Request<Config>) -> Result<AddResult, Error> {
//!         let device = request.config.device.as_str();
//!         link::set_up(Namespace::Container, device)?;
//!         Ok(request.previous.unwrap_or_default())
//!     }
//!
//!     fn del(_request: Request<Config>) -> Result<(), Error> {
//!         Ok(())
//!     }
//!
//!     fn check(request: Request<Config>) -> Result<(), Error> {
//!         let device = link::get(Namespace::Container, request.config.device.as_str())?;
//!         if device.up {
//!             Ok(())
//!         } else {
//!             Err(Error::internal(format!("`{}` is down", device.name)))
//!         }
//!     }
//! }
//!
//! weir_sdk::export!(Upper);
//! # fn main() {}
//! ```
//!
//! Each capability is a module with the capability's name: [`link`], [`address`], [`route`], … A component imports
//! exactly the capabilities whose functions it calls, and the plugin's grant must have each of them.
//!
//! Above the capabilities is what main plugins share: [`veth`] for an attachment's pair, [`interface`] for the
//! container's interface, [`masquerade`], [`owner`] and [`firewall::owned`] for what belongs to an attachment, and
//! [`check`] for CHECK.
//!
//! Operations fail with an [`OperationError`], which `?` turns into a CNI [`Error`]; [`codes`] says
//! into which code.

#![warn(missing_docs)]

pub mod address;
pub mod bindings;
pub mod check;
pub mod codes;
pub mod config;
pub mod conntrack;
mod convert;
pub mod device;
pub mod digest;
mod error;
pub mod firewall;
pub mod firewalld;
pub mod interface;
pub mod ipam;
pub mod link;
pub mod log;
pub mod masquerade;
pub mod neighbour;
pub mod owner;
pub mod packet;
mod panic;
mod plugin;
pub mod policy_rule;
mod request;
pub mod route;
pub mod store;
pub mod sysctl;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod traffic;
pub mod veth;

pub use bindings::OperationError;
pub use bindings::weir::cni::types::{ErrorCode, IpFamily, LinkReference, Namespace};
pub use error::{Context, Outcome, Result};
pub use plugin::{Component, Package, Plugin, World};
pub use request::{GcRequest, Request, StatusRequest};

pub use ipnet::{self, IpNet, Ipv4Net, Ipv6Net};
pub use serde;
pub use weir_cni::{
    self as cni, AddResult, Args, Attachment, Code, Dns, Error, Interface, IpConfig, Mac, Route,
};

/// Makes a type that implements [`Plugin`] the component's exports. Its version and its description are those of the
/// package that calls this.
///
/// Exports nothing on native targets, so that the plugin's pure parts can be tested there.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        impl $crate::Package for $plugin {
            const VERSION: &'static str = env!("CARGO_PKG_VERSION");
            const DESCRIPTION: &'static str = env!("CARGO_PKG_DESCRIPTION");
        }
        #[cfg(target_family = "wasm")]
        type __WeirComponent = $crate::Component<$plugin>;
        #[cfg(target_family = "wasm")]
        $crate::bindings::export_component!(__WeirComponent with_types_in $crate::bindings);
    };
}
