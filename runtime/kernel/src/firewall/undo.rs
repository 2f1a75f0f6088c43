//! What a transaction created, and how to take it back.

use weir_grant::firewall::{Apply, Command, Elements, RuleHandle};

use crate::error::{Code, Result};
use crate::perform::{Changes, Inverse, Undo};

/// Removes what a transaction created, unless others have put something into it.
pub(crate) struct RemoveCreated(pub Apply);

impl Inverse for RemoveCreated {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        match undo.perform(self.0) {
            Err(error) if error.code == Code::Busy => Ok(()),
            removed => removed,
        }
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// What a transaction created: what `create-…` made, rules by their handles, and everything in a new table. What `add-…` and
/// `keep-rules` put into an existing table is shared with others and not removed. Neither are rules in a chain that the same
/// commands clear: they replace the former ones.
#[derive(Default)]
pub struct Created {
    /// The table came into being with the transaction.
    pub table_is_new: bool,
    elements: Vec<Elements>,
    rules: Vec<RuleHandle>,
    sets: Vec<String>,
    chains: Vec<String>,
    cleared: Vec<String>,
}

impl Created {
    /// Follows a command that was carried out. `handles` are those of its new rules, each with its chain.
    pub fn note(&mut self, command: &Command, handles: &[RuleHandle]) {
        match command {
            Command::CreateChain(chain) => self.chains.push(chain.name.clone()),
            Command::AddChain(chain) if self.table_is_new && !self.chains.contains(&chain.name) => {
                self.chains.push(chain.name.clone());
            }
            Command::CreateSet(set) => self.sets.push(set.name.clone()),
            Command::AddSet(set) if self.table_is_new && !self.sets.contains(&set.name) => {
                self.sets.push(set.name.clone());
            }
            Command::CreateElements(elements) => self.elements.push(elements.clone()),
            Command::AddElements(elements) if self.sets.contains(&elements.set) => {
                self.elements.push(elements.clone());
            }
            Command::AppendRule(_) | Command::InsertRule(_) => self.note_rules(handles),
            Command::KeepRules(_) if self.table_is_new => self.note_rules(handles),
            Command::FlushChain(chain) => self.note_cleared(chain),
            Command::DeleteRule(rule) => self.note_deleted_rule(rule),
            Command::DeleteChain(chain) => {
                self.rules.retain(|rule| rule.chain != *chain);
                self.chains.retain(|name| name != chain);
            }
            Command::DeleteElements(elements) => self.note_deleted_elements(elements),
            Command::FlushSet(set) => self.elements.retain(|elements| elements.set != *set),
            Command::DeleteSet(set) => {
                self.elements.retain(|elements| elements.set != *set);
                self.sets.retain(|name| name != set);
            }
            Command::DeleteTable => {
                *self = Self {
                    table_is_new: self.table_is_new,
                    ..Self::default()
                }
            }
            _ => {}
        }
    }

    fn note_rules(&mut self, handles: &[RuleHandle]) {
        let cleared = &self.cleared;
        let lasting = handles.iter().filter(|new| !cleared.contains(&new.chain));
        self.rules.extend(lasting.cloned());
    }

    fn note_cleared(&mut self, chain: &str) {
        self.rules.retain(|rule| rule.chain != chain);
        if !self.chains.iter().any(|name| name == chain) {
            self.cleared.push(chain.to_owned());
        }
    }

    fn note_deleted_rule(&mut self, deleted: &RuleHandle) {
        let before = self.rules.len();
        self.rules.retain(|rule| rule != deleted);
        if before == self.rules.len() {
            self.note_cleared(&deleted.chain);
        }
    }

    fn note_deleted_elements(&mut self, deleted: &Elements) {
        let is_deleted = |key| deleted.elements.iter().any(|element| element.key == key);
        for elements in self.elements.iter_mut().filter(|e| e.set == deleted.set) {
            elements
                .elements
                .retain(|element| !is_deleted(element.key.clone()));
        }
        self.elements
            .retain(|elements| !elements.elements.is_empty());
    }

    /// Notes the transactions that take it back.
    pub fn note_undo(self, applied: &Apply, changes: &mut Changes<'_>) {
        // The last that is noted is carried out first, and these are in their own order.
        for inverse in self.undo(applied).into_iter().rev() {
            changes.undo_with(RemoveCreated(inverse));
        }
    }

    /// The transactions that remove it, in order. Elements and rules are removed one by one, so that one that is gone
    /// already does not keep the others; chains, sets and the table are removed together, and only if they are unused.
    fn undo(self, applied: &Apply) -> Vec<Apply> {
        let transaction = |commands| Apply {
            only_empty: true,
            ..Apply::new(applied.namespace, applied.family, &applied.table, commands)
        };
        let (in_new_chains, in_old_chains): (Vec<_>, Vec<_>) = self
            .rules
            .into_iter()
            .rev()
            .partition(|rule| self.chains.contains(&rule.chain));
        let elements = self.elements.into_iter().rev().map(Command::DeleteElements);
        let rules = in_old_chains.into_iter().map(Command::DeleteRule);
        let mut undo: Vec<Apply> = elements
            .chain(rules)
            .map(|c| transaction(vec![c]))
            .collect();

        let rules = in_new_chains.into_iter().map(Command::DeleteRule);
        let chains = self.chains.into_iter().rev().map(Command::DeleteChain);
        let sets = self.sets.into_iter().rev().map(Command::DeleteSet);
        let table = self.table_is_new.then_some(Command::DeleteTable);
        let shared: Vec<_> = rules.chain(chains).chain(sets).chain(table).collect();
        if !shared.is_empty() {
            undo.push(transaction(shared));
        }
        undo
    }
}
