//! The attributes by which a message names what it is about.

use netlink_bindings::nftables::{
    PushChainAttrs, PushRuleAttrs, PushSetAttrs, PushSetelemListAttrs, PushTableAttrs,
};

/// A message's bytes.
type Bytes<'b> = &'b mut Vec<u8>;

/// Names a table.
pub(crate) fn table(bytes: &mut Vec<u8>, table: &str) {
    PushTableAttrs::new(bytes).push_name_bytes(table.as_bytes());
}

/// Names a chain of a table.
pub(super) fn chain<'b>(bytes: Bytes<'b>, table: &str, chain: &str) -> PushChainAttrs<Bytes<'b>> {
    let attributes = PushChainAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_name_bytes(chain.as_bytes())
}

/// Names the chain of rules.
pub(super) fn rules<'b>(bytes: Bytes<'b>, table: &str, chain: &str) -> PushRuleAttrs<Bytes<'b>> {
    let attributes = PushRuleAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_chain_bytes(chain.as_bytes())
}

/// Names a set of a table.
pub(super) fn set<'b>(bytes: Bytes<'b>, table: &str, set: &str) -> PushSetAttrs<Bytes<'b>> {
    let attributes = PushSetAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_name_bytes(set.as_bytes())
}

/// Names the set of elements.
pub(crate) fn elements<'b>(
    bytes: Bytes<'b>,
    table: &str,
    set: &str,
) -> PushSetelemListAttrs<Bytes<'b>> {
    let attributes = PushSetelemListAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_set_bytes(set.as_bytes())
}
