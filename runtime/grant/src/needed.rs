//! What of weir's configuration the rules of a grant depend on, so that nothing is read for the others.

use super::Capabilities;
use super::host_interfaces::HOST_INTERFACES;
use super::pattern::Pattern;

impl Capabilities {
    /// Whether a decision can depend on the list: a rule refers to it, or lets links of the host be moved, of which a
    /// default route's must be named there.
    pub fn need_host_interfaces(&self) -> bool {
        let refer = |links: &Option<Vec<Pattern>>| {
            let mut links = links.iter().flatten();
            links.any(|pattern| pattern.to_string().contains(HOST_INTERFACES))
        };
        let Self {
            link,
            address,
            route,
            neighbour,
            traffic,
            sysctl,
            ..
        } = self;
        link.iter()
            .any(|rule| refer(&rule.names) || rule.may_move_from_host())
            || address.iter().any(|rule| refer(&rule.links))
            || route.iter().any(|rule| refer(&rule.links))
            || neighbour.iter().any(|rule| refer(&rule.links))
            || traffic.iter().any(|rule| refer(&rule.links))
            || sysctl.iter().any(|rule| refer(&rule.keys))
    }
}
