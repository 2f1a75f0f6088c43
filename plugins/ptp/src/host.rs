//! The host's end: the gateways' addresses, routes to the container's, forwarding.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_sdk::address::{self, NewAddress};
use weir_sdk::link::Link;
use weir_sdk::route::{self, Route};
use weir_sdk::{Context, Error, IpConfig, IpFamily, Namespace, Outcome, sysctl};

use crate::codes;

/// `RT_SCOPE_HOST`.
const HOST_SCOPE: u8 = 254;

/// An address of the container, and the gateway's at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The container's, with its subnet.
    pub container: IpNet,
    /// The host's.
    pub gateway: IpAddr,
}

/// Returns the two ends for each address. Errors: [`codes::NO_GATEWAY`].
pub fn ends(ips: &[IpConfig]) -> Result<Vec<Ends>, Error> {
    let ends = |ip: &IpConfig| {
        let container = ip.address;
        let gateway = ip.gateway.ok_or_else(|| {
            let msg = format!("the IPAM plugin returned address {container} without a gateway");
            let details = "the host's end of a point-to-point link has the gateway's address";
            Error::new(codes::NO_GATEWAY, msg).with_details(details)
        })?;
        Ok(Ends { container, gateway })
    };
    ips.iter().map(ends).collect()
}

/// Makes the host forward for the families that the container has addresses of.
pub fn forward(ends: &[Ends]) -> Result<(), Error> {
    let has = |family| {
        let mut families = ends.iter().map(|e| IpFamily::of(e.gateway));
        families.any(|f| f == family)
    };
    for family in [IpFamily::Ipv4, IpFamily::Ipv6] {
        if has(family) {
            sysctl::forward(family)?;
        }
    }
    Ok(())
}

/// Gives the host's end the gateways' addresses, and the host routes to the container's.
///
/// No other host is on the link, so no address can be taken.
pub fn configure(link: &Link, ends: &[Ends]) -> Result<(), Error> {
    for Ends { container, gateway } in ends {
        let new = NewAddress {
            no_duplicate_detection: true,
            ..NewAddress::new((*gateway).into())
        };
        address::add(Namespace::Host, link, new)
            .or_exists()
            .context(format!("cannot add address {gateway} to `{}`", link.name))?;
        let route = Route {
            link: Some(link.into()),
            scope: Some(HOST_SCOPE),
            ..Route::new(container.addr().into())
        };
        let doing = route::adding(&route, &link.name);
        route::add(Namespace::Host, &route)
            .or_exists()
            .context(doing)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(address: &str, gateway: &str) -> IpConfig {
        IpConfig {
            interface: Some(1),
            address: address.parse().unwrap(),
            gateway: gateway.parse().ok(),
        }
    }

    #[test]
    fn an_address_without_a_gateway_is_refused() {
        let error = ends(&[ip("10.1.0.5/24", "10.1.0.1"), ip("fd00::5/64", "")]).unwrap_err();
        assert_eq!(error.code, codes::NO_GATEWAY);
        assert!(error.msg.contains("fd00::5/64"), "{error}");
    }

    #[test]
    fn each_address_has_two_ends() {
        let ends = ends(&[ip("10.1.0.5/24", "10.1.0.1")]).unwrap();
        let expected = Ends {
            container: "10.1.0.5/24".parse().unwrap(),
            gateway: "10.1.0.1".parse().unwrap(),
        };
        assert_eq!(ends, [expected]);
    }
}
