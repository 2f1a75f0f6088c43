//! Capability `firewall`: tables of plugins.

mod reference;
mod transaction;

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::firewall::{
    Apply, Chain, Element, Family, GetElement, ListChains, ListElements, ListRules, ListSets, Rule,
};
use weir_kernel::{Answer, Changes, Perform, Result};

use super::kernel::Model;
use super::state::{NetworkState, Table};

impl Perform<Apply> for Model {
    fn perform(&mut self, permit: &Permit<Apply>, changes: &mut Changes<'_>) -> Result<()> {
        let apply = permit.operation();
        let created = self.change(|machine| transaction::carry_out(machine, apply))?;
        created.note_undo(apply, changes);
        Ok(())
    }
}

impl Answer<ListChains, Vec<Chain>> for Model {
    fn answer(&mut self, permit: &Permit<ListChains>) -> Result<Vec<Chain>> {
        let list = permit.operation();
        self.look(|state| {
            let table = table(state.of(list.namespace)?, list.family, &list.table);
            Ok(table.map(|table| table.chains.clone()).unwrap_or_default())
        })
    }
}

impl Answer<ListSets, Vec<String>> for Model {
    fn answer(&mut self, permit: &Permit<ListSets>) -> Result<Vec<String>> {
        let list = permit.operation();
        self.look(|state| {
            let table = table(state.of(list.namespace)?, list.family, &list.table);
            let sets = table.into_iter().flat_map(|table| &table.sets);
            Ok(sets.map(|(set, _)| set.name.clone()).collect())
        })
    }
}

/// A listed rule has its handle and its comment.
impl Answer<ListRules, Vec<Rule>> for Model {
    fn answer(&mut self, permit: &Permit<ListRules>) -> Result<Vec<Rule>> {
        let list = permit.operation();
        self.look(|state| {
            let table = table(state.of(list.namespace)?, list.family, &list.table);
            let has_chain = |t: &&Table| t.chains.iter().any(|chain| chain.name == list.chain);
            let table = table.filter(has_chain).ok_or(Errno::ENOENT)?;
            let rules = table.rules.iter().filter(|rule| rule.chain == list.chain);
            let told = rules.map(|rule| Rule {
                chain: rule.chain.clone(),
                comment: rule.comment.clone(),
                handle: rule.handle,
                ..Rule::default()
            });
            Ok(told.collect())
        })
    }
}

impl Answer<GetElement, Option<Element>> for Model {
    fn answer(&mut self, permit: &Permit<GetElement>) -> Result<Option<Element>> {
        let get = permit.operation();
        self.look(|state| {
            let elements = elements(state.of(get.namespace)?, get.family, &get.table, &get.set)?;
            Ok(elements.into_iter().find(|element| element.key == get.key))
        })
    }
}

impl Answer<ListElements, Vec<Element>> for Model {
    fn answer(&mut self, permit: &Permit<ListElements>) -> Result<Vec<Element>> {
        let list = permit.operation();
        self.look(|state| {
            elements(
                state.of(list.namespace)?,
                list.family,
                &list.table,
                &list.set,
            )
        })
    }
}

/// The elements of a set. Errors: `NotFound`.
pub(crate) fn elements(
    network: &NetworkState,
    family: Family,
    name: &str,
    set: &str,
) -> Result<Vec<Element>> {
    let sets = table(network, family, name)
        .into_iter()
        .flat_map(|table| &table.sets);
    let found = sets.into_iter().find(|(found, _)| found.name == set);
    let found = found.map(|(_, elements)| elements.clone());
    found.ok_or_else(|| Errno::ENOENT.into())
}

fn table<'a>(network: &'a NetworkState, family: Family, name: &str) -> Option<&'a Table> {
    let mut tables = network.tables.iter();
    tables.find(|table| table.family == family && table.name == name)
}
