//! Capability `policy-rule`: policy routing rules, which choose the table in which a packet's route is looked up.
//!
//! ```no_run
//! # fn add() -> weir_sdk::Result<()> {
//! use weir_sdk::Namespace;
//! use weir_sdk::policy_rule::{self, Rule};
//!
//! // What the container sends from this address is routed by table 100.
//! let rule = Rule::from_source([10, 1, 0, 2].into(), 100);
//! policy_rule::add(Namespace::Container, &rule)?;
//! assert!(policy_rule::exists(Namespace::Container, &rule)?);
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::{IpFamily, Namespace, Result};

pub use crate::bindings::weir::cni::policy_rule::{Rule, add, delete, list};

impl Rule {
    /// Makes a rule for all packets of a family, whose priority the kernel chooses.
    pub fn new(family: IpFamily, table: u32) -> Self {
        Rule {
            family,
            priority: None,
            source: None,
            destination: None,
            input_link: None,
            output_link: None,
            mark: None,
            mark_mask: None,
            table,
        }
    }

    /// Makes a rule for the packets that are sent from one address.
    pub fn from_source(source: IpAddr, table: u32) -> Self {
        Rule {
            source: Some(IpNet::from(source).into()),
            ..Rule::new(IpFamily::of(source), table)
        }
    }

    /// Gives it a priority. Lower is earlier.
    #[must_use]
    pub fn at(self, priority: u32) -> Self {
        Rule {
            priority: Some(priority),
            ..self
        }
    }

    /// Whether it selects the same packets for the same table as another, whichever their priorities are.
    pub fn selects_as(&self, other: &Rule) -> bool {
        let without = |rule: &Rule| Rule {
            priority: None,
            ..rule.clone()
        };
        without(self) == without(other)
    }
}

/// Returns whether a rule with exactly these selectors and this table exists, and with the priority if one is given.
/// Errors: `no-namespace`.
pub fn exists(namespace: Namespace, rule: &Rule) -> Result<bool> {
    let has_priority = |there: &Rule| rule.priority.is_none() || there.priority == rule.priority;
    let rules = list(namespace, Some(rule.family))?;
    Ok(rules
        .iter()
        .any(|there| there.selects_as(rule) && has_priority(there)))
}

/// `rule 7 from 10.1.0.2/32 to 10.9.0.0/16 iif eth0 oif eth1 fwmark 0x1/0xff table 100`, without what it does not have: as
/// `ip rule` shows rules.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rule ")?;
        if let Some(priority) = self.priority {
            write!(f, "{priority} ")?;
        }
        for (word, network) in [("from", self.source), ("to", self.destination)] {
            if let Some(network) = network {
                let address = IpAddr::from(network.address);
                write!(f, "{word} {address}/{} ", network.prefix_length)?;
            }
        }
        for (word, link) in [("iif", &self.input_link), ("oif", &self.output_link)] {
            if let Some(link) = link {
                write!(f, "{word} {link} ")?;
            }
        }
        if let Some(mark) = self.mark {
            write!(f, "fwmark {mark:#x}")?;
            let mask = self.mark_mask.map(|mask| format!("/{mask:#x}"));
            write!(f, "{} ", mask.unwrap_or_default())?;
        }
        write!(f, "table {}", self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    fn from(source: &str, table: u32) -> Rule {
        Rule::from_source(source.parse().unwrap(), table)
    }

    #[test]
    fn a_rule_is_written_as_ip_shows_it() {
        assert_eq!(
            from("10.1.0.2", 100).to_string(),
            "rule from 10.1.0.2/32 table 100"
        );
        assert_eq!(
            Rule::new(IpFamily::Ipv6, 7).at(0).to_string(),
            "rule 0 table 7"
        );
        let whole = Rule {
            destination: Some("fd05::/64".parse::<IpNet>().unwrap().into()),
            input_link: Some("eth0".to_owned()),
            output_link: Some("eth1".to_owned()),
            mark: Some(1),
            mark_mask: Some(255),
            ..from("fd00::2", 100).at(7)
        };
        assert_eq!(
            whole.to_string(),
            "rule 7 from fd00::2/128 to fd05::/64 iif eth0 oif eth1 fwmark 0x1/0xff table 100"
        );
    }

    #[test]
    fn a_rule_exists_with_exactly_its_selectors() {
        let host = FakeHost::new();
        let namespace = Namespace::Container;
        let rule = from("10.1.0.2", 100);
        add(namespace, &rule).unwrap();
        assert_eq!(
            host.changes(),
            ["policy-rule.add container from 10.1.0.2/32 table 100"]
        );
        for (other, is_there) in [
            (rule.clone(), true),
            (rule.clone().at(32765), true),
            (rule.clone().at(7), false),
            (from("10.1.0.2", 101), false),
            (from("10.1.0.3", 100), false),
            (Rule::new(IpFamily::Ipv4, 100), false),
            (
                Rule {
                    mark: Some(1),
                    ..rule.clone()
                },
                false,
            ),
        ] {
            assert_eq!(exists(namespace, &other), Ok(is_there), "{other}");
        }
        delete(namespace, &rule).unwrap();
        assert_eq!(exists(namespace, &rule), Ok(false));
        host.remove_container();
        assert!(exists(namespace, &rule).is_err());
    }
}
