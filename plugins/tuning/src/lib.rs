//! The plugin `tuning`: changes kernel parameters of a container and attributes of its interface.
//!
//! It creates nothing and comes after the plugin whose interface it changes. weir restores what a failed ADD
//! changed, and DEL restores the interface's attributes.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`], and these
//! are this plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 [`codes::NOT_ALLOWED`] | the list of allowed parameters does not have one of `sysctl` |
//! | 111 [`codes::BAD_ALLOWLIST`] | that list cannot be used |

mod allowlist;
mod attributes;
mod backup;
pub mod codes;
pub mod config;
mod parameters;

use weir_sdk::{AddResult, Error, Plugin, Request, check};

use attributes::Attributes;
use config::Config;

/// The plugin.
pub struct Tuning;

impl Plugin for Tuning {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let result = request.chained()?.clone();
        let attributes = config.attributes(&request.args)?;
        let parameters = parameters::of(config, &request.ifname)?;
        allowlist::check(&parameters)?;

        if !attributes.is_empty() {
            let before = Attributes::of(&request.container_interface()?);
            // weir undoes a failed ADD; DEL needs the backup, also if weir itself was killed.
            backup::save(&request, &before.only(&attributes))?;
        }
        parameters::write(&parameters)?;
        attributes::set(&request.ifname, &attributes)?;
        Ok(with_attributes(result, &request.ifname, &attributes))
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        if let Some(before) = backup::load(&request)? {
            attributes::restore(&request, &before);
            backup::remove(&request)?;
        }
        Ok(())
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        check::previous(&request)?;
        let attributes = config.attributes(&request.args)?;
        let parameters = parameters::of(config, &request.ifname)?;
        parameters::check(&parameters)?;
        attributes::check(&request, &attributes)
    }
}

/// The previous result, with what the container's interface has now.
fn with_attributes(mut result: AddResult, ifname: &str, attributes: &Attributes) -> AddResult {
    if let Some(interface) = result.container_interface_mut(ifname) {
        if let Some(mac) = attributes.mac {
            interface.mac = Some(mac.to_string());
        }
        interface.mtu = attributes.mtu.or(interface.mtu);
    }
    result
}

weir_sdk::export!(Tuning);

#[cfg(test)]
mod tests {
    use weir_sdk::testing::{FakeHost, Invocation};
    use weir_sdk::{ErrorCode, Interface, Namespace, link, sysctl};

    use super::*;

    const ARP_NOTIFY: &str = "net.ipv4.conf.eth0.arp_notify";

    /// A host with an interface to tune, and what it is tuned with.
    fn tuned() -> (FakeHost, Invocation) {
        let host = FakeHost::new();
        host.create_pair("veth0", "eth0").unwrap();
        let config = r#"{"type": "tuning", "mtu": 1400, "promisc": true,
            "sysctl": {"net.ipv4.conf.IFNAME.arp_notify": "1"}}"#;
        let invocation = Invocation::new(config).with_previous(AddResult::default());
        (host, invocation)
    }

    fn state() -> (u32, bool, String) {
        let eth0 = link::get(Namespace::Container, "eth0").unwrap();
        let arp_notify = sysctl::read(Namespace::Container, ARP_NOTIFY).unwrap();
        (eth0.mtu, eth0.promiscuous, arp_notify)
    }

    #[test]
    fn the_interface_is_tuned_and_restored_by_del() {
        let (host, invocation) = tuned();
        host.add::<Tuning>(&invocation).unwrap();
        assert_eq!(state(), (1400, true, "1".to_owned()));
        host.check::<Tuning>(&invocation).unwrap();
        host.del::<Tuning>(&invocation).unwrap();
        let (mtu, promiscuous, _) = state();
        assert_eq!((mtu, promiscuous), (1500, false));
        host.check::<Tuning>(&invocation).unwrap_err();
        // There is no backup left.
        host.del::<Tuning>(&invocation).unwrap();
    }

    #[test]
    fn a_failing_add_changes_nothing() {
        let (host, invocation) = tuned();
        host.fail_next("link.update", ErrorCode::Invalid);
        host.add::<Tuning>(&invocation).unwrap_err();
        assert_eq!(state(), (1500, false, "0".to_owned()));
    }

    fn interface(name: &str, sandbox: Option<&str>) -> Interface {
        Interface {
            name: name.to_owned(),
            mac: Some("02:00:00:00:00:01".to_owned()),
            mtu: Some(1500),
            sandbox: sandbox.map(str::to_owned),
            ..Interface::default()
        }
    }

    #[test]
    fn the_result_tells_the_changes_of_the_containers_interface_alone() {
        let previous = AddResult {
            interfaces: vec![
                interface("eth0", None),
                interface("eth0", Some("/run/netns/a")),
                interface("eth1", Some("/run/netns/a")),
            ],
            ..AddResult::default()
        };
        let attributes = Attributes {
            mac: "02:00:00:00:00:AA".parse().ok(),
            mtu: Some(1400),
            ..Attributes::default()
        };
        let result = with_attributes(previous.clone(), "eth0", &attributes);
        let expected = Interface {
            mac: Some("02:00:00:00:00:aa".to_owned()),
            mtu: Some(1400),
            ..previous.interfaces[1].clone()
        };
        assert_eq!(result.interfaces[1], expected);
        assert_eq!(result.interfaces[0], previous.interfaces[0]);
        assert_eq!(result.interfaces[2], previous.interfaces[2]);

        let unchanged = with_attributes(previous.clone(), "eth0", &Attributes::default());
        assert_eq!(unchanged, previous);
    }
}
