//! Capability `policy-rule`: policy routing rules.

use ipnet::IpNet;

use crate::bindings::weir::cni::policy_rule as raw;
use crate::{IpFamily, Namespace, Result};

/// A policy routing rule: which packets look a table up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The family of the packets.
    pub family: IpFamily,
    /// Lower is earlier. Absent in [`add`]: the kernel chooses.
    pub priority: Option<u32>,
    /// Packets from this network.
    pub source: Option<IpNet>,
    /// Packets to this network.
    pub destination: Option<IpNet>,
    /// Packets that came in on this link.
    pub input_link: Option<String>,
    /// Packets of sockets bound to this link.
    pub output_link: Option<String>,
    /// Packets with this mark.
    pub mark: Option<u32>,
    /// The bits of the mark that count.
    pub mark_mask: Option<u32>,
    /// The table to look up.
    pub table: u32,
}

impl Rule {
    /// Makes a rule for all packets of a family.
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
}

impl From<Rule> for raw::Rule {
    fn from(rule: Rule) -> Self {
        raw::Rule {
            family: rule.family,
            priority: rule.priority,
            source: rule.source.map(Into::into),
            destination: rule.destination.map(Into::into),
            input_link: rule.input_link,
            output_link: rule.output_link,
            mark: rule.mark,
            mark_mask: rule.mark_mask,
            table: rule.table,
        }
    }
}

impl From<raw::Rule> for Rule {
    fn from(rule: raw::Rule) -> Self {
        Rule {
            family: rule.family,
            priority: rule.priority,
            source: rule.source.map(IpNet::from),
            destination: rule.destination.map(IpNet::from),
            input_link: rule.input_link,
            output_link: rule.output_link,
            mark: rule.mark,
            mark_mask: rule.mark_mask,
            table: rule.table,
        }
    }
}

/// Adds a rule. Errors: `exists`, `invalid`.
pub fn add(namespace: Namespace, rule: Rule) -> Result<()> {
    Ok(raw::add(namespace, &rule.into())?)
}

/// Removes the rule that has these selectors. Errors: `not-found`.
pub fn delete(namespace: Namespace, rule: Rule) -> Result<()> {
    Ok(raw::delete(namespace, &rule.into())?)
}

/// Lists rules of one family or of both.
pub fn list(namespace: Namespace, family: Option<IpFamily>) -> Result<Vec<Rule>> {
    let rules = raw::list(namespace, family)?;
    Ok(rules.into_iter().map(Rule::from).collect())
}
