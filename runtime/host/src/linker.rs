//! Connects each interface of the contract to the view of an invocation's state that implements it.

use wasmtime::Result;
use wasmtime::component::{HasData, HasSelf, Linker};
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

/// Connects all interfaces of the contract. Errors: a name that is defined twice, which is a mistake in this crate.
pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    // These have no functions.
    types::add_to_linker::<State, HasSelf<Broker>>(linker, |state| &mut state.broker)?;
    cni::add_to_linker::<State, Ipam>(linker, State::ipam)?;
    address::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("address"))?;
    route::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("route"))?;
    policy_rule::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("policy-rule"))?;
    neighbour::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("neighbour"))?;
    traffic::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("traffic"))?;
    firewalld::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("firewalld"))?;
    conntrack::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("conntrack"))?;
    sysctl::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("sysctl"))?;
    device::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("device"))?;
    packet::add_to_linker::<State, HasSelf<Broker>>(linker, |s| s.call("packet"))?;
    link::add_to_linker::<State, Links>(linker, State::links)?;
    firewall::add_to_linker::<State, Firewall>(linker, State::firewall)?;
    store::add_to_linker::<State, Stores>(linker, State::stores)?;
    ipam::add_to_linker::<State, Ipam>(linker, State::ipam)?;
    log::add_to_linker::<State, HasSelf<Log>>(linker, State::called_log)
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
