//! The network namespaces of an operation.

use super::word::words;

words! {
    /// The two network namespaces that exist for a plugin.
    #[derive(Hash)]
    pub enum Namespace {
        Host = "host",
        Container = "container",
    }
}
