//! Whether two grants differ for certain: in a single object.
//!
//! One rule may cover what several others allow together, and one glob what another does. So objects at the ends of both are
//! tried, in two invocations.

use weir_grant::rule::RuleFields;
use weir_grant::{HostInterfaces, Invocation};

/// One as most are, and one with names that no rule has.
fn invocations() -> [Invocation; 2] {
    let invocation =
        |ifname: &str, network: &str, container_id: &str, interface: &str| Invocation {
            ifname: ifname.to_owned(),
            network: network.to_owned(),
            container_id: container_id.to_owned(),
            host_interfaces: HostInterfaces::read([interface]).unwrap_or_default(),
        };
    [
        invocation("eth0", "blue", "5f3c", "eth1"),
        invocation("Zq9-if", "Zq9-net", "Zq9-id", "Zq9-host"),
    ]
}

/// Whether an object is known that a part of a rule allows, and none of the rules before.
pub(super) fn is_new_for_certain(part: &RuleFields, before: &[RuleFields]) -> bool {
    invocations().iter().any(|invocation| {
        let part = part.of_invocation(invocation);
        let before = before
            .iter()
            .filter(|rule| rule.in_common_with(&part).is_some());
        let before: Vec<RuleFields> = before.map(|rule| rule.of_invocation(invocation)).collect();
        let is_new = |point: RuleFields| !before.iter().any(|rule| rule.covers(&point));
        part.points(&before).any(is_new)
    })
}
