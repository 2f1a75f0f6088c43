//! Networks: a plugin, or a list of plugins, carried out for one attachment.
//!
//! Floor 6 of the house: CNI section 3, with libcni's result cache.

mod attachment;
mod cache;
mod caller;
pub mod codes;
mod failures;
mod files;
mod list;
mod native;
mod plugin;
mod pod_networks;
mod settings;
mod several;
mod source;

pub use attachment::Attachment;
pub use cache::{Cache, Cached};
pub use caller::{is_of_node, source_of_call};
pub use failures::{together, with_left};
pub use files::{Place, at, find, first, is_configuration, list_names};
pub use list::{AddFailed, Network};
pub use native::{
    Asked, NativePlugins, SEARCH_PATH, Successor, Surroundings, inspect as inspect_native,
};
pub use plugin::run_plugin;
pub use pod_networks::{Attached, Choice, PodNetworks};
pub use settings::{Interface, PodNetwork, Settings, Template};
pub use several::{Failed, Member};
pub use source::Source;
