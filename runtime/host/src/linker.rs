//! Connects each interface of the contract to the view of an invocation's state that implements it.

use wasmtime::component::{Component, HasData, HasSelf, Linker};
use wasmtime::{Engine, Result};
use weir_grant::ContractInterface;
use weir_kernel::{Broker, Error};

use super::bindings::weir::cni::{
    address, cni, conntrack, device, firewall, firewalld, ipam, link, log, neighbour, packet,
    policy_rule, route, store, sysctl, traffic, types,
};
use super::firewall::FirewallView;
use super::ipam::IpamView;
use super::link::LinkView;
use super::log::Log;
use super::state::State;
use super::store::StoreView;

/// Declares that an interface is implemented by a view.
macro_rules! views {
    ($($name:ident: $view:ident;)*) => {$(
        struct $name;

        impl HasData for $name {
            type Data<'a> = $view<'a>;
        }
    )*};
}

views! {
    Links: LinkView;
    Firewall: FirewallView;
    Stores: StoreView;
    Ipam: IpamView;
}

/// What implements an interface without a view of its own.
type Plain = HasSelf<Broker>;

/// Returns a linker with the interfaces of the contract that a component imports: most import a few, and each function
/// takes time to connect. What else it imports is left unconnected.
///
/// Errors: an interface is imported in two versions.
pub fn linker(engine: &Engine, component: &Component) -> Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    for (import, _) in component.component_type().imports(engine) {
        if let Some(interface) = ContractInterface::parse(import) {
            connect(&mut linker, interface.name)?;
        }
    }
    Ok(linker)
}

/// Connects one interface, such as `link`.
fn connect(l: &mut Linker<State>, interface: &str) -> Result<()> {
    match interface {
        // These have no functions.
        "types" => types::add_to_linker::<State, Plain>(l, |s| &mut s.broker),
        "cni" => cni::add_to_linker::<State, Ipam>(l, State::ipam),
        "address" => address::add_to_linker::<State, Plain>(l, |s| s.call("address")),
        "route" => route::add_to_linker::<State, Plain>(l, |s| s.call("route")),
        "policy-rule" => policy_rule::add_to_linker::<State, Plain>(l, |s| s.call("policy-rule")),
        "neighbour" => neighbour::add_to_linker::<State, Plain>(l, |s| s.call("neighbour")),
        "traffic" => traffic::add_to_linker::<State, Plain>(l, |s| s.call("traffic")),
        "firewalld" => firewalld::add_to_linker::<State, Plain>(l, |s| s.call("firewalld")),
        "conntrack" => conntrack::add_to_linker::<State, Plain>(l, |s| s.call("conntrack")),
        "sysctl" => sysctl::add_to_linker::<State, Plain>(l, |s| s.call("sysctl")),
        "device" => device::add_to_linker::<State, Plain>(l, |s| s.call("device")),
        "packet" => packet::add_to_linker::<State, Plain>(l, |s| s.call("packet")),
        "link" => link::add_to_linker::<State, Links>(l, State::links),
        "firewall" => firewall::add_to_linker::<State, Firewall>(l, State::firewall),
        "store" => store::add_to_linker::<State, Stores>(l, State::stores),
        "ipam" => ipam::add_to_linker::<State, Ipam>(l, State::ipam),
        "log" => log::add_to_linker::<State, HasSelf<Log>>(l, State::called_log),
        _ => Ok(()),
    }
}

/// Converts errors to those of the contract.
macro_rules! convert_errors {
    ($($view:ty),*) => {$(
        impl types::Host for $view {
            fn convert_error(&mut self, error: Error) -> wasmtime::Result<types::Error> {
                Ok(error.into())
            }
        }
    )*};
}

convert_errors!(Broker, LinkView<'_>, FirewallView<'_>, StoreView<'_>);

impl cni::Host for IpamView<'_> {
    fn convert_failure(&mut self, error: weir_cni::Error) -> wasmtime::Result<cni::Failure> {
        Ok(error.into())
    }
}
