//! What a rule of iptables says, as iptables-nft writes it for nftables.

use std::net::IpAddr;

use netlink_bindings::utils::{IterableChunks, find_attr};

use super::super::rule::octets;

/// `NFTA_EXPR_NAME`, `NFTA_EXPR_DATA`.
const NAME: u16 = 1;
const DATA: u16 = 2;

/// `NF_ACCEPT`, `NFT_JUMP`, `NFT_GOTO`.
const ACCEPT: i32 = 1;
const JUMP: i32 = -3;
const GOTO: i32 = -4;

/// `NFT_PAYLOAD_NETWORK_HEADER`, `NFT_CMP_EQ`.
const NETWORK_HEADER: u32 = 1;
const EQUAL: u32 = 0;

/// The match of iptables for replies.
const STATE: &str = "conntrack";

/// One expression: its name, and its attributes.
struct Expression<'a> {
    name: &'a str,
    data: &'a [u8],
}

/// A rule's expressions, as the kernel lists them.
fn expressions(list: &[u8]) -> impl Iterator<Item = Expression<'_>> {
    IterableChunks::new(list).filter_map(|(_, element)| {
        let name = find_attr(element, NAME)?;
        let name = name.strip_suffix(&[0]).unwrap_or(name);
        Some(Expression {
            name: std::str::from_utf8(name).ok()?,
            data: find_attr(element, DATA).unwrap_or_default(),
        })
    })
}

/// The chain that a rule goes to.
pub(super) fn target(list: &[u8]) -> Option<&str> {
    expressions(list).find_map(|expression| {
        let (code, chain) = verdict(&expression)?;
        chain.filter(|_| [JUMP, GOTO].contains(&code))
    })
}

/// The verdict of an immediate expression.
fn verdict<'a>(expression: &Expression<'a>) -> Option<(i32, Option<&'a str>)> {
    if expression.name != "immediate" {
        return None;
    }
    // `NFTA_IMMEDIATE_DATA`, `NFTA_DATA_VERDICT`, `NFTA_VERDICT_CODE`, `NFTA_VERDICT_CHAIN`.
    let verdict = find_attr(find_attr(expression.data, 2)?, 2)?;
    let chain = find_attr(verdict, 2);
    let chain = chain.map(|name| name.strip_suffix(&[0]).unwrap_or(name));
    let code = i32::from_be_bytes(*find_attr(verdict, 1)?.first_chunk()?);
    Some((code, chain.and_then(|name| std::str::from_utf8(name).ok())))
}

/// Whether a rule accepts packets from an address, or replies to it, and nothing else.
pub(super) fn accepts(list: &[u8], address: IpAddr) -> bool {
    let all: Vec<Expression<'_>> = expressions(list).collect();
    let [payload, compare, rest @ .., last] = &all[..] else {
        return false;
    };
    let names: Vec<&str> = rest
        .iter()
        .map(|expression| expression.name)
        .filter(|name| *name != "counter")
        .collect();
    let bytes = octets(address);
    let source = if bytes.len() == 4 { 12 } else { 8 };
    let destination = source + bytes.len() as u32;
    let is_answer = match names[..] {
        [] => false,
        // `-m conntrack`, and what newer versions write for it.
        ["match"] => is_match(rest),
        ["ct", "bitwise", "cmp"] => true,
        _ => return false,
    };
    let offset = if is_answer { destination } else { source };
    let is_whole = is_answer || names.is_empty();
    is_whole
        && is_load(payload, offset, bytes.len() as u32)
        && is_equal(compare, &bytes)
        && verdict(last) == Some((ACCEPT, None))
}

fn is_match(expressions: &[Expression<'_>]) -> bool {
    let mut matches = expressions.iter().filter(|e| e.name == "match");
    let name = |e: &Expression<'_>| find_attr(e.data, NAME).map(<[u8]>::to_vec);
    matches.all(|e| name(e).is_some_and(|name| name.strip_suffix(&[0]) == Some(STATE.as_bytes())))
}

fn is_load(expression: &Expression<'_>, offset: u32, length: u32) -> bool {
    // `NFTA_PAYLOAD_BASE`, `NFTA_PAYLOAD_OFFSET`, `NFTA_PAYLOAD_LEN`.
    let [base, at, len] = [2, 3, 4].map(|attribute| number(expression.data, attribute));
    expression.name == "payload"
        && (base, at, len) == (Some(NETWORK_HEADER), Some(offset), Some(length))
}

fn is_equal(expression: &Expression<'_>, bytes: &[u8]) -> bool {
    // `NFTA_CMP_OP`, `NFTA_CMP_DATA`, `NFTA_DATA_VALUE`.
    let value = find_attr(expression.data, 3).and_then(|data| find_attr(data, 1));
    expression.name == "cmp" && number(expression.data, 2) == Some(EQUAL) && value == Some(bytes)
}

fn number(attributes: &[u8], attribute: u16) -> Option<u32> {
    let bytes = find_attr(attributes, attribute)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}
