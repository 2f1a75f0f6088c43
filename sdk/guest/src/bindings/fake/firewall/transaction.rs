//! Commands of a transaction, one after another.

use crate::bindings::fake::error::{EBUSY, EEXIST, ENOENT, Result, refuse};
use crate::bindings::fake::state::{Machine, Table};
use crate::bindings::weir::cni::firewall::{
    BaseChain, Chain, Command, Element, ElementData, Elements, Family, Rule, RuleHandle, Set,
    Statement, Verdict,
};
use crate::bindings::weir::cni::types::Namespace;

/// Carries all commands out. The caller takes back what failed half-way.
pub(super) fn carry_out(
    machine: &mut Machine,
    namespace: Namespace,
    family: Family,
    commands: &[Command],
) -> Result<()> {
    let mut last_handle = machine.last_handle;
    let tables = &mut machine.network(namespace)?.tables;
    for command in commands {
        let mut at = tables.iter().position(|table| table.family == family);
        if at.is_none() && makes_table(command) {
            tables.push(Table {
                family,
                chains: Vec::new(),
                rules: Vec::new(),
                sets: Vec::new(),
            });
            at = Some(tables.len() - 1);
        }
        let at = at.ok_or(ENOENT)?;
        if matches!(command, Command::DeleteTable) {
            tables.remove(at);
        } else {
            tables[at].carry_out(command, &mut last_handle)?;
        }
    }
    machine.last_handle = last_handle;
    Ok(())
}

/// Whether the table comes into being with a command. Elements go into a set, which is in one.
fn makes_table(command: &Command) -> bool {
    matches!(
        command,
        Command::AddChain(_)
            | Command::CreateChain(_)
            | Command::AppendRule(_)
            | Command::InsertRule(_)
            | Command::AddSet(_)
            | Command::CreateSet(_)
    )
}

/// A command in words.
pub(super) fn shown(command: &Command) -> String {
    match command {
        Command::AddChain(chain) => format!("add-chain {}", chain.name),
        Command::CreateChain(chain) => format!("create-chain {}", chain.name),
        Command::DeleteChain(name) => format!("delete-chain {name}"),
        Command::FlushChain(name) => format!("flush-chain {name}"),
        Command::AppendRule(rule) => format!("append-rule {}", rule.chain),
        Command::InsertRule(rule) => format!("insert-rule {}", rule.chain),
        Command::KeepRules(rules) => format!("keep-rules {}", rules.len()),
        Command::DeleteRule(rule) => format!("delete-rule {}", rule.chain),
        Command::AddSet(set) => format!("add-set {}", set.name),
        Command::CreateSet(set) => format!("create-set {}", set.name),
        Command::DeleteSet(name) => format!("delete-set {name}"),
        Command::AddElements(elements) => format!("add-elements {elements}"),
        Command::CreateElements(elements) => format!("create-elements {elements}"),
        Command::DeleteElements(elements) => format!("delete-elements {elements}"),
        Command::FlushSet(name) => format!("flush-set {name}"),
        Command::DeleteTable => "delete-table".to_owned(),
    }
}

/// The set, and each element's key.
impl std::fmt::Display for Elements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.set)?;
        for element in &self.elements {
            let key = element.key.iter().map(ToString::to_string);
            write!(f, " {}", key.collect::<Vec<_>>().join("."))?;
        }
        Ok(())
    }
}

impl Table {
    fn carry_out(&mut self, command: &Command, last_handle: &mut u64) -> Result<()> {
        match command {
            Command::AddChain(chain) => self.add_chain(chain, false),
            Command::CreateChain(chain) => self.add_chain(chain, true),
            Command::DeleteChain(name) => self.delete_chain(name),
            Command::FlushChain(name) => self.flush_chain(name),
            Command::AppendRule(rule) => self.add_rule(rule, usize::MAX, last_handle),
            Command::InsertRule(rule) => self.add_rule(rule, 0, last_handle),
            Command::KeepRules(rules) => self.keep_rules(rules, last_handle),
            Command::DeleteRule(rule) => self.delete_rule(rule),
            Command::AddSet(set) => self.add_set(set, false),
            Command::CreateSet(set) => self.add_set(set, true),
            Command::DeleteSet(name) => self.delete_set(name),
            Command::AddElements(elements) => self.add_elements(elements, false),
            Command::CreateElements(elements) => self.add_elements(elements, true),
            Command::DeleteElements(elements) => self.delete_elements(elements),
            Command::FlushSet(name) => self.elements_mut(name).map(Vec::clear),
            Command::DeleteTable => Ok(()),
        }
    }

    fn chain(&self, name: &str) -> Result<&Chain> {
        let found = self.chains.iter().find(|chain| chain.name == name);
        found.ok_or_else(|| ENOENT.into())
    }

    fn add_chain(&mut self, new: &Chain, is_exclusive: bool) -> Result<()> {
        let Some(there) = self.chains.iter_mut().find(|chain| chain.name == new.name) else {
            self.chains.push(new.clone());
            return Ok(());
        };
        match (&mut there.base, &new.base) {
            _ if is_exclusive => refuse(EEXIST),
            (_, None) => Ok(()),
            // A chain that is there takes another policy, and stays what it is otherwise.
            (Some(is), Some(new)) if is_same_place(is, new) => {
                is.policy = new.policy;
                Ok(())
            }
            (_, Some(_)) => refuse(EEXIST),
        }
    }

    fn delete_chain(&mut self, name: &str) -> Result<()> {
        self.chain(name)?;
        if self.is_used(name) {
            return refuse(EBUSY);
        }
        self.chains.retain(|chain| chain.name != name);
        self.rules.retain(|rule| rule.chain != name);
        Ok(())
    }

    /// Whether a rule of another chain or an element leads to a chain.
    fn is_used(&self, name: &str) -> bool {
        let others = self.rules.iter().filter(|rule| rule.chain != name);
        let leads = |statement: &Statement| target(statement) == Some(name);
        let elements = self.sets.iter().flat_map(|(_, elements)| elements);
        let jumps = |element: &Element| match &element.data {
            ElementData::Verdict(Verdict::Jump(chain) | Verdict::Goto(chain)) => chain == name,
            _ => false,
        };
        others.flat_map(|rule| &rule.statements).any(leads) || elements.into_iter().any(jumps)
    }

    fn flush_chain(&mut self, name: &str) -> Result<()> {
        self.chain(name)?;
        self.rules.retain(|rule| rule.chain != name);
        Ok(())
    }

    /// Puts a rule before the one at this place, or last.
    fn add_rule(&mut self, rule: &Rule, at: usize, last_handle: &mut u64) -> Result<()> {
        self.chain(&rule.chain)?;
        for chain in rule.statements.iter().filter_map(target) {
            self.chain(chain)?;
        }
        *last_handle += 1;
        let new = Rule {
            handle: Some(*last_handle),
            ..rule.clone()
        };
        self.rules.insert(at.min(self.rules.len()), new);
        Ok(())
    }

    /// Puts each rule that is missing behind the one before it, or else before all that come after it.
    fn keep_rules(&mut self, rules: &[Rule], last_handle: &mut u64) -> Result<()> {
        for (at, rule) in rules.iter().enumerate() {
            if self.place(rule).is_some() {
                continue;
            }
            let places = |others: &[Rule]| -> Vec<usize> {
                let like = others.iter().filter(|other| other.chain == rule.chain);
                like.filter_map(|other| self.place(other)).collect()
            };
            let before = places(&rules[..at]).into_iter().max();
            let behind = places(&rules[at + 1..]).into_iter().min();
            let to = before.map(|before| before + 1).or(behind);
            self.add_rule(rule, to.unwrap_or(usize::MAX), last_handle)?;
        }
        Ok(())
    }

    /// Where the rule with the same comment is in the same chain.
    fn place(&self, wanted: &Rule) -> Option<usize> {
        let is_it = |r: &Rule| (&r.chain, &r.comment) == (&wanted.chain, &wanted.comment);
        self.rules.iter().position(is_it)
    }

    fn delete_rule(&mut self, rule: &RuleHandle) -> Result<()> {
        let is_it = |r: &Rule| r.chain == rule.chain && r.handle == Some(rule.handle);
        let at = self.rules.iter().position(is_it).ok_or(ENOENT)?;
        self.rules.remove(at);
        Ok(())
    }

    fn add_set(&mut self, new: &Set, is_exclusive: bool) -> Result<()> {
        match self.sets.iter().find(|(set, _)| set.name == new.name) {
            None => {
                self.sets.push((new.clone(), Vec::new()));
                Ok(())
            }
            Some((set, _)) if !is_exclusive && is_same_set(set, new) => Ok(()),
            Some(_) => refuse(EEXIST),
        }
    }

    fn delete_set(&mut self, name: &str) -> Result<()> {
        self.elements_mut(name)?;
        self.sets.retain(|(set, _)| set.name != name);
        Ok(())
    }

    fn elements_mut(&mut self, set: &str) -> Result<&mut Vec<Element>> {
        let found = self.sets.iter_mut().find(|(found, _)| found.name == set);
        found
            .map(|(_, elements)| elements)
            .ok_or_else(|| ENOENT.into())
    }

    fn add_elements(&mut self, new: &Elements, is_exclusive: bool) -> Result<()> {
        let elements = self.elements_mut(&new.set)?;
        for element in &new.elements {
            match elements.iter().find(|there| is_same_key(there, element)) {
                None => elements.push(element.clone()),
                Some(there) if !is_exclusive && is_same_data(there, element) => {}
                Some(_) => return refuse(EEXIST),
            }
        }
        Ok(())
    }

    fn delete_elements(&mut self, old: &Elements) -> Result<()> {
        let elements = self.elements_mut(&old.set)?;
        for element in &old.elements {
            let at = elements
                .iter()
                .position(|there| is_same_key(there, element));
            elements.remove(at.ok_or(ENOENT)?);
        }
        Ok(())
    }
}

/// The chain that a statement leads to.
fn target(statement: &Statement) -> Option<&str> {
    match statement {
        Statement::Jump(chain) | Statement::Goto(chain) => Some(chain),
        _ => None,
    }
}

fn is_same_place(one: &BaseChain, other: &BaseChain) -> bool {
    let place = |chain: &BaseChain| (chain.chain_type, chain.hook, chain.priority);
    place(one) == place(other)
}

fn is_same_set(one: &Set, other: &Set) -> bool {
    (&one.key, &one.data, one.interval) == (&other.key, &other.data, other.interval)
}

fn is_same_key(one: &Element, other: &Element) -> bool {
    (&one.key, &one.key_end) == (&other.key, &other.key_end)
}

/// Values and verdicts are what their text is.
fn is_same_data(one: &Element, other: &Element) -> bool {
    format!("{:?}", one.data) == format!("{:?}", other.data)
}
