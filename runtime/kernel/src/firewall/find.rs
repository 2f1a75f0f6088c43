//! What is in a set already: for the gate.

use weir_grant::firewall::{Apply, Element, Value};

use super::check;
use super::read::Reader;
use crate::error::Result;
use crate::namespace::NetworkNamespace;

/// One element of a set in the table of a transaction, for the gate; none if there is no such set.
pub fn find_element(
    namespace: &mut NetworkNamespace,
    apply: &Apply,
    set: &str,
    key: &[Value],
) -> Result<Option<Element>> {
    check::name(set)?;
    let found = namespace
        .netfilter(|socket| Reader::new(socket, apply.family, &apply.table).element(set, key));
    match found {
        Err(error) if error.is_not_found() => Ok(None),
        found => found,
    }
}
