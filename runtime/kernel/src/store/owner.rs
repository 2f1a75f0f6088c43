//! Whose stores are opened.

/// The owner of stores: the part of a store's place that the plugin does not choose.
#[derive(Clone, Debug, Default)]
pub struct StoreOwner {
    pub plugin: String,
    /// As a directory's name.
    pub network: String,
    /// For an attachment that may have been made before the network had stores of its own.
    pub former: Option<Former>,
}

/// An attachment of a tenant's network, and the name by which its stores were called.
#[derive(Clone, Debug)]
pub struct Former {
    pub network: String,
    pub container_id: String,
    pub ifname: String,
}
