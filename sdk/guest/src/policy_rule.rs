//! Capability `policy-rule`: policy routing rules.

use crate::IpFamily;

pub use crate::bindings::weir::cni::policy_rule::{Rule, add, delete, list};

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
