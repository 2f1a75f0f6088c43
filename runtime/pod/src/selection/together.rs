//! What the elements of a selection must not request together.

use std::collections::BTreeMap;

use super::faults::Faults;
use super::{Element, numbered};

/// Adds faults for an interface name (section 4.1.2.1.5) or a default route that two attachments request.
pub(super) fn check(elements: &[Option<Element>], faults: &mut Faults) {
    let mut interfaces = BTreeMap::new();
    let mut routes = BTreeMap::new();
    for (index, element) in elements.iter().enumerate() {
        let Some(element) = element else { continue };
        let own = numbered(index, Some(&element.reference));
        if let Some(name) = &element.interface {
            match interfaces.get(name) {
                Some(other) => faults.fatal(format!(
                    "{own}: interface: `{name}` is already that of {other}"
                )),
                None => drop(interfaces.insert(name.clone(), own.clone())),
            }
        }
        for gateway in element.default_route.iter().flatten() {
            let family = if gateway.is_ipv4() { "IPv4" } else { "IPv6" };
            match routes.get(family) {
                Some(other) => faults.fatal(format!(
                    "{own}: default-route: {gateway}: {other} already has the {family} default route"
                )),
                None => drop(routes.insert(family, own.clone())),
            }
        }
    }
}
