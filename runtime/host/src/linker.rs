//! Connects each interface of the contract to the view of an invocation's state that implements it.

use std::marker::PhantomData;

use wasmtime::component::{Component, HasData, HasSelf, Linker};
use wasmtime::{Engine, Result};
use weir_grant::ContractInterface;
use weir_grant::address::AddressRule;
use weir_kernel::Error;

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
use super::view::View;

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

/// An interface that needs only operations and facts of the capability with the rule `R`, which the interface's file names.
struct Of<R>(PhantomData<R>);

impl<R: 'static> HasData for Of<R> {
    type Data<'a> = View<'a, R>;
}

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
        "types" => types::add_to_linker::<State, Of<AddressRule>>(l, State::view),
        "cni" => cni::add_to_linker::<State, Ipam>(l, State::ipam),
        "address" => address::add_to_linker::<State, Of<_>>(l, State::view),
        "route" => route::add_to_linker::<State, Of<_>>(l, State::view),
        "policy-rule" => policy_rule::add_to_linker::<State, Of<_>>(l, State::view),
        "neighbour" => neighbour::add_to_linker::<State, Of<_>>(l, State::view),
        "traffic" => traffic::add_to_linker::<State, Of<_>>(l, State::view),
        "firewalld" => firewalld::add_to_linker::<State, Of<_>>(l, State::view),
        "conntrack" => conntrack::add_to_linker::<State, Of<_>>(l, State::view),
        "sysctl" => sysctl::add_to_linker::<State, Of<_>>(l, State::view),
        "device" => device::add_to_linker::<State, Of<_>>(l, State::view),
        "packet" => packet::add_to_linker::<State, Of<_>>(l, State::view),
        "link" => link::add_to_linker::<State, Links>(l, State::links),
        "firewall" => firewall::add_to_linker::<State, Firewall>(l, State::firewall),
        "store" => store::add_to_linker::<State, Stores>(l, State::stores),
        "ipam" => ipam::add_to_linker::<State, Ipam>(l, State::ipam),
        "log" => log::add_to_linker::<State, HasSelf<Log>>(l, State::called_log),
        _ => Ok(()),
    }
}

impl<R> types::Host for View<'_, R> {
    fn convert_error(&mut self, error: Error) -> wasmtime::Result<types::Error> {
        Ok(error.into())
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

convert_errors!(LinkView<'_>, FirewallView<'_>, StoreView<'_>);

impl cni::Host for IpamView<'_> {
    fn convert_failure(&mut self, error: weir_cni::Error) -> wasmtime::Result<cni::Failure> {
        Ok(error.into())
    }
}
