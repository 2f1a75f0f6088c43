//! The values that the placeholders of a grant have in one invocation.

use super::host_interfaces::HostInterfaces;

/// This invocation's values for the placeholders of a grant: `{ifname}`, `{network}`,
/// `{containerid}` and `{hostInterfaces}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    /// The interfaces of the host that networks may use.
    pub host_interfaces: HostInterfaces,
}

impl Invocation {
    /// Makes one without interfaces of the host.
    pub fn new(
        container_id: impl Into<String>,
        ifname: impl Into<String>,
        network: impl Into<String>,
    ) -> Self {
        Self {
            container_id: container_id.into(),
            ifname: ifname.into(),
            network: network.into(),
            host_interfaces: HostInterfaces::default(),
        }
    }
}
