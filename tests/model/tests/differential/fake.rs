//! The SDK's fake host as a kernel: operations become calls of the contract, which the fake host of this thread answers.
//! Nothing is undone.

mod convert;
mod networks;
mod shaping;
mod stores;

use std::time::Instant;

use ipnet::IpNet;
use weir_gate::Permit;
use weir_grant::firewall::{Element, Value};
use weir_grant::link::{self, Link, LinkFacts, LinkReference};
use weir_grant::traffic::{Handle, PresentQdisc};
use weir_grant::{Namespace, Operation, conntrack, firewall, firewalld, store, sysctl, traffic};
use weir_kernel::inverses::KnownLinks;
use weir_kernel::{Answer, Code, Error, Facts, Kernel, Result};

/// The fake host of this thread, which a [`weir_sdk::testing::FakeHost`] is.
#[derive(Default)]
pub(crate) struct Fake {
    known: KnownLinks,
}

impl Facts for Fake {
    fn find_link(&mut self, namespace: Namespace, link: &LinkReference) -> Result<Link> {
        let link = match link {
            LinkReference::Name(name) => weir_sdk::LinkReference::Name(name.clone()),
            LinkReference::Index(index) => weir_sdk::LinkReference::Index(*index),
        };
        let found = weir_sdk::link::get(convert::namespace(namespace), link);
        found.map(convert::link).map_err(convert::error)
    }

    /// Links are looked up each time.
    fn known_links(&self) -> &KnownLinks {
        &self.known
    }

    fn marked_links(&mut self, _: &dyn Fn(&str) -> bool) -> Result<Vec<LinkFacts>> {
        Err(not_compared("marked links"))
    }

    fn overlapping_routes(&mut self, _: IpNet) -> Result<Vec<(IpNet, u32)>> {
        Err(not_compared("overlapping routes"))
    }

    fn default_route_links(&mut self) -> Result<Vec<u32>> {
        Err(not_compared("default routes"))
    }

    fn is_port_taken(&mut self, _: Namespace, _: u16) -> Result<bool> {
        Err(not_compared("ports"))
    }

    fn find_element(
        &mut self,
        _: &firewall::Apply,
        _: &str,
        _: &[Value],
    ) -> Result<Option<Element>> {
        Err(not_compared("elements"))
    }

    fn present_qdisc(&mut self, link: &LinkFacts, parent: Handle) -> Result<Option<PresentQdisc>> {
        let qdiscs = shaping::list(link).map_err(convert::error)?;
        let present = qdiscs.into_iter().find(|qdisc| qdisc.parent == parent);
        Ok(present.map(|qdisc| PresentQdisc {
            handle: qdisc.handle,
            discipline: qdisc.discipline.word().to_owned(),
        }))
    }
}

fn not_compared(what: &str) -> Error {
    Error::new(
        Code::Unsupported,
        format!("not compared with the fake host: {what}"),
    )
}

impl Kernel for Fake {
    fn delete_links(&mut self, permits: &[Permit<link::Delete>]) -> Result<()> {
        let links = permits.iter().map(|permit| permit.operation().link.index);
        let namespace = permits
            .first()
            .map(|permit| permit.operation().link.namespace);
        let namespace = namespace.map_or(weir_sdk::Namespace::Host, convert::namespace);
        weir_sdk::link::delete_all(namespace, links).map_err(convert::error)
    }

    fn set_back(&mut self, _: &Permit<sysctl::Write>, _: &str) -> Result<()> {
        Err(not_compared("undoing"))
    }

    fn keep_parameter(&mut self, _: &sysctl::Write) -> Result<()> {
        Err(not_compared("undoing"))
    }

    fn is_alone(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn wait_until(&mut self, _: Instant) {}
}

/// Implements operations that are not compared.
macro_rules! not_compared {
    ($($operation:ty => $answer:ty;)*) => {$(
        impl Answer<$operation, $answer> for Fake {
            fn answer(&mut self, _: &Permit<$operation>) -> Result<$answer> {
                Err(not_compared(<$operation as Operation>::NAME))
            }
        }
    )*};
}

not_compared! {
    link::AddVlans => ();
    link::DeleteVlans => ();
    link::ListVlans => Vec<link::BridgeVlan>;
    link::UpdateBridge => ();
    traffic::DeleteClass => ();
    traffic::DeleteFilter => ();
    firewall::Apply => ();
    firewall::ListChains => Vec<firewall::Chain>;
    firewall::ListSets => Vec<String>;
    firewall::ListRules => Vec<firewall::Rule>;
    firewall::GetElement => Option<firewall::Element>;
    firewall::ListElements => Vec<firewall::Element>;
    firewall::RemoveReference => u32;
    firewalld::IsRunning => bool;
    firewalld::ZoneOfSource => Option<String>;
    firewalld::AddSource => ();
    firewalld::RemoveSource => ();
    conntrack::Delete => ();
    store::ReadFile => Vec<u8>;
    store::Revert => ();
}
