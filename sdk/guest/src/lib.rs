#![doc = include_str!("../README.md")]
//!
//! # Building blocks
//!
//! A plugin can also be built for `wasm32-unknown-unknown`, where it needs neither clocks nor random numbers and its core
//! module is made a component afterwards.
//!
//! With the feature `heap`, a plugin has a heap that is made for one short command, in place of the standard library's: it is
//! loaded sooner, and takes fewer pages of memory. A plugin with a global allocator of its own cannot have it.
//!
//! [`export!`] names the plugin after its library, and takes version and description from the package. `del` may be left
//! out where nothing of `add` outlives the container's interface.
//!
//! Each capability is a module with the capability's name: [`link`], [`address`], [`route`], … A component imports
//! exactly the capabilities whose functions it calls, and the plugin's grant must have each of them.
//!
//! Above the capabilities is what plugins share. A chained plugin begins with [`Request::chained`] and
//! [`Request::container_interface`]. A main plugin is a [`MainPlugin`]: it has [`config::Ipam`] for the addresses, [`veth`]
//! for an attachment's pair, [`lower`] for an interface over a device of the host, [`point_to_point`] and [`interface`] for
//! what the ends get, [`masquerade`], [`owner`] and [`firewall::owned`] for what belongs to an attachment. Both have [`check`] for CHECK. An IPAM plugin has [`ipam`]: ranges and leases.
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
#[cfg(any(all(target_arch = "wasm32", feature = "heap"), test))]
mod heap;
pub mod interface;
pub mod ipam;
pub mod link;
pub mod log;
pub mod lower;
mod main_plugin;
pub mod masquerade;
pub mod neighbour;
pub mod owner;
pub mod packet;
mod panic;
mod plugin;
pub mod point_to_point;
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
pub use convert::AsLink;
pub use error::{Context, Outcome, Result};
pub use main_plugin::{MainConfig, MainPlugin};
pub use plugin::{Component, Package, Plugin, World};
#[doc(hidden)]
pub use plugin::{library_name, library_name_length};
pub use request::{GcRequest, Request, StatusRequest};

pub use ipnet::{self, IpNet, Ipv4Net, Ipv6Net};
pub use serde;
pub use weir_cni::{
    self as cni, AddResult, Args, Attachment, Code, Dns, Error, Interface, IpConfig, Mac, Route,
};
pub use weir_sdk_macros::config;

/// Makes a type that implements [`Plugin`] the component's exports. Its version and its description are those of the
/// package that calls this; its name is the library's, with hyphens for underscores, unless one is given:
/// `export!(Switch, name = "switch")`.
///
/// Exports nothing on native targets, so that the plugin's pure parts can be tested there.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        $crate::export!($plugin, name = {
            const LENGTH: usize = $crate::library_name_length(module_path!());
            const NAME: [u8; LENGTH] = $crate::library_name(module_path!());
            match str::from_utf8(&NAME) {
                Ok(name) => name,
                Err(_) => panic!("the library's name is not UTF-8"),
            }
        });
    };
    ($plugin:ty, name = $name:expr) => {
        impl $crate::Package for $plugin {
            const NAME: &'static str = $name;
            const VERSION: &'static str = env!("CARGO_PKG_VERSION");
            const DESCRIPTION: &'static str = env!("CARGO_PKG_DESCRIPTION");
        }
        #[cfg(target_family = "wasm")]
        type __WeirComponent = $crate::Component<$plugin>;
        #[cfg(target_family = "wasm")]
        $crate::bindings::export_component!(__WeirComponent with_types_in $crate::bindings);
    };
}
