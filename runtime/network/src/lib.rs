//! A network configuration list carried out for one attachment: CNI section 3, with libcni's result cache.
//!
//! A [`Network`] runs the plugins of a list in order, gives each the result of the one before, and undoes what was done if
//! one of them fails. Components run in the sandbox; a native plugin runs only if weir's own configuration lists it
//! ([`Settings`]). Results are in libcni's cache ([`Cache`]), so that a DEL finds what another runtime attached.
//! [`PodNetworks`] are several networks of one container. A [`Record`] says what a DEL must detach if there are several.
//!
//! This crate must not ask a cluster for anything, and knows of a pod only what the runtime's `CNI_ARGS` say. It runs no
//! program that was not listed by name and digest.
//!
//! # Example
//!
//! Whether a network is ready, on a node that has none of its plugins:
//!
//! ```
//! use weir_cni::NetworkConfigList;
//! use weir_files::Paths;
//! use weir_network::Network;
//! use weir_sandbox::{Sandbox, codes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let root = tempfile::tempdir()?;
//! let sandbox = Sandbox::new(Paths::below(root.path()), false)?;
//! let text = r#"{ "cniVersion": "1.1.0", "name": "pods", "plugins": [{ "type": "bridge" }] }"#;
//! let network = Network::new(&sandbox, NetworkConfigList::parse(text)?, serde_json::Map::new());
//!
//! let error = network.status().expect_err("there is no plugin `bridge`");
//! assert_eq!(error.code, codes::NO_PLUGIN);
//! # Ok(())
//! # }
//! ```

mod attachment;
mod cache;
mod caller;
pub mod codes;
mod failures;
mod files;
pub mod in_order;
mod list;
mod native;
mod plugin;
mod pod_networks;
mod record;
mod records;
mod settings;
mod source;
mod trust;
mod uris;

pub use attachment::Attachment;
pub use cache::{Cache, Cached};
pub use caller::{is_of_node, source_of_call};
pub use failures::{together, with_left};
pub use files::{ConfigPath, at, find, first, is_configuration, list_names};
pub use in_order::{AddFailed, Left, RolledBack};
pub use list::Network;
pub use native::{NativeCall, SEARCH_PATH, Successor, ToolEnvironment, inspect as inspect_native};
pub use plugin::run_plugin;
pub use pod_networks::{Attached, Choice, PodNetworks};
pub use record::{PodName, Record, RecordedAttachment, Unusable, left_of};
pub use records::{LockedRecord, Records};
pub use settings::{Interface, PodNetwork, Settings, Template};
pub use source::Source;
pub use trust::unread;
pub use uris::{refuse as refuse_uris, uris, with_names};
