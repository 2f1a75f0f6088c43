#![doc = include_str!("../README.md")]

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
mod shown;
mod version;
mod words;

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
pub use shown::shown;
pub use version::{Version, version_result};

pub use ipnet::{IpNet, Ipv4Net, Ipv6Net};
