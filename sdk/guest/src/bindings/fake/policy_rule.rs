//! Capability `policy-rule`, which weir does not carry out either.

use super::Call;
use super::error::Result;
use crate::bindings::weir::cni::policy_rule::Rule;
use crate::bindings::weir::cni::types::{IpFamily, Namespace};

/// Adds a rule. Errors: `exists`, `invalid`.
pub fn add(namespace: Namespace, rule: &Rule) -> Result<()> {
    changing("policy-rule.add", namespace, rule)
}

/// Removes the rule that has these selectors. Errors: `not-found`.
pub fn delete(namespace: Namespace, rule: &Rule) -> Result<()> {
    changing("policy-rule.delete", namespace, rule)
}

fn changing(function: &'static str, namespace: Namespace, rule: &Rule) -> Result<()> {
    let text = format!("table {}", rule.table);
    let call = Call::of(function).within(namespace);
    call.with(text).unsupported()
}

/// Returns the rules of one family or of both.
pub fn list(namespace: Namespace, _: Option<IpFamily>) -> Result<Vec<Rule>> {
    Call::of("policy-rule.list").within(namespace).unsupported()
}
