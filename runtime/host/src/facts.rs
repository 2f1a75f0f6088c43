//! Reads the facts that the gate decides by.

use ipnet::IpNet;
use weir_grant::link::LinkFacts;
use weir_grant::link::LinkReference;
use weir_grant::owner::Owner;
use weir_grant::{self as grant, Overlap, Rule};
use weir_kernel::Result;

use super::bindings::weir::cni::types::{self, Namespace};
use super::view::View;

impl<R: Rule> View<'_, R> {
    /// The facts about a link, even if it does not exist: the gate decides whether the plugin may learn that. Errors:
    /// `Invalid`, `NoNamespace`.
    pub(super) fn identify(
        &mut self,
        namespace: Namespace,
        link: &types::LinkReference,
    ) -> Result<LinkFacts> {
        self.kernel()
            .identify(namespace.into(), &link.clone().into())
    }

    /// The route of the host that a network overlaps, if a rule of the grant depends on it: preferably one over a link that
    /// does not belong to this network.
    pub(super) fn overlap(
        &mut self,
        namespace: Namespace,
        network: IpNet,
    ) -> Result<Option<Overlap>> {
        if namespace == Namespace::Container || !self.gate().asks_overlaps() {
            return Ok(None);
        }
        let host = grant::Namespace::Host;
        let mut own = None;
        for (destination, link) in self.kernel().overlapping_routes(network)? {
            let link = LinkReference::Index(link);
            let found = self.kernel().find_link(host, &link)?;
            let LinkFacts { name, owner, .. } = found.facts(host);
            let is_own = Owner::Network.has(&owner, self.gate().invocation());
            let overlap = Overlap {
                destination,
                link: name,
                owner,
            };
            if !is_own {
                return Ok(Some(overlap));
            }
            own = Some(overlap);
        }
        Ok(own)
    }
}

impl From<types::LinkReference> for LinkReference {
    fn from(link: types::LinkReference) -> Self {
        match link {
            types::LinkReference::Name(name) => Self::Name(name),
            types::LinkReference::Index(index) => Self::Index(index),
        }
    }
}

impl From<u32> for types::LinkReference {
    fn from(index: u32) -> Self {
        Self::Index(index)
    }
}
