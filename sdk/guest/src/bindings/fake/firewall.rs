//! Capability `firewall`: the plugin's own nftables tables. What the rules say is kept, and no packet asks.

mod transaction;

use super::Call;
use super::error::{ENOENT, Result};
use super::state::{Network, Table};
use crate::bindings::weir::cni::firewall::{Chain, Command, Element, Family, Rule, Value};
use crate::bindings::weir::cni::types::Namespace;

/// Carries out all commands in one transaction, all of them or none. Errors: `exists`, `not-found`, `busy`,
/// `invalid`, `unsupported`.
pub fn apply(namespace: Namespace, family: Family, commands: &[Command]) -> Result<()> {
    let text = commands.iter().map(transaction::shown);
    let text = text.collect::<Vec<_>>().join(", ");
    let call = Call::of("firewall.apply").within(namespace);
    call.with(format_args!("{family:?}: {text}"))
        .run(|machine| transaction::carry_out(machine, namespace, family, commands))
}

/// Returns the chains of the plugin's table; none where there is no table.
pub fn list_chains(namespace: Namespace, family: Family) -> Result<Vec<Chain>> {
    let call = Call::of("firewall.list-chains").within(namespace);
    call.run(|machine| {
        let table = machine.look(namespace)?.table(family);
        Ok(table.map(|table| table.chains.clone()).unwrap_or_default())
    })
}

/// Returns the handles and comments of a chain's rules, in order. Errors: `not-found`.
pub fn list_rules(namespace: Namespace, family: Family, chain: &str) -> Result<Vec<Rule>> {
    let call = Call::of("firewall.list-rules").within(namespace);
    call.with(chain).run(|machine| {
        let has_chain = |table: &&Table| table.chains.iter().any(|there| there.name == chain);
        let table = machine.look(namespace)?.table(family).filter(has_chain);
        let rules = table.ok_or(ENOENT)?.rules.iter();
        let told = rules.filter(|rule| rule.chain == chain).map(|rule| Rule {
            conditions: Vec::new(),
            statements: Vec::new(),
            ..rule.clone()
        });
        Ok(told.collect())
    })
}

/// Returns the names of the sets and maps of the plugin's table; none where there is no table.
pub fn list_sets(namespace: Namespace, family: Family) -> Result<Vec<String>> {
    let call = Call::of("firewall.list-sets").within(namespace);
    call.run(|machine| {
        let table = machine.look(namespace)?.table(family);
        let sets = table.into_iter().flat_map(|table| &table.sets);
        Ok(sets.map(|(set, _)| set.name.clone()).collect())
    })
}

/// Returns one element by its key; none where it is not in the set. Errors: `not-found` for the set.
pub fn get_element(
    namespace: Namespace,
    family: Family,
    set: &str,
    key: &[Value],
) -> Result<Option<Element>> {
    let call = Call::of("firewall.get-element").within(namespace);
    call.with(set).run(|machine| {
        let elements = machine.look(namespace)?.elements(family, set)?;
        let found = elements.iter().find(|element| element.key == key);
        Ok(found.cloned())
    })
}

/// Returns all elements of a set. Errors: `not-found`.
pub fn list_elements(namespace: Namespace, family: Family, set: &str) -> Result<Vec<Element>> {
    let call = Call::of("firewall.list-elements").within(namespace);
    call.with(set)
        .run(|machine| Ok(machine.look(namespace)?.elements(family, set)?.to_vec()))
}

/// Removes what the reference plugin of this name made on the host for this attachment, and returns how many
/// rules and chains that were. Errors: `unsupported`, `busy`.
pub fn remove_reference_rules() -> Result<u32> {
    Call::of("firewall.remove-reference-rules").run(|_| Ok(0))
}

impl Network {
    fn table(&self, family: Family) -> Option<&Table> {
        self.tables.iter().find(|table| table.family == family)
    }

    fn elements(&self, family: Family, set: &str) -> Result<&[Element]> {
        let sets = self.table(family).into_iter().flat_map(|table| &table.sets);
        let mut sets = sets.filter(|(there, _)| there.name == set);
        let found = sets.next().map(|(_, elements)| elements.as_slice());
        found.ok_or_else(|| ENOENT.into())
    }
}
