//! The container's addresses, from the previous result.

use ipnet::IpNet;
use weir_sdk::{AddResult, Error, IpConfig, IpFamily, Request};

/// What ports lead to: one address of each family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    ipv4: Option<IpNet>,
    ipv6: Option<IpNet>,
}

impl Addresses {
    /// The container's first address of each family. Errors: code 7 without a previous result.
    pub fn of<C>(request: &Request<C>) -> Result<Self, Error> {
        let previous = request.chained()?;
        let ips = previous.ips.iter();
        let mut addresses = Addresses::default();
        for ip in ips.filter(|ip| is_containers(previous, ip, &request.ifname)) {
            let first = match ip.address {
                IpNet::V4(_) => &mut addresses.ipv4,
                IpNet::V6(_) => &mut addresses.ipv6,
            };
            first.get_or_insert(ip.address);
        }
        Ok(addresses)
    }

    /// The addresses that there are, each with its subnet.
    pub fn all(&self) -> impl Iterator<Item = IpNet> {
        self.ipv4.into_iter().chain(self.ipv6)
    }

    /// The address of a family.
    pub fn address(&self, family: IpFamily) -> Option<IpNet> {
        match family {
            IpFamily::Ipv4 => self.ipv4,
            IpFamily::Ipv6 => self.ipv6,
        }
    }
}

/// An address is the container's unless the result says that it is another interface's.
fn is_containers(previous: &AddResult, ip: &IpConfig, ifname: &str) -> bool {
    let index = ip.interface.and_then(|index| usize::try_from(index).ok());
    let interface = index.and_then(|index| previous.interfaces.get(index));
    interface.is_none_or(|i| i.name == ifname && i.sandbox.is_some())
}

#[cfg(test)]
mod tests {
    use weir_sdk::{Args, Interface};

    use super::*;

    fn request(ips: &[(Option<u32>, &str)]) -> Request<()> {
        let interface = |name: &str, sandbox: Option<&str>| Interface {
            name: name.to_owned(),
            sandbox: sandbox.map(str::to_owned),
            ..Interface::default()
        };
        let ip = |(interface, address): &(Option<u32>, &str)| IpConfig {
            interface: *interface,
            address: address.parse().unwrap(),
            gateway: None,
        };
        Request {
            container_id: "5f3c".to_owned(),
            ifname: "eth0".to_owned(),
            network: "net".to_owned(),
            known_as: "net".to_owned(),
            args: Args::default(),
            config: (),
            previous: Some(AddResult {
                interfaces: vec![
                    interface("br", None),
                    interface("eth0", Some("/run/netns/a")),
                ],
                ips: ips.iter().map(ip).collect(),
                ..AddResult::default()
            }),
            has_container: true,
            sandbox: "/run/netns/a".to_owned(),
        }
    }

    #[test]
    fn the_first_address_of_each_family_counts() {
        let addresses = Addresses::of(&request(&[
            (Some(0), "10.9.0.1/24"),
            (Some(1), "10.1.0.5/24"),
            (None, "10.2.0.5/24"),
            (None, "fd00::5/64"),
        ]));
        let addresses: Vec<String> = addresses.unwrap().all().map(|a| a.to_string()).collect();
        assert_eq!(addresses, ["10.1.0.5/24", "fd00::5/64"]);
    }

    #[test]
    fn without_a_previous_result_there_is_no_container() {
        let mut request = request(&[]);
        request.previous = None;
        assert!(
            Addresses::of(&request)
                .unwrap_err()
                .msg
                .contains("prevResult")
        );
    }
}
