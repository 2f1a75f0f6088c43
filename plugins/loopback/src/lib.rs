//! The plugin `loopback`: sets the container's loopback interface up.
//!
//! It has no configuration, and uses `lo` whatever `CNI_IFNAME` says. In a list with
//! plugins before it, it returns their result unchanged.
//!
//! Errors have the codes that [`weir_sdk::codes`] lists, and one of the plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 | `lo` has an address that is not a loopback address, or is down in CHECK |

use weir_sdk::config::NoKeys;
use weir_sdk::{
    AddResult, Code, Context, Error, Interface, IpConfig, IpNet, Namespace, Outcome, Plugin,
    Request, address, link,
};

/// The interface that this plugin sets up.
const LOOPBACK: &str = "lo";

/// The loopback interface is not as it should be.
const NOT_LOOPBACK: Code = Code(110);

/// The plugin.
pub struct Loopback;

impl Plugin for Loopback {
    type Config = NoKeys;
    const NAME: &'static str = "loopback";

    fn add(request: Request<NoKeys>) -> Result<AddResult, Error> {
        link::set_up(Namespace::Container, LOOPBACK).context("cannot set `lo` up")?;
        let addresses = addresses()?;
        check_loopback(&addresses)?;
        let own = || result(&addresses, request.sandbox);
        Ok(request.previous.unwrap_or_else(own))
    }

    fn del(_request: Request<NoKeys>) -> Result<(), Error> {
        let down = link::set_down(Namespace::Container, LOOPBACK).found();
        down.context("cannot set `lo` down").map(drop)
    }

    fn check(_request: Request<NoKeys>) -> Result<(), Error> {
        if link::get(Namespace::Container, LOOPBACK)?.up {
            Ok(())
        } else {
            Err(Error::new(NOT_LOOPBACK, "loopback interface `lo` is down"))
        }
    }
}

fn addresses() -> Result<Vec<IpNet>, Error> {
    let addresses = address::list(Namespace::Container, LOOPBACK, None)
        .context("cannot list the addresses of `lo`")?;
    let addresses = addresses.into_iter();
    Ok(addresses.map(|address| address.address.into()).collect())
}

fn check_loopback(addresses: &[IpNet]) -> Result<(), Error> {
    match addresses.iter().find(|net| !net.addr().is_loopback()) {
        None => Ok(()),
        Some(other) => {
            let msg = format!("loopback interface `lo` has the non-loopback address {other}");
            Err(Error::new(NOT_LOOPBACK, msg))
        }
    }
}

/// The interface with its first address of each family.
fn result(addresses: &[IpNet], sandbox: String) -> AddResult {
    let v4 = addresses.iter().find(|net| net.addr().is_ipv4());
    let v6 = addresses.iter().find(|net| net.addr().is_ipv6());
    let ip = |address: &IpNet| IpConfig {
        interface: Some(0),
        address: *address,
        gateway: None,
    };
    AddResult {
        interfaces: vec![Interface {
            name: LOOPBACK.to_owned(),
            mac: Some("00:00:00:00:00:00".to_owned()),
            sandbox: Some(sandbox),
            ..Interface::default()
        }],
        ips: v4.into_iter().chain(v6).map(ip).collect(),
        ..AddResult::default()
    }
}

weir_sdk::export!(Loopback);

#[cfg(test)]
mod tests {
    use weir_sdk::testing::{FakeHost, Invocation, SANDBOX};
    use weir_sdk::{ErrorCode, codes};

    use super::*;

    fn invocation() -> Invocation {
        Invocation::new(r#"{"cniVersion": "1.1.0", "type": "loopback"}"#)
    }

    #[test]
    fn the_interface_is_up_until_del() {
        let host = FakeHost::new();
        assert_eq!(
            host.check::<Loopback>(&invocation()).unwrap_err().code,
            NOT_LOOPBACK
        );
        let result = host.add::<Loopback>(&invocation()).unwrap();
        let ips: Vec<IpNet> = result.ips.iter().map(|ip| ip.address).collect();
        assert_eq!(ips, nets(&["127.0.0.1/8", "::1/128"]));
        assert_eq!(result.interfaces[0].sandbox.as_deref(), Some(SANDBOX));
        host.check::<Loopback>(&invocation()).unwrap();
        host.del::<Loopback>(&invocation()).unwrap();
        assert_eq!(
            host.changes(),
            [
                "link.update container lo up=true",
                "link.update container lo up=false"
            ]
        );
        assert_eq!(
            host.check::<Loopback>(&invocation()).unwrap_err().code,
            NOT_LOOPBACK
        );
    }

    #[test]
    fn an_interface_with_a_foreign_address_is_as_it_was() {
        let host = FakeHost::new();
        let address = address::NewAddress::new("10.0.0.1/8".parse().unwrap());
        host.arrange(|| address::add(Namespace::Container, LOOPBACK, address))
            .unwrap();
        assert_eq!(
            host.add::<Loopback>(&invocation()).unwrap_err().code,
            NOT_LOOPBACK
        );
        assert!(!link::get(Namespace::Container, LOOPBACK).unwrap().up);
    }

    #[test]
    fn del_needs_no_container_and_reports_other_failures() {
        let host = FakeHost::new();
        host.fail_next("link.update", ErrorCode::Denied);
        let error = host.del::<Loopback>(&invocation()).unwrap_err();
        assert_eq!(error.code, codes::DENIED);
        assert!(error.msg.starts_with("cannot set `lo` down"), "{error}");
        host.remove_container();
        host.del::<Loopback>(&invocation()).unwrap();
    }

    #[test]
    fn the_previous_result_is_passed_on() {
        let host = FakeHost::new();
        let previous = result(&nets(&["10.1.0.2/24"]), "/run/netns/other".to_owned());
        let after_another = invocation().with_previous(previous.clone());
        assert_eq!(host.add::<Loopback>(&after_another).unwrap(), previous);
    }

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn result_has_the_first_address_of_each_family() {
        let addresses = nets(&["::1/128", "127.0.0.1/8", "127.0.0.2/8"]);
        let result = result(&addresses, "/run/netns/a".to_owned());
        let ips: Vec<IpNet> = result.ips.iter().map(|ip| ip.address).collect();
        assert_eq!(ips, nets(&["127.0.0.1/8", "::1/128"]));
        assert!(result.ips.iter().all(|ip| ip.interface == Some(0)));
        assert_eq!(result.interfaces[0].name, "lo");
        assert_eq!(
            result.interfaces[0].sandbox.as_deref(),
            Some("/run/netns/a")
        );
    }

    #[test]
    fn an_address_of_another_network_is_refused() {
        assert!(check_loopback(&nets(&["127.0.0.1/8", "::1/128"])).is_ok());
        let error = check_loopback(&nets(&["127.0.0.1/8", "10.0.0.1/8"])).unwrap_err();
        assert_eq!(error.code, NOT_LOOPBACK);
        assert!(error.msg.contains("10.0.0.1/8"), "{error}");
    }
}
