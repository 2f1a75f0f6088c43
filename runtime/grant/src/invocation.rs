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
