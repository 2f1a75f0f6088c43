//! CNI types, conversions and validation for specification versions 0.1.0 to 1.1.0.
//!
//! The crate is pure: it reads and writes no file, environment variable or socket, and compiles for
//! native targets and for WebAssembly alike. Hosts (CNI runtimes) and guests (plugins) share it.
//!
//! One result type, [`AddResult`], has the newest shape; [`to_json`] and [`from_json`] convert it to
//! and from the JSON of any version, so that the rest of a program is blind to versions.
//!
//! ```
//! use weir_cni::{Execution, NetworkConfigList, Version, from_json, to_json};
//!
//! let list = NetworkConfigList::parse(
//!     r#"{
//!         "cniVersion": "0.4.0",
//!         "cniVersions": ["0.4.0", "1.0.0"],
//!         "name": "dbnet",
//!         "plugins": [{
//!             "type": "bridge",
//!             "bridge": "cni0",
//!             "capabilities": { "mac": true },
//!             "ipam": { "type": "host-local", "subnet": "10.1.0.0/16" }
//!         }]
//!     }"#,
//! )?;
//! assert_eq!(list.cni_version, Version::V1_0_0);
//!
//! // What the first plugin of the list reads from standard input on ADD.
//! let capability_args = serde_json::json!({ "mac": "02:00:00:00:00:01", "bandwidth": {} });
//! let execution = list.execution_config(
//!     &list.plugins[0],
//!     capability_args.as_object().unwrap(),
//!     Execution::Add { prev_result: None },
//! )?;
//! assert_eq!(
//!     execution.as_map()["runtimeConfig"],
//!     serde_json::json!({ "mac": "02:00:00:00:00:01" })
//! );
//! assert_eq!(execution.as_map()["bridge"], "cni0");
//!
//! // A result of an older version, read and printed in another one.
//! let result = from_json(&serde_json::json!({
//!     "cniVersion": "0.2.0",
//!     "ip4": { "ip": "10.1.0.5/16", "gateway": "10.1.0.1" },
//!     "dns": {}
//! }))?;
//! assert_eq!(
//!     to_json(&result, list.cni_version)?,
//!     serde_json::json!({
//!         "cniVersion": "1.0.0",
//!         "ips": [{ "address": "10.1.0.5/16", "gateway": "10.1.0.1" }]
//!     })
//! );
//! # Ok::<(), weir_cni::Error>(())
//! ```

mod args;
mod attachment;
mod cidr;
mod config;
mod convert;
mod error;
mod invocation;
mod json;
mod mac;
mod names;
pub mod owner;
mod result;
mod version;

pub use args::{Args, PodArgs, RequestedAddress};
pub use attachment::Attachment;
pub use cidr::{parse_cidr, parse_subnet};
pub use config::{Execution, NetworkConfigList, PluginConfig};
pub use convert::{from_json, from_json_assuming, to_json};
pub use error::{Code, Error};
pub use invocation::{Command, Environment};
pub use mac::Mac;
pub use names::{
    INTERFACE_NAME_MAX, is_plugin_uri, validate_container_id, validate_interface_name,
    validate_network_name, validate_plugin_name, validate_plugin_type,
};
pub use result::{AddResult, Dns, Interface, IpConfig, Route, optional_address};
pub use version::{Version, version_result};

pub use ipnet::{IpNet, Ipv4Net, Ipv6Net};
