//! Reading back: chains, rules and elements as the kernel describes them.

use netlink_bindings::nftables::{
    ChainAttrs, IterableChainAttrs, IterableSetelemListElemAttrs, PushSetAttrs, RuleAttrs,
    SetAttrs, SetelemListAttrs,
};
use weir_grant::firewall::{BaseChain, Chain, Element, Family, Policy, Rule, Value};

use super::comment;
use super::family::{CHAIN_TYPES, hook_at, protocol_family};
use super::kind::Kind;
use super::object_name;
use super::set::{Schema, malformed};
use crate::error::{Code, Error, Result};
use crate::netlink::NetfilterSocket;

/// `NF_DROP` as a policy.
const DROP: u32 = 0;

/// One table, and the socket to read it with.
pub(super) struct Reader<'a> {
    socket: &'a mut NetfilterSocket,
    pub family: Family,
    /// `NFPROTO_…`
    protocol: u8,
    pub table: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(socket: &'a mut NetfilterSocket, family: Family, table: &'a str) -> Self {
        Self {
            socket,
            family,
            protocol: protocol_family(family),
            table,
        }
    }

    /// Whether the table exists. Without nftables it does not.
    pub(super) fn exists(&mut self) -> Result<bool> {
        let table = self.table;
        let found = self.socket.get(Kind::GetTable, self.protocol, |bytes| {
            object_name::table(bytes, table);
        });
        match found {
            Err(error) if matches!(error.code, Code::Invalid | Code::Unsupported) => Ok(false),
            found => Ok(found?.is_some()),
        }
    }

    /// The table's chains. The kernel lists those of all tables of the family.
    pub(super) fn chains(&mut self) -> Result<Vec<Chain>> {
        let objects = self.socket.dump(Kind::GetChain, self.protocol, |_| {})?;
        let mut chains = Vec::new();
        for object in &objects {
            let attributes = ChainAttrs::new(object);
            let table = attributes.get_table().map_err(malformed)?;
            if table.to_bytes() == self.table.as_bytes() {
                chains.push(self.chain(&attributes)?);
            }
        }
        Ok(chains)
    }

    fn chain(&self, attributes: &IterableChainAttrs<'_>) -> Result<Chain> {
        let name = attributes.get_name().map_err(malformed)?;
        let base = match attributes.get_hook() {
            Ok(_) => Some(self.base_chain(attributes)?),
            Err(_) => None,
        };
        Ok(Chain {
            name: name.to_string_lossy().into_owned(),
            base,
        })
    }

    fn base_chain(&self, attributes: &IterableChainAttrs<'_>) -> Result<BaseChain> {
        let hook = attributes.get_hook().map_err(malformed)?;
        let number = hook.get_num().map_err(malformed)?;
        let word = attributes.get_type().map_err(malformed)?;
        let unknown = |what| Error::unsupported(format!("a base chain of unknown {what}"));
        let known = CHAIN_TYPES.iter().find(|(_, name)| *name == word);
        let (chain_type, _) = known.ok_or_else(|| unknown("type"))?;
        let device = hook
            .get_dev()
            .ok()
            .or_else(|| hook.get_devs().ok()?.get_name().next());
        Ok(BaseChain {
            chain_type: *chain_type,
            hook: hook_at(self.family, number).ok_or_else(|| unknown("hook"))?,
            priority: hook.get_priority().map_err(malformed)?,
            policy: match attributes.get_policy() {
                Ok(DROP) => Policy::Drop,
                _ => Policy::Accept,
            },
            device: device.map(|name| name.to_string_lossy().into_owned()),
        })
    }

    /// Whether the table has a chain of that name.
    pub(super) fn has_chain(&mut self, chain: &str) -> Result<bool> {
        Ok(self.chain_object(chain)?.is_some())
    }

    /// A chain as the kernel describes it.
    pub(super) fn chain_object(&mut self, chain: &str) -> Result<Option<Vec<u8>>> {
        let table = self.table;
        self.socket.get(Kind::GetChain, self.protocol, |bytes| {
            object_name::chain(bytes, table, chain);
        })
    }

    /// Handles and comments of a chain's rules, in order. Errors: `NotFound`.
    pub(super) fn rules(&mut self, chain: &str) -> Result<Vec<Rule>> {
        let objects = self.rule_objects(chain)?;
        if objects.is_empty() && !self.has_chain(chain)? {
            return Err(self.no_such("chain", chain));
        }
        let read = |object: &Vec<u8>| {
            let attributes = RuleAttrs::new(object);
            Ok(Rule {
                chain: chain.to_owned(),
                comment: attributes.get_userdata().ok().and_then(comment::decode),
                handle: Some(attributes.get_handle().map_err(malformed)?),
                ..Rule::default()
            })
        };
        objects.iter().map(read).collect()
    }

    /// A chain's rules as the kernel describes them, in order; none if there is no such chain.
    pub(super) fn rule_objects(&mut self, chain: &str) -> Result<Vec<Vec<u8>>> {
        let table = self.table;
        self.socket.dump(Kind::GetRule, self.protocol, |bytes| {
            object_name::rules(bytes, table, chain);
        })
    }

    /// The names of the table's sets and maps, in no order.
    pub(super) fn sets(&mut self) -> Result<Vec<String>> {
        let table = self.table;
        let objects = self.socket.dump(Kind::GetSet, self.protocol, |bytes| {
            PushSetAttrs::new(bytes).push_table_bytes(table.as_bytes());
        });
        let objects = match objects {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            objects => objects?,
        };
        let name = |object: &Vec<u8>| {
            let name = SetAttrs::new(object).get_name().map_err(malformed)?;
            Ok(name.to_string_lossy().into_owned())
        };
        objects.iter().map(name).collect()
    }

    /// What the elements of a set look like. Errors: `NotFound`.
    pub(super) fn schema(&mut self, set: &str) -> Result<Schema> {
        let table = self.table;
        let found = self.socket.get(Kind::GetSet, self.protocol, |bytes| {
            object_name::set(bytes, table, set);
        })?;
        let object = found.ok_or_else(|| self.no_such("set or map", set))?;
        Schema::read(&SetAttrs::new(&object))
    }

    /// The element with a key; of an interval set, the range that the key is in. Errors:
    /// `NotFound` without the set.
    pub(super) fn element(&mut self, set: &str, key: &[Value]) -> Result<Option<Element>> {
        let schema = self.schema(set)?;
        let Some((first, element)) = self.entry(&schema, set, key, false)? else {
            return Ok(None);
        };
        if !schema.has_end_entries() {
            return Ok(Some(element));
        }
        let behind = self
            .entry(&schema, set, key, true)?
            .map(|(behind, _)| behind);
        schema
            .close_range(&first, element, behind.as_deref())
            .map(Some)
    }

    /// One entry of a set: the one that holds a key, or the one behind it.
    fn entry(
        &mut self,
        schema: &Schema,
        set: &str,
        key: &[Value],
        is_end: bool,
    ) -> Result<Option<(Vec<u8>, Element)>> {
        let entry = schema.entry_of(key, is_end)?;
        let mut request = Vec::new();
        let list = object_name::elements(&mut request, self.table, set).nested_elements();
        schema.push(list, &entry, None).map(drop)?;
        let found = self.socket.get(Kind::GetElements, self.protocol, |bytes| {
            bytes.extend(request);
        })?;
        let Some(object) = found else {
            return Ok(None);
        };
        let mut entries = read_entries(schema, &object)?.into_iter();
        let right = entries.find(|(_, found_end, _)| *found_end == is_end);
        Ok(right.map(|(bytes, _, element)| (bytes, element)))
    }

    /// All elements of a set. Errors: `NotFound`.
    pub(super) fn elements(&mut self, set: &str) -> Result<Vec<Element>> {
        let schema = self.schema(set)?;
        let table = self.table;
        let objects = self
            .socket
            .dump(Kind::GetElements, self.protocol, |bytes| {
                object_name::elements(bytes, table, set);
            })?;
        let mut entries = Vec::new();
        for object in &objects {
            entries.extend(read_entries(&schema, object)?);
        }
        if schema.has_end_entries() {
            return join_ranges(&schema, entries);
        }
        Ok(entries.into_iter().map(|(_, _, element)| element).collect())
    }

    fn no_such(&self, what: &str, name: &str) -> Error {
        let Self { family, table, .. } = self;
        Error::not_found(format!("no {what} `{name}` in table `{family} {table}`"))
    }
}

/// An entry's key, whether it is the one behind a range, and the element.
type Entry = (Vec<u8>, bool, Element);

fn read_entries(schema: &Schema, object: &[u8]) -> Result<Vec<Entry>> {
    let list: IterableSetelemListElemAttrs<'_> = match SetelemListAttrs::new(object).get_elements()
    {
        Ok(list) => list,
        // A set without elements.
        Err(_) => return Ok(Vec::new()),
    };
    list.get_elem()
        .map(|attributes| schema.read_element(&attributes))
        .collect()
}

/// Ranges are stored as two entries each, in no order that could be relied upon.
fn join_ranges(schema: &Schema, mut entries: Vec<Entry>) -> Result<Vec<Element>> {
    // Where one range follows another, the end of the first comes before the start of the second.
    entries.sort_by(|(a, a_end, _), (b, b_end, _)| a.cmp(b).then(b_end.cmp(a_end)));
    let mut elements = Vec::new();
    let mut open: Option<(Vec<u8>, Element)> = None;
    for (bytes, is_end, element) in entries {
        if !is_end {
            open = Some((bytes, element));
        } else if let Some((first, element)) = open.take() {
            elements.push(schema.close_range(&first, element, Some(&bytes))?);
        }
    }
    if let Some((first, element)) = open {
        elements.push(schema.close_range(&first, element, None)?);
    }
    Ok(elements)
}
