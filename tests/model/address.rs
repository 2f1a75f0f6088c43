//! Capability `address`: addresses of links, and the routes that they bring.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::address::{Add, Address, Delete, Family, List, Settle};
use weir_grant::link::LinkFacts;
use weir_kernel::{Answer, Changes, Perform, Result, WhileDoing as _, checks};

use super::error::refused;
use super::kernel::Model;
use super::state::NetworkState;
use super::{link, route, sysctl};

const LOOPBACK: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

impl Perform<Add> for Model {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let wanted = permit.operation();
        let Add { link, address, .. } = wanted;
        self.change(|machine| add(machine.state.of(link.namespace)?, wanted))
            .while_doing(format_args!("add {address} to {link}"))?;
        changes.undo_with(wanted.inverse());
        Ok(())
    }
}

fn add(network: &mut NetworkState, wanted: &Add) -> Result<()> {
    let Add { link, address, .. } = wanted;
    checks::address(wanted)?;
    let index = link::find(network, link)?.link.index;
    if address.addr().is_ipv6() && sysctl::is_ipv6_disabled(network, &link.name) {
        return Err(Errno::EACCES.into());
    }
    if of_link(network, index).any(|other| is_same(other, wanted)) {
        return Err(Errno::EEXIST.into());
    }
    let new = Address {
        peer: wanted.peer.filter(|peer| *peer != address.addr()),
        broadcast: wanted.broadcast,
        ..plain(*address)
    };
    route::of_new_address(network, index, &new, wanted.no_prefix_route);
    network.addresses.push((index, new));
    Ok(())
}

/// Of IPv6, a link has an address once, whatever its prefix.
fn is_same(other: &Address, wanted: &Add) -> bool {
    match wanted.address {
        IpNet::V4(_) => other.address == wanted.address && far(other) == far_of(wanted),
        IpNet::V6(_) => other.address.addr() == wanted.address.addr(),
    }
}

fn far_of(wanted: &Add) -> IpAddr {
    wanted.peer.unwrap_or(wanted.address.addr())
}

fn far(address: &Address) -> IpAddr {
    address.peer.unwrap_or(address.address.addr())
}

/// Whether an IPv4 address has its network from one that was there before.
pub(crate) fn is_secondary(network: &NetworkState, index: u32, address: &Address) -> bool {
    let mut before = of_link(network, index).take_while(|other| *other != address);
    address.address.addr().is_ipv4() && before.any(|other| network_of(other) == network_of(address))
}

/// The network that an address leads to.
pub(crate) fn network_of(address: &Address) -> IpNet {
    let length = address.address.prefix_len();
    let network = IpNet::new(far(address), length);
    network.unwrap_or(address.address).trunc()
}

/// The addresses of a link.
pub(crate) fn of_link(network: &NetworkState, index: u32) -> impl Iterator<Item = &Address> {
    let its = network
        .addresses
        .iter()
        .filter(move |(link, _)| *link == index);
    its.map(|(_, address)| address)
}

impl Answer<Delete> for Model {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { link, address } = permit.operation();
        let doing = format_args!("remove {address} from {link}");
        self.change(|machine| delete(machine.state.of(link.namespace)?, link, *address))
            .while_doing(doing)
    }
}

/// Removes an address, and with the first IPv4 address of a network the others of it.
fn delete(network: &mut NetworkState, of: &LinkFacts, address: IpNet) -> Result<()> {
    let index = link::find(network, of)?.link.index;
    let found = of_link(network, index).find(|other| other.address == address);
    let gone = found.cloned().ok_or(Errno::EADDRNOTAVAIL)?;
    let secondary = is_secondary(network, index, &gone);
    let goes = |other: &Address| match address {
        IpNet::V4(_) if !secondary => network_of(other) == network_of(&gone),
        _ => other.address == address,
    };
    let its = of_link(network, index).filter(|other| goes(other));
    let going: Vec<Address> = its.cloned().collect();
    network
        .addresses
        .retain(|(link, other)| *link != index || !goes(other));
    for address in &going {
        route::of_gone_address(network, index, address);
    }
    Ok(())
}

/// Gives the loopback link the addresses that it does not have, as the kernel does when it is set up.
pub(crate) fn add_loopback(network: &mut NetworkState, index: u32) {
    let kind = link::by_index(network, index).map(|device| device.link.kind.clone());
    if kind.is_ok_and(|kind| kind == "loopback") {
        for address in [IpNet::new_assert([127, 0, 0, 1].into(), 8), LOOPBACK.into()] {
            let new = plain(address);
            if !of_link(network, index).any(|other| *other == new) {
                route::of_new_address(network, index, &new, false);
                network.addresses.push((index, new));
            }
        }
    }
}

fn plain(address: IpNet) -> Address {
    Address {
        address,
        peer: None,
        broadcast: None,
        tentative: false,
        duplicate: false,
    }
}

/// Removes all IPv6 addresses of a link with its IPv6 routes, as the kernel does when it is set down.
pub(crate) fn drop_ipv6(network: &mut NetworkState, index: u32) {
    let is_gone = |link: u32, to: IpNet| link == index && to.addr().is_ipv6();
    network
        .addresses
        .retain(|(link, address)| !is_gone(*link, address.address));
    network.routes.retain(|route| {
        route
            .link
            .is_none_or(|link| !is_gone(link, route.destination))
    });
}

impl Answer<List, Vec<Address>> for Model {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<Address>> {
        let List { link: of, family } = permit.operation();
        let doing = format_args!("list the addresses of {of}");
        self.look(|state| {
            let network = state.of(of.namespace)?;
            link::find(network, of).while_doing(doing)?;
            let its = of_link(network, of.index);
            let its = its.filter(|a| family.is_none_or(|f| f == Family::of(&a.address.addr())));
            Ok(its.cloned().collect())
        })
    }
}

/// Nothing is tentative. Errors: `NotFound` for the link.
impl Answer<Settle> for Model {
    fn answer(&mut self, permit: &Permit<Settle>) -> Result<()> {
        let of = &permit.operation().link;
        let doing = format_args!("wait for the IPv6 addresses of {of}");
        self.look(|state| link::find(state.of(of.namespace)?, of).map(drop))
            .map_err(|e| {
                if e.is_not_found() {
                    refused(Errno::ENODEV, doing)
                } else {
                    e
                }
            })
    }
}
