//! The addresses that packets are sent from, each with the routing table for it.

use std::fmt;
use std::net::IpAddr;

use weir_sdk::policy_rule::{self, Rule};
use weir_sdk::{AddResult, Context, Error, IpConfig, Namespace, Outcome, codes};

/// An address of the container's interface, and the table by which what it sends is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    pub address: IpAddr,
    pub table: u32,
}

impl Source {
    /// Reads what [`Display`](fmt::Display) wrote; none for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, table) = text.split_once(' ')?;
        Some(Source {
            address: address.parse().ok()?,
            table: table.parse().ok()?,
        })
    }

    /// The rule that leads from the address to the table.
    pub fn rule(&self) -> Rule {
        Rule::from_source(self.address, self.table)
    }

    /// Adds the rule.
    pub fn add(&self) -> Result<(), Error> {
        let rule = self.rule();
        policy_rule::add(Namespace::Container, &rule).context(format!("cannot add {rule}"))
    }

    /// Removes the rule, if it is there and its namespace is.
    pub fn remove(&self) -> Result<(), Error> {
        let rule = self.rule();
        let removed = policy_rule::delete(Namespace::Container, &rule).found();
        removed.context(format!("cannot remove {rule}")).map(drop)
    }
}

/// The address and the table.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.address, self.table)
    }
}

/// Returns the addresses of a result that the container's interface has: those without an interface, too.
pub fn of_interface<'a>(result: &'a AddResult, ifname: &str) -> Vec<&'a IpConfig> {
    let is_others = |ip: &IpConfig| {
        let interface = ip
            .interface
            .and_then(|at| result.interfaces.get(at as usize));
        interface.is_some_and(|interface| interface.name != ifname)
    };
    result.ips.iter().filter(|ip| !is_others(ip)).collect()
}

/// The same. Errors: [`codes::NO_ADDRESS`] for none.
pub fn require<'a>(result: &'a AddResult, ifname: &str) -> Result<Vec<&'a IpConfig>, Error> {
    let ips = of_interface(result, ifname);
    if ips.is_empty() {
        let msg = format!("prevResult: ips: no address of the interface `{ifname}`");
        let details = "packets are routed by the address that they are sent from: the plugin before this one needs an \
                       `ipam` that assigns one";
        return Err(Error::new(codes::NO_ADDRESS, msg).with_details(details));
    }
    Ok(ips)
}

/// Returns the sources in the container for which the rules with nothing but an address stand.
pub fn ruled() -> Result<Vec<Source>, Error> {
    let rules = policy_rule::list(Namespace::Container, None).found();
    let rules = rules.context("cannot list the container's policy rules")?;
    Ok(rules
        .unwrap_or_default()
        .iter()
        .filter_map(of_rule)
        .collect())
}

fn of_rule(rule: &Rule) -> Option<Source> {
    let source = Source {
        address: rule.source?.address.into(),
        table: rule.table,
    };
    rule.selects_as(&source.rule()).then_some(source)
}

#[cfg(test)]
mod tests {
    use weir_sdk::Interface;

    use super::*;

    #[test]
    fn a_source_is_read_as_it_was_written() {
        for address in ["10.1.0.2", "fd00::2"] {
            let source = Source {
                address: address.parse().unwrap(),
                table: 100,
            };
            assert_eq!(Source::parse(&source.to_string()), Some(source));
        }
        for text in ["", "10.1.0.2", "10.1.0.2 x", "x 100", "10.1.0.2 -1"] {
            assert_eq!(Source::parse(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_of_other_interfaces_are_not_the_interfaces() {
        let interface = |name: &str| Interface {
            name: name.to_owned(),
            ..Interface::default()
        };
        let ip = |address: &str, interface| IpConfig {
            interface,
            address: address.parse().unwrap(),
            gateway: None,
        };
        let result = AddResult {
            interfaces: vec![interface("veth0"), interface("eth0")],
            ips: vec![
                ip("10.1.0.2/24", Some(1)),
                ip("10.2.0.2/24", Some(0)),
                ip("10.3.0.2/24", None),
                ip("10.4.0.2/24", Some(9)),
            ],
            ..AddResult::default()
        };
        let of = |ifname| {
            let ips = of_interface(&result, ifname).into_iter();
            ips.map(|ip| ip.address.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("eth0"), ["10.1.0.2/24", "10.3.0.2/24", "10.4.0.2/24"]);
        let error = require(&AddResult::default(), "eth0").unwrap_err();
        assert_eq!(error.code, codes::NO_ADDRESS);
    }
}
