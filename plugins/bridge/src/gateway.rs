//! The bridge as the network's gateway: addresses and forwarding.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_sdk::address::{self, NewAddress};
use weir_sdk::link::{self, Changes, Link, NewLink, NewPeer};
use weir_sdk::{
    Context, Error, ErrorCode, Interface, IpConfig, IpFamily, Mac, Namespace, Outcome, sysctl,
};

use crate::codes;
use crate::config::Config;
use crate::veth;

/// Returns the gateway of an address whose IPAM plugin names none: the first address of its subnet.
pub fn default_for(address: &IpNet) -> IpAddr {
    match address.network() {
        IpAddr::V4(network) => IpAddr::V4((network.to_bits().wrapping_add(1)).into()),
        IpAddr::V6(network) => IpAddr::V6((network.to_bits().wrapping_add(1)).into()),
    }
}

/// Gives the bridge the gateways' addresses and makes the host forward. With a VLAN it is an
/// interface in that VLAN that gets them, which is returned for the result.
pub fn configure(
    config: &Config,
    bridge: &Link,
    ips: &[IpConfig],
) -> Result<Option<Interface>, Error> {
    let vlan_interface = match config.vlan {
        0 => None,
        _ => Some(ensure_vlan_interface(config, bridge)?),
    };
    let device = vlan_interface.as_ref().unwrap_or(bridge);
    for family in [IpFamily::Ipv4, IpFamily::Ipv6] {
        let gateways = gateways(ips, family);
        if !gateways.is_empty() {
            ensure_addresses(config, device, family, &gateways)?;
            sysctl::forward(family)?;
        }
    }
    Ok(vlan_interface.map(|link| link.interface()))
}

/// The gateways of a family's addresses, each with its subnet's prefix length and once.
fn gateways(ips: &[IpConfig], family: IpFamily) -> Vec<IpNet> {
    let mut gateways = Vec::new();
    for ip in ips {
        let gateway = ip
            .gateway
            .filter(|gateway| IpFamily::of(*gateway) == family);
        let net = gateway.and_then(|gateway| IpNet::new(gateway, ip.address.prefix_len()).ok());
        gateways.extend(net.filter(|net| !gateways.contains(net)));
    }
    gateways
}

fn ensure_addresses(
    config: &Config,
    device: &Link,
    family: IpFamily,
    gateways: &[IpNet],
) -> Result<(), Error> {
    let name = &device.name;
    let present = address::list(Namespace::Host, device, Some(family))
        .context(format!("cannot list the addresses of `{name}`"))?;
    let mut present: Vec<IpNet> = present.iter().map(|p| p.address.into()).collect();
    for gateway in gateways {
        if present.contains(gateway) {
            continue;
        }
        let conflicting: Vec<IpNet> = present.extract_if(.., |p| conflicts(p, gateway)).collect();
        if !config.force_address
            && let Some(other) = conflicting.first()
        {
            return Err(conflict(name, other, gateway));
        }
        for other in conflicting {
            address::delete(Namespace::Host, device, other)
                .found()
                .context(format!("cannot remove address {other} from `{name}`"))?;
        }
        add_address(device, *gateway)?;
        present.push(*gateway);
    }
    Ok(())
}

/// A bridge has one IPv4 address, and IPv6 addresses of networks that do not overlap.
fn conflicts(present: &IpNet, gateway: &IpNet) -> bool {
    gateway.addr().is_ipv4()
        || present.contains(&gateway.addr())
        || gateway.contains(&present.addr())
}

fn conflict(name: &str, present: &IpNet, gateway: &IpNet) -> Error {
    let msg = format!("`{name}` already has an IP address different from {gateway}");
    let details = format!("it has {present}; `forceAddress: true` replaces it");
    Error::new(codes::GATEWAY_CONFLICT, msg).with_details(details)
}

fn add_address(device: &Link, gateway: IpNet) -> Result<(), Error> {
    let name = &device.name;
    let new = NewAddress::new(gateway).with_subnet_broadcast();
    address::add(Namespace::Host, device, new)
        .or_exists()
        .context(format!("cannot add address {gateway} to `{name}`"))?;
    // A bridge without a MAC of its own takes the lowest of its ports', and changes it as they come
    // and go; who knows the gateway would lose it each time. So the one that it had before the container's
    // port came becomes its own.
    let own = Changes {
        mac: mac_to_keep(device)?.map(Into::into),
        ..Changes::default()
    };
    link::update(Namespace::Host, device, own)
        .context(format!("cannot make the MAC of `{name}` permanent"))
}

/// Returns the MAC that a device had, or the one that it has now: a bridge whose last port was removed had none.
fn mac_to_keep(device: &Link) -> Result<Option<Mac>, Error> {
    if device.mac().is_some_and(|mac| !mac.is_zero()) {
        return Ok(device.mac());
    }
    let now = link::get(Namespace::Host, device)
        .context(format!("cannot read `{}` again", device.name))?;
    Ok(now.mac())
}

/// Creates the host's interface in the container's VLAN: one end of a veth pair whose other end is a port of
/// the bridge in that VLAN.
fn ensure_vlan_interface(config: &Config, bridge: &Link) -> Result<Link, Error> {
    let name = config.vlan_interface();
    let doing = format!("cannot create VLAN interface `{name}`");
    if let Some(link) = link::get(Namespace::Host, &name).found().context(&doing)? {
        return Ok(link);
    }
    let mtu = Some(bridge.mtu);
    let peer = NewPeer {
        mtu,
        up: true,
        ..NewPeer::new(Namespace::Host, &name)
    };
    let port = link::create(NewLink {
        mtu,
        master: Some(bridge.into()),
        ..NewLink::veth(Namespace::Host, "", peer)
    });
    match port {
        // Another ADD was faster.
        Err(error) if error.code == ErrorCode::Exists => {}
        port => {
            let port = port.context(&doing)?;
            veth::set_vlans(config, &port, config.untagged_vlan().as_slice())?;
            link::set_up(Namespace::Host, &port).context(&doing)?;
        }
    }
    link::get(Namespace::Host, &name).context(doing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn ip(address: &str, gateway: &str) -> IpConfig {
        IpConfig {
            interface: Some(2),
            address: net(address),
            gateway: gateway.parse().ok(),
        }
    }

    #[test]
    fn the_default_gateway_is_the_subnets_first_address() {
        let gateway = |text| default_for(&net(text)).to_string();
        assert_eq!(gateway("10.1.2.3/16"), "10.1.0.1");
        assert_eq!(gateway("fd00::abcd/64"), "fd00::1");
    }

    #[test]
    fn gateways_have_their_subnets_prefix_and_come_once() {
        let ips = [
            ip("10.1.2.3/16", "10.1.0.1"),
            ip("10.1.2.4/16", "10.1.0.1"),
            ip("fd00::5/64", "fd00::1"),
            ip("10.2.0.5/24", ""),
        ];
        assert_eq!(gateways(&ips, IpFamily::Ipv4), [net("10.1.0.1/16")]);
        assert_eq!(gateways(&ips, IpFamily::Ipv6), [net("fd00::1/64")]);
    }

    #[test]
    fn one_ipv4_address_and_ipv6_addresses_of_other_networks() {
        let conflicts = |a, b| conflicts(&net(a), &net(b));
        assert!(conflicts("10.9.0.1/24", "10.1.0.1/16"));
        assert!(!conflicts("fe80::1/64", "fd00::1/64"));
        assert!(conflicts("fd00::2/64", "fd00::1/64"));
        assert!(conflicts("fd00::2/128", "fd00::1/64"));
        assert!(conflicts("fd00::2/32", "fd00::1/64"));
    }
}
