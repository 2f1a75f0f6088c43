//! The attributes by which a message names what it is about.

use netlink_bindings::nftables::{
    PushChainAttrs, PushRuleAttrs, PushSetAttrs, PushSetelemListAttrs, PushTableAttrs,
};

/// Names a table.
pub(crate) fn table(bytes: &mut Vec<u8>, table: &str) {
    PushTableAttrs::new(bytes).push_name_bytes(table.as_bytes());
}

/// Names a chain of a table.
pub(super) fn chain<'b>(
    bytes: &'b mut Vec<u8>,
    table: &str,
    chain: &str,
) -> PushChainAttrs<&'b mut Vec<u8>> {
    let attributes = PushChainAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_name_bytes(chain.as_bytes())
}

/// Names the chain of rules.
pub(super) fn rules<'b>(
    bytes: &'b mut Vec<u8>,
    table: &str,
    chain: &str,
) -> PushRuleAttrs<&'b mut Vec<u8>> {
    let attributes = PushRuleAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_chain_bytes(chain.as_bytes())
}

/// Names a set of a table.
pub(super) fn set<'b>(
    bytes: &'b mut Vec<u8>,
    table: &str,
    set: &str,
) -> PushSetAttrs<&'b mut Vec<u8>> {
    let attributes = PushSetAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_name_bytes(set.as_bytes())
}

/// Names the set of elements.
pub(crate) fn elements<'b>(
    bytes: &'b mut Vec<u8>,
    table: &str,
    set: &str,
) -> PushSetelemListAttrs<&'b mut Vec<u8>> {
    let attributes = PushSetelemListAttrs::new(bytes).push_table_bytes(table.as_bytes());
    attributes.push_set_bytes(set.as_bytes())
}
