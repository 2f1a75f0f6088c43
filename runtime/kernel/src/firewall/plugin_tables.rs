//! The tables of weir's plugins, which `weir uninstall` reads and removes once they are empty.

use netlink_bindings::nftables::TableAttrs;
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::firewall::{Apply, Command, Element, Family, Policy};

use super::family::protocol_family;
use super::keep_rules::{generation, until_unchanged};
use super::kind::Kind;
use super::read::Reader;
use super::set::malformed;
use super::transaction;
use crate::error::{Code, Error, Result};
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::netlink::NetfilterSocket;

/// What the names of the tables begin with; the plugin's name comes behind it.
const PREFIX: &str = "weir_";

/// A plugin's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnTable {
    pub family: Family,
    /// `weir_<plugin>`.
    pub name: String,
}

impl OwnTable {
    fn reader<'a>(&'a self, socket: &'a mut NetfilterSocket) -> Reader<'a> {
        Reader::new(socket, self.family, &self.name)
    }

    /// Whose it is.
    pub fn plugin(&self) -> &str {
        self.name.strip_prefix(PREFIX).unwrap_or(&self.name)
    }
}

/// An element that is an attachment's.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnElement {
    pub table: OwnTable,
    pub set: String,
    pub element: Element,
    /// Whose it is.
    pub mark: String,
}

/// Returns the tables of weir's plugins on the host. A kernel without nftables has none.
pub fn own_tables(host: &mut NetworkNamespace) -> Result<Vec<OwnTable>> {
    host.netfilter(|socket| {
        let mut tables = Vec::new();
        for family in Family::ALL.iter().copied() {
            let names = match names(socket, family) {
                Err(error) if matches!(error.code, Code::Invalid | Code::Unsupported) => continue,
                names => names?,
            };
            let own = names.into_iter().filter(|name| name.starts_with(PREFIX));
            tables.extend(own.map(|name| OwnTable { family, name }));
        }
        Ok(tables)
    })
}

fn names(socket: &mut NetfilterSocket, family: Family) -> Result<Vec<String>> {
    let objects = socket.dump(Kind::GetTable, protocol_family(family), |_| {})?;
    let name = |object: &Vec<u8>| {
        let name = TableAttrs::new(object).get_name().map_err(malformed)?;
        Ok(name.to_string_lossy().into_owned())
    };
    objects.iter().map(name).collect()
}

/// Returns the elements in a table that have an owner, in no order.
pub fn own_elements(host: &mut NetworkNamespace, table: &OwnTable) -> Result<Vec<OwnElement>> {
    host.netfilter(|socket| elements(socket, table))
}

fn elements(socket: &mut NetfilterSocket, table: &OwnTable) -> Result<Vec<OwnElement>> {
    let mut found = Vec::new();
    for set in table.reader(socket).sets()? {
        let elements = match table.reader(socket).elements(&set) {
            // It has just been removed.
            Err(error) if error.is_not_found() => continue,
            elements => elements?,
        };
        let owned = elements.into_iter().filter_map(|element| {
            Some(OwnElement {
                table: table.clone(),
                set: set.clone(),
                mark: element.comment.clone()?,
                element,
            })
        });
        found.extend(owned);
    }
    Ok(found)
}

/// Returns the chains of a table with rules of others: a rule without a comment, which all of weir's have, any rule of
/// a chain that is the administrator's, or the policy to drop.
pub fn administrators(
    host: &mut NetworkNamespace,
    table: &OwnTable,
    is_administrators: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
    host.netfilter(|socket| {
        let mut found = Vec::new();
        for chain in table.reader(socket).chains()? {
            let drops = chain
                .base
                .as_ref()
                .is_some_and(|base| base.policy == Policy::Drop);
            let rules = table.reader(socket).rules(&chain.name)?;
            let mut rules = rules.iter();
            if drops || rules.any(|rule| rule.comment.is_none() || is_administrators(&chain.name)) {
                found.push(chain.name);
            }
        }
        Ok(found)
    })
}

impl Linux {
    /// Removes a table with its chains, rules and sets while no element in it is an attachment's. Whether it did.
    ///
    /// Errors: `Invalid` for a permit for something else; `Busy` if the ruleset keeps changing.
    pub fn remove_unused_table(&mut self, permit: &Permit<Apply>) -> Result<bool> {
        let apply = permit.operation();
        if apply.commands != [Command::DeleteTable] {
            return Err(Error::invalid("the permit is not for deleting a table"));
        }
        let table = OwnTable {
            family: apply.family,
            name: apply.table.clone(),
        };
        self.namespaces.of(apply.namespace)?.netfilter(|socket| {
            until_unchanged(|| {
                let generation = generation(socket)?;
                if !elements(socket, &table)?.is_empty() {
                    return Ok(Some(false));
                }
                match transaction::attempt(socket, apply, Some(generation)) {
                    Err(error) if error.is(Errno::ENOENT) => Ok(Some(true)),
                    done => Ok(done?.map(|_| true)),
                }
            })
        })
    }
}
