//! The interface as a port of the VRF.
//!
//! The kernel sets an interface down and up again when it becomes a port, and thereby drops its routes, and its IPv6
//! addresses unless `keep_addr_on_down` is set. They are read before and added afterwards: routes of the main table to the
//! VRF's. What the kernel makes itself, such as the routes to the interface's subnets, it makes in the VRF's table.

use weir_sdk::address::{self, NewAddress};
use weir_sdk::link::{self, Changes, Link, NewMaster};
use weir_sdk::route::{self, Filter, MAIN_TABLE, Route};
use weir_sdk::{
    Context, Error, Interface, IpFamily, IpNet, LinkReference, Namespace, Outcome, Request, codes,
};

use crate::device::Device;

/// The protocol of routes that the kernel makes itself (`RTPROT_KERNEL`).
const OF_THE_KERNEL: u8 = 2;

/// Fails if the interface is the port of a VRF or a bridge already. Errors: [`codes::EXISTS`].
pub(crate) fn require_free(interface: &Link) -> Result<(), Error> {
    let Some(index) = interface.master else {
        return Ok(());
    };
    let master = link::get(Namespace::Container, LinkReference::Index(index)).found();
    let master = master.context("cannot look up the interface's master")?;
    let master = master.map_or_else(|| format!("index {index}"), |master| master.name);
    let msg = format!("`{}` is a port of `{master}` already", interface.name);
    Err(Error::new(codes::EXISTS, msg))
}

/// Makes the interface a port of the VRF, with the addresses and routes that it has.
pub(crate) fn enslave(interface: &Link, vrf: &Device) -> Result<(), Error> {
    let before = Before::of(interface)?;
    let (ifname, name) = (&interface.name, &vrf.link.name);
    set_master(interface, NewMaster::Link((&vrf.link).into()))
        .context(format!("cannot put `{ifname}` into VRF `{name}`"))?;
    before.restore_addresses(interface)?;
    before.restore_routes(vrf.table)
}

/// Takes the attachment's interface out of the VRF, also where the container has renamed it.
pub(crate) fn release<C>(request: &Request<C>, vrf: &Device) -> Result<(), Error> {
    let ports = link::list(Namespace::Container, None, Some(vrf.link.index));
    let ports = ports.context(format!(
        "cannot list the interfaces of VRF `{}`",
        vrf.link.name
    ))?;
    let Some(port) = of_attachment(request, &ports) else {
        return Ok(());
    };
    let released = set_master(port, NewMaster::None).found();
    let doing = format!("cannot take `{}` out of VRF `{}`", port.name, vrf.link.name);
    released.context(doing).map(drop)
}

/// The port of the attachment's name; or the one of no other attachment that has the MAC of its result.
fn of_attachment<'p, C>(request: &Request<C>, ports: &'p [Link]) -> Option<&'p Link> {
    let named = ports.iter().find(|port| port.name == request.ifname);
    if named.is_some() {
        return named;
    }
    let mac = request.previous.as_ref()?.interfaces.iter();
    let mac = mac
        .filter(|interface| interface.name == request.ifname && interface.sandbox.is_some())
        .find_map(|interface: &Interface| interface.mac.as_deref())?;
    let has_mac = |port: &&Link| {
        port.mac_text()
            .is_some_and(|own| own.eq_ignore_ascii_case(mac))
    };
    let mut renamed = ports.iter().filter(has_mac);
    renamed.next().filter(|_| renamed.next().is_none())
}

fn set_master(interface: &Link, master: NewMaster) -> weir_sdk::Result<()> {
    let changes = Changes {
        master: Some(master),
        ..Changes::default()
    };
    link::update(Namespace::Container, interface, changes)
}

/// What the kernel drops.
struct Before {
    /// IPv6 addresses except the link-local one, which the kernel makes again.
    addresses: Vec<IpNet>,
    routes: Vec<Route>,
}

impl Before {
    fn of(interface: &Link) -> Result<Self, Error> {
        let filter = Filter {
            link: Some(interface.into()),
            ..Filter::default()
        };
        let routes = route::list(Namespace::Container, &filter);
        let ifname = &interface.name;
        Ok(Self {
            addresses: addresses(interface)?,
            routes: routes.context(format!("cannot list the routes over `{ifname}`"))?,
        })
    }

    fn restore_addresses(&self, interface: &Link) -> Result<(), Error> {
        if self.addresses.is_empty() {
            return Ok(());
        }
        let kept = addresses(interface)?;
        for address in self.addresses.iter().filter(|one| !kept.contains(one)) {
            let new = NewAddress {
                // It was in use until now.
                no_duplicate_detection: true,
                no_prefix_route: !self.has_prefix_route(address),
                ..NewAddress::new(*address)
            };
            let added = address::add(Namespace::Container, interface, new).or_exists();
            added.context(format!(
                "cannot add {address} to `{}` again",
                interface.name
            ))?;
        }
        Ok(())
    }

    /// Whether the kernel had made the route to the address's subnet.
    fn has_prefix_route(&self, address: &IpNet) -> bool {
        let subnet = address.trunc();
        let is_its = |route: &&Route| route.destination() == subnet;
        let mut its = self.routes.iter().filter(is_its);
        its.any(|route| route.protocol == Some(OF_THE_KERNEL))
    }

    /// Those without a gateway are first: a gateway must be reachable when a route names it.
    fn restore_routes(&self, table: u32) -> Result<(), Error> {
        let is_others = |route: &&Route| route.protocol != Some(OF_THE_KERNEL);
        let mut routes: Vec<Route> = self.routes.iter().filter(is_others).cloned().collect();
        routes.sort_by_key(|route| route.gateway.is_some() || !route.next_hops.is_empty());
        for mut route in routes {
            if route.table == Some(MAIN_TABLE) {
                route.table = Some(table);
            }
            route::ensure(Namespace::Container, &route)?;
        }
        Ok(())
    }
}

fn addresses(interface: &Link) -> Result<Vec<IpNet>, Error> {
    let listed = address::list(Namespace::Container, interface, Some(IpFamily::Ipv6));
    let listed = listed.context(format!("cannot list the addresses of `{}`", interface.name))?;
    let is_global = |address: &IpNet| match address {
        IpNet::V6(net) => !net.addr().is_unicast_link_local(),
        IpNet::V4(_) => false,
    };
    let addresses = listed.into_iter().map(|one| IpNet::from(one.address));
    Ok(addresses.filter(is_global).collect())
}
