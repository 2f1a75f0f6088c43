//! Commands as one batch of messages, and what the kernel says to it.

use std::collections::HashMap;

use netlink_bindings::nftables::{PushChainAttrs, RuleAttrs};
use netlink_bindings::traits::Pusher;
use netlink_bindings::utils::push_header;
use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_ECHO, NLM_F_NONREC};
use nix::errno::Errno;
use weir_grant::firewall::{
    Apply, BaseChain, Chain, Command, Elements, Family, Hook, Policy, Rule, RuleHandle, Set,
};

use super::family::{CHAIN_TYPES, hooks, protocol_family};
use super::keep_rules::{self, RulePosition};
use super::kind::{Kind, SUBSYSTEM};
use super::read::Reader;
use super::set::{self, Schema};
use super::undo::Created;
use super::{check, comment, object_name, refusal, rule};
use crate::error::{Error, Result};
use crate::netlink::{Batch, NEW, NetfilterSocket};

/// `NFTA_RULE_POSITION`.
const RULE_POSITION: u16 = 6;

/// Entries of a set in one message, whose lists have at most 64 KiB.
const ENTRIES_AT_ONCE: usize = 100;

/// The most bytes of new rules: the kernel echoes them into the socket's buffer.
const MOST_RULES: usize = 64 << 10;

/// Carries commands out as one transaction, and returns what it created. Errors: also `Busy`, if rules are to be kept and the
/// ruleset keeps changing.
pub(super) fn carry_out(socket: &mut NetfilterSocket, apply: &Apply) -> Result<Created> {
    let reads_rules = |command: &Command| matches!(command, Command::KeepRules(_));
    let reads_rules = apply.commands.iter().any(reads_rules);
    keep_rules::until_unchanged(|| {
        let generation = reads_rules.then(|| keep_rules::generation(socket));
        attempt(socket, apply, generation.transpose()?)
    })
}

/// Carries commands out as one transaction; none if the ruleset is not at this generation any more.
pub(super) fn attempt(
    socket: &mut NetfilterSocket,
    apply: &Apply,
    generation: Option<u32>,
) -> Result<Option<Created>> {
    let mut transaction = Transaction::new(socket, apply, generation);
    for (index, command) in apply.commands.iter().enumerate() {
        transaction.current = index;
        check::command(command)
            .and_then(|()| transaction.push(command))
            .map_err(|e| e.at(refusal::describe(index, apply)))?;
    }
    transaction.commit()
}

struct Transaction<'a> {
    socket: &'a mut NetfilterSocket,
    apply: &'a Apply,
    batch: Batch,
    /// The command that each message belongs to.
    owners: Vec<usize>,
    current: usize,
    table_is_sure: bool,
    schemas: HashMap<String, Schema>,
    rule_bytes: usize,
}

impl<'a> Transaction<'a> {
    fn new(socket: &'a mut NetfilterSocket, apply: &'a Apply, generation: Option<u32>) -> Self {
        Self {
            socket,
            apply,
            batch: Batch::new(SUBSYSTEM, protocol_family(apply.family), generation),
            owners: Vec::new(),
            current: 0,
            table_is_sure: false,
            schemas: HashMap::new(),
            rule_bytes: 0,
        }
    }

    fn push(&mut self, command: &Command) -> Result<()> {
        match command {
            Command::AddChain(chain) => self.new_chain(chain, NLM_F_CREATE)?,
            Command::CreateChain(chain) => self.new_chain(chain, NEW)?,
            Command::DeleteChain(name) => {
                self.message(Kind::DeleteChain, self.deletion_flags(), |bytes, table| {
                    object_name::chain(bytes, table, name);
                });
            }
            Command::FlushChain(name) => self.delete_rules(name, None),
            Command::AppendRule(rule) => self.new_rule(rule, RulePosition::Last)?,
            Command::InsertRule(rule) => self.new_rule(rule, RulePosition::First)?,
            Command::KeepRules(rules) => self.keep_rules(rules)?,
            Command::DeleteRule(rule) => self.delete_rules(&rule.chain, Some(rule.handle)),
            Command::AddSet(set) => self.new_set(set, NLM_F_CREATE)?,
            Command::CreateSet(set) => self.new_set(set, NEW)?,
            Command::DeleteSet(name) => {
                self.message(Kind::DeleteSet, self.deletion_flags(), |bytes, table| {
                    object_name::set(bytes, table, name);
                });
            }
            Command::AddElements(new) => self.elements(Kind::NewElements, NLM_F_CREATE, new)?,
            Command::CreateElements(new) => {
                self.elements(Kind::NewElements, NEW, new)?;
            }
            Command::DeleteElements(old) => self.elements(Kind::DeleteElements, 0, old)?,
            Command::FlushSet(name) => self.message(Kind::DeleteElements, 0, |bytes, table| {
                object_name::elements(bytes, table, name);
            }),
            Command::DeleteTable => self.delete_table(),
        }
        Ok(())
    }

    /// Reads the table as it was before the transaction.
    fn reader(&mut self) -> Reader<'_> {
        Reader::new(self.socket, self.apply.family, &self.apply.table)
    }

    /// The commands before the present one.
    fn earlier(&self) -> impl Iterator<Item = &'a Command> + use<'a> {
        self.apply.commands[..self.current].iter()
    }

    /// Adds a message. `write` gets the table's name as well.
    fn message(&mut self, kind: Kind, flags: u16, write: impl FnOnce(&mut Vec<u8>, &str)) {
        let table = &self.apply.table;
        self.batch.push(kind, flags, |bytes| write(bytes, table));
        self.owners.push(self.current);
    }

    /// The first command that adds something makes the table. The kernel echoes the table only if it is new.
    fn ensure_table(&mut self) {
        if !std::mem::replace(&mut self.table_is_sure, true) {
            self.message(
                Kind::NewTable,
                NLM_F_CREATE | NLM_F_ECHO,
                object_name::table,
            );
        }
    }

    fn delete_table(&mut self) {
        self.table_is_sure = false;
        self.schemas.clear();
        self.message(Kind::DeleteTable, self.deletion_flags(), object_name::table);
    }

    fn deletion_flags(&self) -> u16 {
        if self.apply.only_empty {
            NLM_F_NONREC
        } else {
            0
        }
    }

    fn new_chain(&mut self, chain: &Chain, flags: u16) -> Result<()> {
        self.ensure_table();
        let base = chain.base.as_ref();
        let number = base.map(|base| check_base_chain(self.apply.family, base));
        let base = base.zip(number.transpose()?);
        self.message(Kind::NewChain, flags, |bytes, table| {
            let attributes = object_name::chain(bytes, table, &chain.name);
            if let Some((base, number)) = base {
                push_base_chain(attributes, number, base);
            }
        });
        Ok(())
    }

    /// The rules of each chain that it does not have, each in its place.
    fn keep_rules(&mut self, rules: &[Rule]) -> Result<()> {
        if self.earlier().any(removes_rules) {
            return Err(Error::invalid(
                "rules are kept before others are removed, and not after that",
            ));
        }
        let mut chains: Vec<&str> = Vec::new();
        for rule in rules {
            if !chains.contains(&rule.chain.as_str()) {
                chains.push(&rule.chain);
            }
        }
        for chain in chains {
            let present = self.present_rules(chain)?;
            let wanted = rules.iter().filter(|rule| rule.chain == chain).collect();
            for (rule, place) in keep_rules::missing(wanted, &present) {
                self.new_rule(rule, place)?;
            }
        }
        Ok(())
    }

    /// The rules of a chain that is there, or that these commands make.
    fn present_rules(&mut self, chain: &str) -> Result<Vec<Rule>> {
        let is_made = |command: &Command| match command {
            Command::AddChain(new) | Command::CreateChain(new) => new.name == chain,
            _ => false,
        };
        match self.reader().rules(chain) {
            Err(error) if error.is_not_found() && self.earlier().any(is_made) => Ok(Vec::new()),
            rules => rules,
        }
    }

    fn new_rule(&mut self, rule: &Rule, place: RulePosition) -> Result<()> {
        self.ensure_table();
        let expressions = rule::expressions(self.apply.family, rule)?;
        self.rule_bytes += expressions.bytes().len();
        if self.rule_bytes > MOST_RULES {
            return Err(Error::invalid(
                "too many rules in one transaction: put what differs between them into a set",
            ));
        }
        let flags = match place {
            RulePosition::Last | RulePosition::Behind(_) => {
                NLM_F_CREATE | NLM_F_ECHO | NLM_F_APPEND
            }
            RulePosition::First | RulePosition::Before(_) => NLM_F_CREATE | NLM_F_ECHO,
        };
        self.message(Kind::NewRule, flags, |bytes, table| {
            let mut list = object_name::rules(bytes, table, &rule.chain).nested_expressions();
            list.as_vec_mut().extend(expressions.bytes());
            let mut attributes = list.end_nested();
            if let RulePosition::Behind(handle) | RulePosition::Before(handle) = place {
                push_position(attributes.as_vec_mut(), handle);
            }
            if let Some(text) = &rule.comment {
                attributes.push_userdata(&comment::encode(text));
            }
        });
        Ok(())
    }

    fn delete_rules(&mut self, chain: &str, handle: Option<u64>) {
        self.message(Kind::DeleteRule, 0, |bytes, table| {
            let attributes = object_name::rules(bytes, table, chain);
            if let Some(handle) = handle {
                attributes.push_handle(handle);
            }
        });
    }

    fn new_set(&mut self, set: &Set, flags: u16) -> Result<()> {
        self.ensure_table();
        let schema = Schema::new(set)?;
        // The kernel requires an id; the message's number serves.
        let number = self.owners.len() as u32 + 1;
        self.message(Kind::NewSet, flags, |bytes, table| {
            let attributes = object_name::set(bytes, table, &set.name).push_id(number);
            set::push_set(attributes, set, &schema);
        });
        self.schemas.insert(set.name.clone(), schema);
        Ok(())
    }

    /// Returns the schema of a set of this transaction, or of one that exists. Errors: `NotFound`.
    fn schema(&mut self, set: &str) -> Result<Schema> {
        if let Some(schema) = self.schemas.get(set) {
            return Ok(schema.clone());
        }
        let schema = self.reader().schema(set)?;
        self.schemas.insert(set.to_owned(), schema.clone());
        Ok(schema)
    }

    /// Adds elements or deletes them: what is deleted is named by its key alone.
    fn elements(&mut self, kind: Kind, flags: u16, elements: &Elements) -> Result<()> {
        let is_new = matches!(kind, Kind::NewElements);
        let schema = self.schema(&elements.set)?;
        let mut entries = Vec::new();
        for element in &elements.elements {
            let of_element = schema.entries(element)?.into_iter();
            entries.extend(of_element.map(|entry| (entry, is_new.then_some(element))));
        }
        for some in entries.chunks(ENTRIES_AT_ONCE) {
            let mut content = Vec::new();
            let mut list = object_name::elements(&mut content, &self.apply.table, &elements.set)
                .nested_elements();
            for (entry, element) in some {
                list = schema.push(list, entry, *element)?;
            }
            drop(list);
            self.message(kind, flags, |bytes, _| bytes.extend(content));
        }
        Ok(())
    }

    /// None if the ruleset is not at the given generation any more.
    fn commit(self) -> Result<Option<Created>> {
        let Self {
            socket,
            apply,
            batch,
            owners,
            ..
        } = self;
        let mut created = Created::default();
        if batch.is_empty() {
            return Ok(Some(created));
        }
        let mut handles: HashMap<usize, Vec<RuleHandle>> = HashMap::new();
        let mut tables = 0;
        let outcome = socket.transact(batch, |kind, sequence, object| {
            if kind == Kind::NewTable.into() {
                tables += 1;
            } else if kind == Kind::NewRule.into() {
                let owner = owners.get(sequence as usize - 1).copied();
                if let Some((owner, rule)) = owner.zip(rule_handle(object)) {
                    handles.entry(owner).or_default().push(rule);
                }
            }
        });
        if let Err((batch, refused)) = outcome {
            if refused.errno == Errno::ERESTART {
                return Ok(None);
            }
            let mut reader = Reader::new(socket, apply.family, &apply.table);
            let exists = |chain: &str| reader.has_chain(chain).unwrap_or(false);
            return Err(refusal::explain(apply, &owners, &batch, refused, exists));
        }
        // A table that these commands deleted and made again was not new.
        created.table_is_new = tables > 0 && !apply.commands.contains(&Command::DeleteTable);
        for (index, command) in apply.commands.iter().enumerate() {
            created.note(command, handles.get(&index).map_or(&[][..], |new| new));
        }
        Ok(Some(created))
    }
}

fn removes_rules(command: &Command) -> bool {
    matches!(
        command,
        Command::DeleteTable
            | Command::DeleteChain(_)
            | Command::FlushChain(_)
            | Command::DeleteRule(_)
    )
}

/// The handle of a new rule that the kernel echoes.
fn rule_handle(object: &[u8]) -> Option<RuleHandle> {
    let attributes = RuleAttrs::new(object);
    Some(RuleHandle {
        chain: attributes.get_chain().ok()?.to_string_lossy().into_owned(),
        handle: attributes.get_handle().ok()?,
    })
}

/// The rule that a new one comes before or behind. The bindings lack the attribute.
fn push_position(bytes: &mut Vec<u8>, handle: u64) {
    push_header(bytes, RULE_POSITION, 8);
    bytes.extend(handle.to_be_bytes());
}

/// The number of a base chain's hook. Errors: `Invalid` for a hook that the family does not have, and for a device that is
/// missing or out of place.
fn check_base_chain(family: Family, base: &BaseChain) -> Result<u32> {
    let number = hooks(family).iter().position(|hook| *hook == base.hook);
    let number = number.ok_or_else(|| {
        let hook = base.hook;
        Error::invalid(format!("a table of family {family} has no hook {hook}"))
    })?;
    let needs_device = matches!(base.hook, Hook::Ingress | Hook::Egress);
    if needs_device != base.device.is_some() {
        return Err(Error::invalid(
            "chains on ingress and egress name a device, and no others do",
        ));
    }
    Ok(number as u32)
}

fn push_base_chain<P: Pusher>(attributes: PushChainAttrs<P>, number: u32, base: &BaseChain) {
    let mut hook = attributes
        .nested_hook()
        .push_num(number)
        .push_priority(base.priority);
    if let Some(device) = &base.device {
        hook = hook.push_dev_bytes(device.as_bytes());
    }
    let known = CHAIN_TYPES.iter().find(|(t, _)| *t == base.chain_type);
    hook.end_nested()
        .push_policy(match base.policy {
            Policy::Drop => 0,
            Policy::Accept => 1,
        })
        .push_type(known.map_or(c"filter", |(_, word)| *word));
}
