//! Capability `policy-rule`: from the contract to the gate and the kernel.

use weir_grant::policy_rule::{self, PolicyRule};
use weir_kernel::{Error, Result};

use super::bindings::weir::cni::policy_rule::{Host as Contract, Rule};
use super::bindings::weir::cni::types::{IpFamily, Namespace};
use super::convert::{each, network, same_fields};
use super::view::View;

impl Contract for View<'_, policy_rule::PolicyRuleRule> {
    fn add(&mut self, namespace: Namespace, new: Rule) -> Result<()> {
        let operation = policy_rule::Add {
            namespace: namespace.into(),
            rule: new.try_into()?,
        };
        self.perform(operation)
    }

    fn delete(&mut self, namespace: Namespace, old: Rule) -> Result<()> {
        let operation = policy_rule::Delete {
            namespace: namespace.into(),
            rule: old.try_into()?,
        };
        self.perform(operation)
    }

    fn list(&mut self, namespace: Namespace, family: Option<IpFamily>) -> Result<Vec<Rule>> {
        let operation = policy_rule::List {
            namespace: namespace.into(),
            family: family.map(Into::into),
        };
        self.perform(operation).map(each)
    }
}

impl TryFrom<Rule> for PolicyRule {
    type Error = Error;

    /// Errors: `Invalid` for a prefix that is too long.
    fn try_from(rule: Rule) -> Result<Self> {
        Ok(Self {
            family: rule.family.into(),
            priority: rule.priority,
            source: rule.source.map(network).transpose()?,
            destination: rule.destination.map(network).transpose()?,
            input_link: rule.input_link,
            output_link: rule.output_link,
            mark: rule.mark,
            mark_mask: rule.mark_mask,
            table: rule.table,
        })
    }
}

same_fields! {
    PolicyRule => Rule {
        family priority input_link output_link mark mark_mask table; map source destination
    }
}
