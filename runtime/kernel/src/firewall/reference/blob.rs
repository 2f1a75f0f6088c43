//! One of the kernel's older tables as bytes: rules one after the other, in chains one after the other. A rule that
//! jumps to a chain has the offset of its first rule, which changes when rules before it are removed.
//!
//! ```text
//! struct ipt_entry { addresses and links; …; target_offset; next_offset; …; matches }, struct xt_entry_target, data
//! ```
//!
//! A user's chain begins with an entry whose target is `ERROR` and has the chain's name.

use std::net::IpAddr;

use nix::libc;
use nix::sys::socket::AddressFamily;

use super::super::rule::octets;
use super::traces::{ACCEPTING, Traces};
use crate::error::{Error, Result};

/// `XT_STANDARD_TARGET` has no name, `XT_ERROR_TARGET` has this one.
const ERROR: &str = "ERROR";

/// `-NF_ACCEPT - 1`.
const ACCEPT: i32 = -2;

/// The match of iptables for replies.
const STATE: &str = "conntrack";

/// The bytes of `struct xt_entry_target` and `struct xt_entry_match`: size, name, revision.
const HEADER: usize = 32;

/// The chains of the kernel's own, by the number of the hook.
const HOOKS: [&str; 5] = ["PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"];

/// What differs between the tables of the two families.
#[derive(Debug, PartialEq)]
pub(super) struct Family {
    /// The program that writes them.
    pub program: &'static str,
    /// The file that has their names, a line for each.
    pub names: &'static str,
    pub domain: AddressFamily,
    pub level: i32,
    /// The bytes of an address.
    address: usize,
    /// The bytes of `struct ipt_ip` and `struct ip6t_ip6`: what a rule asks of addresses, links and protocol.
    conditions: usize,
    /// The bytes of `struct ipt_entry` and `struct ip6t_entry`, behind which matches begin.
    entry: usize,
}

pub(super) static FAMILIES: [Family; 2] = [
    Family {
        program: "iptables",
        names: "/proc/thread-self/net/ip_tables_names",
        domain: AddressFamily::Inet,
        level: libc::SOL_IP,
        address: 4,
        conditions: 84,
        entry: 112,
    },
    Family {
        program: "ip6tables",
        names: "/proc/thread-self/net/ip6_tables_names",
        domain: AddressFamily::Inet6,
        level: libc::SOL_IPV6,
        address: 16,
        conditions: 136,
        entry: 168,
    },
];

impl Family {
    /// Where `target_offset` and `next_offset` stand.
    fn offsets(&self) -> usize {
        self.conditions + 4
    }
}

/// A table of the kernel's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    family: &'static Family,
    name: [u8; 32],
    valid_hooks: u32,
    hook_entry: [u32; 5],
    underflow: [u32; 5],
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// One rule, or the beginning of a chain.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    start: usize,
    length: usize,
    /// Where in the entry its target begins.
    target: usize,
    /// The chain that it is in.
    chain: String,
    /// It begins its chain, and is not a rule.
    is_head: bool,
}

/// A table without some of its rules.
pub(super) struct Less {
    pub table: Table,
    /// How many rules and chains were removed.
    pub removed: u32,
    /// The numbers of the entries that are still there.
    pub kept: Vec<usize>,
}

impl Table {
    /// The bytes of `struct ipt_getinfo`: name, hooks, entries and underflows of each hook, number and size of entries.
    pub(super) const INFO: usize = 84;

    /// The bytes of all entries, as `struct ipt_getinfo` has it.
    pub(super) fn size_in(info: &[u8]) -> usize {
        word(info, 80) as usize
    }

    /// Reads the entries. Errors: `Failed` where they do not make sense.
    pub(super) fn parse(family: &'static Family, info: &[u8], bytes: Vec<u8>) -> Result<Self> {
        let mut table = Self {
            family,
            name: [0; 32],
            valid_hooks: word(info, 32),
            hook_entry: std::array::from_fn(|hook| word(info, 36 + 4 * hook)),
            underflow: std::array::from_fn(|hook| word(info, 56 + 4 * hook)),
            bytes,
            entries: Vec::new(),
        };
        table.name.copy_from_slice(&info[..32]);
        table.entries = table
            .read_entries()
            .ok_or_else(|| Error::failed("the kernel's answer cannot be read"))?;
        Ok(table)
    }

    fn read_entries(&self) -> Option<Vec<Entry>> {
        let mut entries = Vec::new();
        let (mut start, mut chain) = (0, String::new());
        while start < self.bytes.len() {
            let entry = self.bytes.get(start..start + self.family.entry)?;
            let target = usize::from(short(entry, self.family.offsets()));
            let length = usize::from(short(entry, self.family.offsets() + 2));
            let whole = self.bytes.get(start..start + length)?;
            if target < self.family.entry || target + HEADER > length {
                return None;
            }
            let is_head = text(&whole[target + 2..target + HEADER - 1]) == ERROR;
            if is_head {
                chain = text(&whole[target + HEADER..]).to_owned();
            } else if let Some(hook) = self.hook_at(start) {
                chain = HOOKS[hook].to_owned();
            }
            entries.push(Entry {
                start,
                length,
                target,
                chain: chain.clone(),
                is_head,
            });
            start += length;
        }
        Some(entries)
    }

    fn hook_at(&self, start: usize) -> Option<usize> {
        (0..HOOKS.len()).find(|hook| {
            self.valid_hooks & (1 << hook) != 0 && self.hook_entry[*hook] as usize == start
        })
    }

    /// How many entries it has.
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    /// The table without the rules of an attachment; none if it has none. Errors: `Busy` if a rule of others leads to a
    /// chain to remove.
    pub(super) fn without(&self, traces: &Traces) -> Result<Option<Less>> {
        let is_gone: Vec<bool> = self.entries.iter().map(|e| self.is_of(e, traces)).collect();
        if !is_gone.contains(&true) {
            return Ok(None);
        }
        let all = || self.entries.iter().zip(&is_gone);
        let heads = all().filter(|(entry, gone)| **gone && entry.is_head);
        let chains: Vec<&String> = heads.map(|(entry, _)| &entry.chain).collect();
        for (entry, _) in all().filter(|(_, gone)| !**gone) {
            if self.led_to(entry).is_some_and(|to| chains.contains(&to)) {
                return Err(Error::busy(format!(
                    "a rule of chain `{}` leads there",
                    entry.chain
                )));
            }
        }
        let own_chain = |e: &Entry| traces.chains.iter().any(|chain| chain.name == e.chain);
        // A chain counts once, as what is removed from others does.
        let counted = all().filter(|(e, gone)| **gone && (e.is_head || !own_chain(e)));
        let kept = all().enumerate().filter(|(_, (_, gone))| !**gone);
        Ok(Some(Less {
            removed: counted.count() as u32,
            kept: kept.map(|(at, _)| at).collect(),
            table: self.only(&is_gone),
        }))
    }

    /// Whether an entry is an attachment's.
    fn is_of(&self, entry: &Entry, traces: &Traces) -> bool {
        let is_chain = |chain: &super::traces::Chain| {
            let leads_there = self.led_to(entry) == Some(&chain.name);
            entry.chain == chain.name || (entry.chain == chain.entered_from && leads_there)
        };
        traces.chains.iter().any(is_chain)
            || (entry.chain == ACCEPTING && traces.accepted.iter().any(|a| self.accepts(entry, *a)))
    }

    fn bytes_of(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..entry.start + entry.length]
    }

    /// The verdict of a rule: below zero one of the kernel's, else the place of a chain's first rule.
    fn verdict(&self, entry: &Entry) -> Option<i32> {
        let target = &self.bytes_of(entry)[entry.target..];
        let is_standard = text(&target[2..HEADER - 1]).is_empty();
        let verdict = target.get(HEADER..)?.first_chunk()?;
        is_standard.then(|| i32::from_ne_bytes(*verdict))
    }

    /// The chain that a rule leads to.
    fn led_to(&self, entry: &Entry) -> Option<&String> {
        let place = usize::try_from(self.verdict(entry)?).ok()?;
        let first = self.entries.binary_search_by_key(&place, |e| e.start);
        Some(&self.entries[first.ok()?].chain)
    }

    /// Whether a rule accepts packets from an address, or replies to it, and nothing else.
    fn accepts(&self, entry: &Entry, address: IpAddr) -> bool {
        let bytes = octets(address);
        let length = self.family.address;
        if entry.is_head || bytes.len() != length || self.verdict(entry) != Some(ACCEPT) {
            return false;
        }
        let whole = self.bytes_of(entry);
        let (addresses, rest) = whole[..self.family.conditions].split_at(4 * length);
        let [source, destination, source_mask, destination_mask] =
            std::array::from_fn(|at| &addresses[at * length..(at + 1) * length]);
        let (nothing, all) = (vec![0; length], vec![0xff; length]);
        let is_from = source == bytes && source_mask == all && destination_mask == nothing;
        let is_to = destination == bytes && destination_mask == all && source_mask == nothing;
        let matches = &whole[self.family.entry..entry.target];
        let says_nothing_else = rest.iter().all(|byte| *byte == 0);
        says_nothing_else && ((is_from && matches.is_empty()) || (is_to && is_state(matches)))
    }

    /// The entries that are not gone, each at its new place.
    fn only(&self, is_gone: &[bool]) -> Table {
        let gone = self.entries.iter().zip(is_gone);
        let gone: Vec<&Entry> = gone.filter(|(_, gone)| **gone).map(|(e, _)| e).collect();
        let place = |old: usize| {
            let before = gone.iter().filter(|e| e.start < old);
            old - before.map(|e| e.length).sum::<usize>()
        };
        let mut table = Table {
            hook_entry: self.hook_entry.map(|old| place(old as usize) as u32),
            underflow: self.underflow.map(|old| place(old as usize) as u32),
            bytes: Vec::with_capacity(self.bytes.len()),
            entries: Vec::new(),
            ..self.clone()
        };
        for (entry, _) in self.entries.iter().zip(is_gone).filter(|(_, gone)| !**gone) {
            let start = table.bytes.len();
            table.bytes.extend(self.bytes_of(entry));
            if let Some(chain) = self.verdict(entry).and_then(|v| usize::try_from(v).ok()) {
                let verdict = start + entry.target + HEADER;
                let moved = (place(chain) as i32).to_ne_bytes();
                table.bytes[verdict..verdict + 4].copy_from_slice(&moved);
            }
            table.entries.push(Entry {
                start,
                ..entry.clone()
            });
        }
        table
    }

    /// `struct ipt_replace`, with the address of where the kernel puts the counters of the table before.
    pub(super) fn replacement(&self, counters: usize, address: usize) -> Vec<u8> {
        let mut message = self.name.to_vec();
        let count = self.entries.len();
        for number in [self.valid_hooks, count as u32, self.bytes.len() as u32] {
            message.extend(number.to_ne_bytes());
        }
        for number in self.hook_entry.iter().chain(&self.underflow) {
            message.extend(number.to_ne_bytes());
        }
        message.extend((counters as u32).to_ne_bytes());
        message.resize(message.len().next_multiple_of(size_of::<usize>()), 0);
        message.extend(address.to_ne_bytes());
        message.resize(message.len().next_multiple_of(8), 0);
        message.extend(&self.bytes);
        message
    }
}

/// Whether the matches are the one for replies.
fn is_state(matches: &[u8]) -> bool {
    matches.len() >= HEADER
        && usize::from(short(matches, 0)) == matches.len()
        && text(&matches[2..HEADER - 1]) == STATE
}

/// What stands before the first zero byte.
fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|byte| *byte == 0);
    std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]).unwrap_or_default()
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::super::traces::Chain;
    use super::*;
    use crate::error::Code;

    /// An entry of the family IPv4 with a target of this name.
    fn entry(source: [u8; 4], target: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; FAMILIES[0].entry];
        bytes[..4].copy_from_slice(&source);
        bytes[8..12].copy_from_slice(&if source == [0; 4] { [0; 4] } else { [0xff; 4] });
        let length = bytes.len() + HEADER + data.len();
        let at = FAMILIES[0].offsets();
        let start = bytes.len() as u16;
        bytes[at..at + 2].copy_from_slice(&start.to_ne_bytes());
        bytes[at + 2..at + 4].copy_from_slice(&(length as u16).to_ne_bytes());
        let mut header = vec![0; HEADER];
        header[2..2 + target.len()].copy_from_slice(target.as_bytes());
        bytes.extend(header);
        bytes.extend(data);
        bytes
    }

    fn rule(source: [u8; 4], verdict: i32) -> Vec<u8> {
        let mut data = verdict.to_ne_bytes().to_vec();
        data.extend([0; 4]);
        entry(source, "", &data)
    }

    fn head(name: &str) -> Vec<u8> {
        let mut data = vec![0; 32];
        data[..name.len()].copy_from_slice(name.as_bytes());
        entry([0; 4], ERROR, &data)
    }

    const RULE: i32 = 152;
    const HEAD: i32 = 176;

    /// `POSTROUTING`, which jumps to `CNI-A` and `CNI-B`, and these.
    fn table() -> Table {
        let first_of_a = 3 * RULE + HEAD;
        let first_of_b = first_of_a + RULE + HEAD;
        let entries = [
            rule([10, 0, 0, 1], first_of_a),
            rule([10, 0, 0, 2], first_of_b),
            rule([0; 4], ACCEPT),
            head("CNI-A"),
            rule([0; 4], -5),
            head("CNI-B"),
            rule([0; 4], -5),
            head(ERROR),
        ];
        let mut info = vec![0; Table::INFO];
        info[..3].copy_from_slice(b"nat");
        info[32..36].copy_from_slice(&(1_u32 << 4).to_ne_bytes());
        info[72..76].copy_from_slice(&(2 * RULE as u32).to_ne_bytes());
        Table::parse(&FAMILIES[0], &info, entries.concat()).expect("a table")
    }

    fn traces(chain: &str) -> Traces {
        Traces {
            chains: vec![Chain {
                name: chain.to_owned(),
                entered_from: "POSTROUTING",
            }],
            ..Traces::default()
        }
    }

    #[test]
    fn what_leads_to_other_chains_still_does() {
        let less = table()
            .without(&traces("CNI-A"))
            .expect("no error")
            .expect("less");
        assert_eq!((less.removed, less.kept), (2, vec![1, 2, 5, 6, 7]));
        assert_eq!(less.table.underflow[4], RULE as u32);
        let chains: Vec<&str> = less.table.entries.iter().map(|e| &*e.chain).collect();
        assert_eq!(
            chains,
            ["POSTROUTING", "POSTROUTING", "CNI-B", "CNI-B", ERROR]
        );
        let first = &less.table.entries[0];
        assert_eq!(less.table.led_to(first).expect("a chain"), "CNI-B");
        // The kernel reads it in the same way.
        let again = less
            .table
            .without(&traces("CNI-B"))
            .expect("no error")
            .expect("less");
        assert_eq!(again.removed, 2);
        assert!(
            again
                .table
                .without(&traces("CNI-B"))
                .expect("no error")
                .is_none()
        );
    }

    #[test]
    fn a_chain_to_which_others_lead_stays() {
        let mut traces = traces("CNI-A");
        traces.chains[0].entered_from = "elsewhere";
        let error = table().without(&traces).err().expect("busy");
        assert_eq!(error.code, Code::Busy);
    }

    #[test]
    fn accepts_are_of_one_address() {
        let info = vec![0; Table::INFO];
        let entries = [
            head(ACCEPTING),
            rule([10, 0, 0, 1], ACCEPT),
            rule([10, 0, 0, 2], ACCEPT),
        ];
        let table = Table::parse(&FAMILIES[0], &info, entries.concat()).expect("a table");
        let of = |last: u8| Traces {
            accepted: vec![[10, 0, 0, last].into()],
            ..Traces::default()
        };
        let less = table.without(&of(2)).expect("no error").expect("less");
        assert_eq!((less.removed, less.kept), (1, vec![0, 1]));
        assert!(table.without(&of(3)).expect("no error").is_none());
    }

    /// Malformed answers must not cause a panic.
    #[test]
    fn no_bytes_make_it_panic() {
        let mut random = 1_u64;
        let mut next = || {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 40) as u16
        };
        let whole = table().bytes;
        for _ in 0..20_000 {
            let mut bytes = whole[..usize::from(next()) % whole.len()].to_vec();
            for _ in 0..next() % 4 {
                let at = usize::from(next()) % bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = next() as u8;
                }
            }
            let info = vec![next() as u8; Table::INFO];
            if let Ok(table) = Table::parse(&FAMILIES[0], &info, bytes) {
                let _ = table.without(&traces("CNI-A"));
            }
        }
    }
}
