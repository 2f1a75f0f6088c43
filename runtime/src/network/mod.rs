//! Networks: a plugin, or a list of plugins, carried out for one attachment.
//!
//! Floor 6 of the house: CNI section 3, with libcni's result cache.

mod attachment;
mod cache;
mod delegates;
mod files;
mod list;
mod plugin;

pub use attachment::Attachment;
pub use cache::{Cache, Cached};
pub use delegates::Delegates;
pub use files::{find, list_names};
pub use list::Network;
pub use plugin::run_plugin;
