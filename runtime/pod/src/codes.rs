//! The delegating plugin's own CNI error codes, 230 to 239.

/// The Kubernetes API cannot be reached, refuses the request, or gives an answer that weir cannot read.
pub const CLUSTER: u32 = 230;
/// The pod's selection of networks is invalid (sections 4.1 and 4.1.2.1).
pub const SELECTION: u32 = 231;
/// A selected network does not exist, or has no usable configuration (section 3.4.1).
pub const NO_NETWORK: u32 = 232;
/// The pod may not select that network (section 7.4).
pub const RESTRICTED: u32 = 233;
/// The plugins did not assign a requested address (sections 4.1.2.1.3.2 and 4.1.2.1.4.2).
pub const NOT_ASSIGNED: u32 = 234;
/// The cluster-wide default network is not ready (section 6.1).
pub const NOT_READY: u32 = 235;
pub use weir_network::codes::RECORD;
/// The pod's default routes cannot be as the selection says (key `default-route`).
pub const DEFAULT_ROUTE: u32 = 237;
/// kubelet gave the pod no device, or too few, for a network that needs one; or device information is invalid.
pub const DEVICE: u32 = 238;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_errors_has_them() {
        let all = [
            CLUSTER,
            SELECTION,
            NO_NETWORK,
            RESTRICTED,
            NOT_ASSIGNED,
            NOT_READY,
            RECORD,
            DEFAULT_ROUTE,
            DEVICE,
        ];
        let listed = include_str!("../../../docs/errors.md")
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split_once(' ')?.0.parse().ok())
            .filter(|code| (230..240).contains(code));
        let listed: Vec<u32> = listed.collect();
        assert_eq!(listed, all);
    }
}
