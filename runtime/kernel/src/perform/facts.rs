//! Facts about the kernel by which the gate decides.
//!
//! They are read before the gate is asked. A plugin sees one only if the gate allows it.

use ipnet::IpNet;
use weir_grant::Namespace;
use weir_grant::firewall::{Apply, Element, Value};
use weir_grant::link::{Link, LinkFacts, LinkReference};
use weir_grant::traffic::{Handle, PresentQdisc};

use super::KnownLinks;
use crate::error::Result;

/// Looks things up for the gate.
pub trait Facts {
    /// The link that a request names, as it was when it was first looked up; that of [`LinkReference::absent`] if it
    /// does not exist. Errors: `Invalid`, `NoNamespace`.
    ///
    /// A link named by its index is looked up once in an invocation: the kernel does not reuse an index or change a link's
    /// kind. If it is gone, the kernel refuses the operation. If it was renamed since, its former name counts.
    fn identify(&mut self, namespace: Namespace, link: &LinkReference) -> Result<LinkFacts> {
        if let LinkReference::Index(index) = link
            && let Some(known) = self.known_links().get(namespace, *index)
        {
            return Ok(LinkFacts {
                by_index: true,
                ..known.facts(namespace)
            });
        }
        // Another link may have the name by now.
        self.look_up(namespace, link)
    }

    /// The link that a request names, as it is now. Errors: those of
    /// [`identify`](Self::identify).
    fn look_up(&mut self, namespace: Namespace, link: &LinkReference) -> Result<LinkFacts> {
        match self.find_link(namespace, link) {
            Ok(found) => Ok(LinkFacts {
                by_index: matches!(link, LinkReference::Index(_)),
                ..found.facts(namespace)
            }),
            Err(error) if error.is_not_found() => Ok(link.absent(namespace)),
            Err(error) => Err(error),
        }
    }

    /// The link that a request names. Errors: `NotFound`, `Invalid`, `NoNamespace`.
    fn find_link(&mut self, namespace: Namespace, link: &LinkReference) -> Result<Link>;

    /// A link that was identified, with what this invocation has changed of it since.
    fn known_link(&self, link: &LinkFacts) -> Option<&Link> {
        self.known_links().known(link)
    }

    /// The links that the invocation has met and made.
    fn known_links(&self) -> &KnownLinks;

    /// The links of the host with an alias that is meant. Errors: `Failed`.
    fn marked_links(&mut self, is_meant: &dyn Fn(&str) -> bool) -> Result<Vec<LinkFacts>>;

    /// The routes of the host that overlap a network, each with its link's index. Errors: `Failed`.
    fn overlapping_routes(&mut self, network: IpNet) -> Result<Vec<(IpNet, u32)>>;

    /// The links of the host that default routes go through. Errors: `Failed`.
    fn default_route_links(&mut self) -> Result<Vec<u32>>;

    /// Whether the host loses a default route with one of its links: the route goes through it, through its master, such as a
    /// bridge that it is a port of, or through a link on it, such as a VLAN. Errors: `Failed`.
    fn carries_default_route(&mut self, link: &LinkFacts) -> Result<bool> {
        let mut needed = self.default_route_links()?;
        let mut seen = 0;
        while let Some(index) = needed.get(seen).copied() {
            seen += 1;
            let lower = host_link(self, index)?.and_then(|link| link.lower);
            needed.extend(lower.filter(|lower| !needed.contains(lower)));
        }
        let mut above = Some(link.index);
        // No chain of masters is longer than the kernel's limit.
        for _ in 0..8 {
            let Some(index) = above else {
                return Ok(false);
            };
            if needed.contains(&index) {
                return Ok(true);
            }
            above = host_link(self, index)?.and_then(|link| link.master);
        }
        Ok(false)
    }

    /// Whether something in a namespace listens at a port. Errors: `NoNamespace`.
    fn is_port_taken(&mut self, namespace: Namespace, port: u16) -> Result<bool>;

    /// An element of a set of the table that a transaction is about. Errors: `NoNamespace`, `Failed`.
    fn find_element(&mut self, apply: &Apply, set: &str, key: &[Value]) -> Result<Option<Element>>;

    /// The discipline at a place of a link. Errors: `NotFound` for a link that is gone, `NoNamespace`.
    fn present_qdisc(&mut self, link: &LinkFacts, parent: Handle) -> Result<Option<PresentQdisc>>;
}

/// A link of the host; none if it is gone.
fn host_link<F: Facts + ?Sized>(facts: &mut F, index: u32) -> Result<Option<Link>> {
    match facts.find_link(Namespace::Host, &LinkReference::Index(index)) {
        Err(error) if error.is_not_found() => Ok(None),
        found => found.map(Some),
    }
}
