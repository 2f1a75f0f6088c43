//! Commands, one after another.

use nix::errno::Errno;
use weir_grant::firewall::{
    Apply, Chain, Command, Element, ElementData, Elements, Rule, RuleHandle, Set, Statement,
    Verdict,
};
use weir_kernel::inverses::Created;
use weir_kernel::{Result, WhileDoing as _};

use crate::error::refused;
use crate::state::{Machine, Table};

/// Carries commands out, and returns what they created. The caller takes back what failed half-way.
pub(super) fn carry_out(machine: &mut Machine, apply: &Apply) -> Result<Created> {
    let mut created = Created::default();
    let mut last_handle = machine.last_handle;
    let tables = &mut machine.state.of(apply.namespace)?.tables;
    for (at, command) in apply.commands.iter().enumerate() {
        let is_it = |table: &Table| table.family == apply.family && table.name == apply.table;
        let mut place = tables.iter().position(is_it);
        if place.is_none() && makes_table(command) {
            created.table_is_new = true;
            tables.push(new_table(apply));
            place = Some(tables.len() - 1);
        }
        let doing = format_args!("command {} in table `{}`", at + 1, apply.table);
        let place = place.ok_or_else(|| refused(Errno::ENOENT, doing))?;
        let mut step = Step {
            table: &mut tables[place],
            only_empty: apply.only_empty,
            last_handle: &mut last_handle,
            handles: Vec::new(),
        };
        let is_gone = step.carry_out(command).while_doing(doing)?;
        let handles = step.handles;
        if is_gone {
            tables.remove(place);
        }
        created.note(command, &handles);
    }
    machine.last_handle = last_handle;
    Ok(created)
}

fn new_table(apply: &Apply) -> Table {
    Table {
        family: apply.family,
        name: apply.table.clone(),
        chains: Vec::new(),
        rules: Vec::new(),
        sets: Vec::new(),
    }
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

/// One command.
struct Step<'a> {
    table: &'a mut Table,
    only_empty: bool,
    last_handle: &'a mut u64,
    /// Of the rules that it makes.
    handles: Vec<RuleHandle>,
}

impl Step<'_> {
    /// Whether the table is gone with it.
    fn carry_out(&mut self, command: &Command) -> Result<bool> {
        match command {
            Command::AddChain(chain) => self.add_chain(chain, false),
            Command::CreateChain(chain) => self.add_chain(chain, true),
            Command::DeleteChain(name) => self.delete_chain(name),
            Command::FlushChain(name) => self.flush_chain(name),
            Command::AppendRule(rule) => self.add_rule(rule, usize::MAX),
            Command::InsertRule(rule) => self.add_rule(rule, 0),
            Command::KeepRules(rules) => self.keep_rules(rules),
            Command::DeleteRule(rule) => self.delete_rule(rule),
            Command::AddSet(set) => self.add_set(set, false),
            Command::CreateSet(set) => self.add_set(set, true),
            Command::DeleteSet(name) => self.delete_set(name),
            Command::AddElements(elements) => self.add_elements(elements, false),
            Command::CreateElements(elements) => self.add_elements(elements, true),
            Command::DeleteElements(elements) => self.delete_elements(elements),
            Command::FlushSet(name) => {
                self.elements(name)?.clear();
                Ok(())
            }
            Command::DeleteTable => return self.delete_table().map(|()| true),
        }?;
        Ok(false)
    }

    fn add_chain(&mut self, chain: &Chain, is_exclusive: bool) -> Result<()> {
        match self.table.chains.iter_mut().find(|c| c.name == chain.name) {
            Some(_) if is_exclusive => Err(Errno::EEXIST.into()),
            Some(there) => update_chain(there, chain),
            None => {
                self.table.chains.push(chain.clone());
                Ok(())
            }
        }
    }

    fn delete_chain(&mut self, name: &str) -> Result<()> {
        self.check_chain(name)?;
        let has_rules = self.table.rules.iter().any(|rule| rule.chain == name);
        if self.is_chain_used(name) || (self.only_empty && has_rules) {
            return Err(Errno::EBUSY.into());
        }
        self.table.chains.retain(|chain| chain.name != name);
        self.table.rules.retain(|rule| rule.chain != name);
        Ok(())
    }

    fn is_chain_used(&self, name: &str) -> bool {
        let leads = |statement: &Statement| match statement {
            Statement::Jump(chain) | Statement::Goto(chain) => chain == name,
            _ => false,
        };
        let jumps = |element: &Element| match &element.data {
            ElementData::Verdict(Verdict::Jump(chain) | Verdict::Goto(chain)) => chain == name,
            _ => false,
        };
        let others = self.table.rules.iter().filter(|rule| rule.chain != name);
        let elements = self.table.sets.iter().flat_map(|(_, elements)| elements);
        others.flat_map(|rule| &rule.statements).any(leads) || elements.into_iter().any(jumps)
    }

    fn flush_chain(&mut self, name: &str) -> Result<()> {
        self.check_chain(name)?;
        self.table.rules.retain(|rule| rule.chain != name);
        Ok(())
    }

    fn check_chain(&self, name: &str) -> Result<()> {
        if self.table.chains.iter().any(|chain| chain.name == name) {
            Ok(())
        } else {
            Err(Errno::ENOENT.into())
        }
    }

    /// Puts a rule before the one at this place, or last.
    fn add_rule(&mut self, rule: &Rule, at: usize) -> Result<()> {
        self.check_chain(&rule.chain)?;
        for statement in &rule.statements {
            if let Statement::Jump(chain) | Statement::Goto(chain) = statement {
                self.check_chain(chain)?;
            }
        }
        *self.last_handle += 1;
        let handle = *self.last_handle;
        let at = at.min(self.table.rules.len());
        self.table.rules.insert(
            at,
            Rule {
                handle: Some(handle),
                ..rule.clone()
            },
        );
        self.handles.push(RuleHandle {
            chain: rule.chain.clone(),
            handle,
        });
        Ok(())
    }

    /// Puts each rule that is missing behind the one before it, or else before all that come after it.
    fn keep_rules(&mut self, rules: &[Rule]) -> Result<()> {
        for (at, rule) in rules.iter().enumerate() {
            let place = |other: &Rule| {
                let is_it = |r: &Rule| r.chain == other.chain && r.comment == other.comment;
                self.table.rules.iter().position(is_it)
            };
            if place(rule).is_some() {
                continue;
            }
            let of_chain = |other: &&Rule| other.chain == rule.chain;
            let before = rules[..at].iter().filter(of_chain).filter_map(place).max();
            let behind = rules[at + 1..]
                .iter()
                .filter(of_chain)
                .filter_map(place)
                .min();
            let to = before.map(|before| before + 1).or(behind);
            self.add_rule(rule, to.unwrap_or(usize::MAX))?;
        }
        Ok(())
    }

    fn delete_rule(&mut self, rule: &RuleHandle) -> Result<()> {
        let is_it = |r: &Rule| r.chain == rule.chain && r.handle == Some(rule.handle);
        let at = self.table.rules.iter().position(is_it);
        self.table.rules.remove(at.ok_or(Errno::ENOENT)?);
        Ok(())
    }

    fn add_set(&mut self, set: &Set, is_exclusive: bool) -> Result<()> {
        match self
            .table
            .sets
            .iter()
            .find(|(there, _)| there.name == set.name)
        {
            Some(_) if is_exclusive => Err(Errno::EEXIST.into()),
            Some((there, _)) if there == set => Ok(()),
            Some(_) => Err(Errno::EEXIST.into()),
            None => {
                self.table.sets.push((set.clone(), Vec::new()));
                Ok(())
            }
        }
    }

    fn delete_set(&mut self, name: &str) -> Result<()> {
        let is_empty = self.elements(name)?.is_empty();
        if self.only_empty && !is_empty {
            return Err(Errno::EBUSY.into());
        }
        self.table.sets.retain(|(set, _)| set.name != name);
        Ok(())
    }

    fn elements(&mut self, set: &str) -> Result<&mut Vec<Element>> {
        let mut sets = self.table.sets.iter_mut();
        let found = sets.find(|(found, _)| found.name == set);
        found
            .map(|(_, elements)| elements)
            .ok_or_else(|| Errno::ENOENT.into())
    }

    fn add_elements(&mut self, new: &Elements, is_exclusive: bool) -> Result<()> {
        let elements = self.elements(&new.set)?;
        for element in &new.elements {
            match elements.iter().find(|there| is_same_key(there, element)) {
                Some(_) if is_exclusive => return Err(Errno::EEXIST.into()),
                Some(there) if there.data != element.data => return Err(Errno::EEXIST.into()),
                Some(_) => {}
                None => elements.push(element.clone()),
            }
        }
        Ok(())
    }

    fn delete_elements(&mut self, old: &Elements) -> Result<()> {
        let elements = self.elements(&old.set)?;
        for element in &old.elements {
            let at = elements
                .iter()
                .position(|there| is_same_key(there, element));
            elements.remove(at.ok_or(Errno::ENOENT)?);
        }
        Ok(())
    }

    fn delete_table(&mut self) -> Result<()> {
        let Table { chains, sets, .. } = &*self.table;
        if self.only_empty && !(chains.is_empty() && sets.is_empty()) {
            Err(Errno::EBUSY.into())
        } else {
            Ok(())
        }
    }
}

fn is_same_key(one: &Element, other: &Element) -> bool {
    (&one.key, &one.key_end) == (&other.key, &other.key_end)
}

/// A chain that is there takes another policy, and stays what it is otherwise.
fn update_chain(there: &mut Chain, wanted: &Chain) -> Result<()> {
    match (&mut there.base, &wanted.base) {
        (_, None) => Ok(()),
        (None, Some(_)) => Err(Errno::EEXIST.into()),
        (Some(is), Some(to)) if (is.chain_type, is.hook) != (to.chain_type, to.hook) => {
            Err(Errno::EEXIST.into())
        }
        (Some(is), Some(to)) if is.priority != to.priority => Err(Errno::EEXIST.into()),
        (Some(is), Some(to)) => {
            is.policy = to.policy;
            Ok(())
        }
    }
}
