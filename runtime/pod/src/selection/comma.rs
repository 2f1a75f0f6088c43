//! The comma-delimited format: `[namespace/]name[@interface]`, separated by commas (section 4.1.1).

use super::faults::Faults;
use super::{Element, MOST_ELEMENTS, keys, numbered};
use crate::reference::Reference;

const EXPECTED: &str = "expected [namespace/]name[@interface]";

/// The elements, in order; none for a faulty one. White space around each part is ignored.
pub(super) fn elements(text: &str, namespace: &str, faults: &mut Faults) -> Vec<Option<Element>> {
    let items: Vec<&str> = text.split(',').map(str::trim).collect();
    if items.len() > MOST_ELEMENTS {
        faults.fatal(keys::too_many(items.len()));
        return Vec::new();
    }
    let read = |(index, item)| element(index, item, namespace, faults);
    items.into_iter().enumerate().map(read).collect()
}

fn element(index: usize, item: &str, namespace: &str, faults: &mut Faults) -> Option<Element> {
    let (reference, interface) = match parts(item, namespace) {
        Ok(parts) => parts,
        Err(fault) => {
            faults.fatal(format!("{}: {fault}", numbered(index, None)));
            return None;
        }
    };
    let fault = interface.and_then(keys::interface_fault);
    if let Some((consequence, fault)) = fault {
        let numbered = numbered(index, Some(&reference));
        faults.add(consequence, format!("{numbered}: interface: {fault}"));
        return None;
    }
    let mut element = Element::of(reference);
    element.interface = interface.map(str::to_owned);
    Some(element)
}

/// The network, and the interface where one is named.
fn parts<'i>(item: &'i str, namespace: &str) -> Result<(Reference, Option<&'i str>), String> {
    if item.is_empty() {
        return Err(format!("is empty, {EXPECTED}"));
    }
    if item.matches('/').count() > 1 || item.matches('@').count() > 1 {
        return Err(format!("{}: {EXPECTED}", keys::shown(item)));
    }
    let (network, interface) = match item.split_once('@') {
        Some((network, interface)) => (network.trim(), Some(interface.trim())),
        None => (item, None),
    };
    let (namespace, name) = match network.split_once('/') {
        Some((namespace, name)) => (namespace.trim(), name.trim()),
        None => (namespace, network),
    };
    let reference = Reference::new(namespace, name).map_err(|fault| {
        if item.contains('"') {
            format!("{fault}; a selection in JSON is a list and begins with `[`")
        } else {
            fault
        }
    })?;
    Ok((reference, interface))
}
