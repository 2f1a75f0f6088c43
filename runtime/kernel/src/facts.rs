//! Facts for the gate about the kernel that weir runs on.

use ipnet::IpNet;
use weir_grant::Namespace;
use weir_grant::firewall::{Apply, Element, Value};
use weir_grant::link::{Link, LinkFacts, LinkReference};
use weir_grant::traffic::{Handle, PresentQdisc};

use super::error::Result;
use super::linux::Linux;
use super::perform::{Facts, KnownLinks};
use super::without_permit;

impl Facts for Linux {
    fn find_link(&mut self, namespace: Namespace, link: &LinkReference) -> Result<Link> {
        let found = without_permit::find_link(self.namespaces.of(namespace)?, link)?;
        self.links.meet(namespace, found.clone());
        Ok(found)
    }

    fn known_links(&self) -> &KnownLinks {
        &self.links
    }

    fn marked_links(&mut self, is_meant: &dyn Fn(&str) -> bool) -> Result<Vec<LinkFacts>> {
        without_permit::marked_links(self.namespaces.host(), is_meant)
    }

    fn overlapping_routes(&mut self, network: IpNet) -> Result<Vec<(IpNet, u32)>> {
        without_permit::overlapping_routes(self.namespaces.host(), network)
    }

    fn default_route_links(&mut self) -> Result<Vec<u32>> {
        without_permit::default_route_links(self.namespaces.host())
    }

    fn is_port_taken(&mut self, namespace: Namespace, port: u16) -> Result<bool> {
        without_permit::is_port_taken(self.namespaces.of(namespace)?, port)
    }

    fn find_element(&mut self, apply: &Apply, set: &str, key: &[Value]) -> Result<Option<Element>> {
        without_permit::find_element(self.namespaces.of(apply.namespace)?, apply, set, key)
    }

    fn present_qdisc(&mut self, link: &LinkFacts, parent: Handle) -> Result<Option<PresentQdisc>> {
        without_permit::present_qdisc(self.namespaces.of(link.namespace)?, link, parent)
    }
}
