//! Capability `policy-rule`: policy routing rules.

use ipnet::IpNet;

use crate::bindings::weir::cni::policy_rule as raw;
use crate::{IpFamily, Namespace, Result};

pub use raw::Rule;

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

    /// Restricts it to packets from a network.
    #[must_use]
    pub fn of_source(mut self, network: IpNet) -> Self {
        self.source = Some(network.into());
        self
    }

    /// Restricts it to packets to a network.
    #[must_use]
    pub fn of_destination(mut self, network: IpNet) -> Self {
        self.destination = Some(network.into());
        self
    }
}

/// Adds a rule. Errors: `exists`, `invalid`.
pub fn add(namespace: Namespace, rule: &Rule) -> Result<()> {
    Ok(raw::add(namespace, rule)?)
}

/// Removes the rule that has these selectors. Errors: `not-found`.
pub fn delete(namespace: Namespace, rule: &Rule) -> Result<()> {
    Ok(raw::delete(namespace, rule)?)
}

/// Lists rules of one family or of both.
pub fn list(namespace: Namespace, family: Option<IpFamily>) -> Result<Vec<Rule>> {
    Ok(raw::list(namespace, family)?)
}
