//! The facts that the gate gets from the model.

use ipnet::IpNet;
use weir_grant::Namespace;
use weir_grant::firewall::{Apply, Element, Value};
use weir_grant::link::{Link, LinkFacts, LinkReference, flaw_of_name};
use weir_grant::pattern::contains;
use weir_grant::route::Route;
use weir_grant::traffic::{Handle, PresentQdisc};
use weir_kernel::inverses::KnownLinks;
use weir_kernel::{Error, Facts, Result};

use super::kernel::Model;
use super::route::{LOCAL_TABLE, MAIN_TABLE};
use super::{firewall, traffic};

impl Facts for Model {
    fn find_link(&mut self, namespace: Namespace, link: &LinkReference) -> Result<Link> {
        if let LinkReference::Name(name) = link
            && let Some(why) = flaw_of_name(name)
        {
            return Err(Error::invalid(why));
        }
        let is_it = |found: &Link| match link {
            LinkReference::Name(name) => found.name == *name,
            LinkReference::Index(index) => found.index == *index,
        };
        let found = self.look(|state| {
            let mut links = state.of(namespace)?.links.iter().map(|d| &d.link);
            let found = links.find(|link| is_it(link)).cloned();
            found.ok_or_else(|| Error::not_found(link.absent(namespace).not_found()))
        })?;
        self.known.meet(namespace, found.clone());
        Ok(found)
    }

    fn known_links(&self) -> &KnownLinks {
        &self.known
    }

    fn marked_links(&mut self, is_meant: &dyn Fn(&str) -> bool) -> Result<Vec<LinkFacts>> {
        self.look(|state| {
            let links = state.host.links.iter().map(|device| &device.link);
            let meant = links.filter(|link| is_meant(&link.alias));
            Ok(meant.map(|link| link.facts(Namespace::Host)).collect())
        })
    }

    fn overlapping_routes(&mut self, network: IpNet) -> Result<Vec<(IpNet, u32)>> {
        self.look(|state| {
            let routes = state.host.routes.iter();
            let routes = routes.filter(|r| [MAIN_TABLE, LOCAL_TABLE].contains(&r.table));
            let overlapping = routes.filter(|route| overlaps(network, route.destination));
            let each = |route| links(route).map(|link| (route.destination, link));
            Ok(overlapping.flat_map(each).collect())
        })
    }

    fn default_route_links(&mut self) -> Result<Vec<u32>> {
        self.look(|state| {
            let routes = state.host.routes.iter();
            let default =
                routes.filter(|r| r.table == MAIN_TABLE && r.destination.prefix_len() == 0);
            Ok(default.flat_map(links).collect())
        })
    }

    fn is_port_taken(&mut self, namespace: Namespace, port: u16) -> Result<bool> {
        self.look(|state| Ok(state.of(namespace)?.listening.contains(&port)))
    }

    fn find_element(&mut self, apply: &Apply, set: &str, key: &[Value]) -> Result<Option<Element>> {
        self.look(|state| {
            let network = state.of(apply.namespace)?;
            let elements = firewall::elements(network, apply.family, &apply.table, set);
            let elements = elements.unwrap_or_default();
            Ok(elements.into_iter().find(|element| element.key == key))
        })
    }

    fn present_qdisc(&mut self, link: &LinkFacts, parent: Handle) -> Result<Option<PresentQdisc>> {
        self.look(|state| traffic::present(state.of(link.namespace)?, link, parent))
    }
}

fn links(route: &Route<u32>) -> impl Iterator<Item = u32> {
    let hops = route.next_hops.iter().map(|hop| hop.link);
    hops.chain([route.link]).flatten()
}

fn overlaps(network: IpNet, destination: IpNet) -> bool {
    destination.prefix_len() > 0
        && (contains(&network.trunc(), &destination) || contains(&destination, &network))
}
