//! The JSON list format (section 4.1.2): one object for each attachment.

use serde_json::{Map, Value};
use weir_grant::diagnostic::nearest;

use super::faults::{Consequence, Faults};
use super::{Element, MOST_ELEMENTS, capabilities, keys, numbered};
use crate::reference::Reference;

const KEYS: [&str; 11] = [
    "name",
    "namespace",
    "ips",
    "mac",
    "interface",
    "cni-args",
    "portMappings",
    "bandwidth",
    "default-route",
    "infiniband-guid",
    "ipam-claim-reference",
];

/// The elements, in order; none for a faulty one.
pub(super) fn elements(
    text: &str,
    namespace: &str,
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Vec<Option<Element>> {
    let items: Vec<Value> = match serde_json::from_str(text) {
        Ok(items) => items,
        Err(error) => {
            faults.fatal(format!("is not a JSON list: {error}"));
            return Vec::new();
        }
    };
    if items.len() > MOST_ELEMENTS {
        faults.fatal(keys::too_many(items.len()));
        return Vec::new();
    }
    let read = |(index, item)| element(index, item, namespace, faults, notes);
    items.iter().enumerate().map(read).collect()
}

fn element(
    index: usize,
    item: &Value,
    namespace: &str,
    faults: &mut Faults,
    notes: &mut Vec<String>,
) -> Option<Element> {
    let Some(object) = item.as_object() else {
        let found = keys::not("an object with the key name", item);
        faults.fatal(format!("{}: {found}", numbered(index, None)));
        return None;
    };
    let named = reference(object, namespace);
    let mut reader = Reader {
        place: numbered(index, named.as_ref().ok()),
        object,
        faults,
        is_sound: true,
    };
    if let Err(fault) = &named {
        reader.fault(Consequence::PodFails, fault.clone());
    }
    notes.extend(ignored(&reader.place, object));
    // The other keys are checked even without a network.
    let element = reader.element(named.unwrap_or_default());
    reader.is_sound.then_some(element)
}

/// The members of one object, read by their keys.
struct Reader<'a> {
    place: String,
    object: &'a Map<String, Value>,
    faults: &'a mut Faults,
    is_sound: bool,
}

impl Reader<'_> {
    fn element(&mut self, reference: Reference) -> Element {
        use Consequence::{PodFails, SelectionIgnored};
        Element {
            ips: (self.key("ips", SelectionIgnored, keys::ips)).unwrap_or_default(),
            mac: self.key("mac", SelectionIgnored, keys::mac),
            interface: self.interface(),
            cni_args: (self.key("cni-args", PodFails, keys::cni_args)).unwrap_or_default(),
            port_mappings: self.key("portMappings", PodFails, capabilities::port_mappings),
            bandwidth: self.key("bandwidth", PodFails, capabilities::bandwidth),
            default_route: self.key("default-route", PodFails, keys::default_route),
            infiniband_guid: self
                .key("infiniband-guid", PodFails, keys::infiniband_guid)
                .flatten(),
            ipam_claim_reference: self
                .key("ipam-claim-reference", PodFails, keys::claim)
                .flatten(),
            reference,
        }
    }

    /// The value of a key; none if it is missing, null or faulty.
    fn key<T>(
        &mut self,
        key: &str,
        consequence: Consequence,
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.object.get(key).filter(|value| !value.is_null())?;
        match read(value) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(consequence, format!("{key}: {fault}"));
                None
            }
        }
    }

    /// `interface`, whose faults have different consequences.
    fn interface(&mut self) -> Option<String> {
        let name = self.key("interface", Consequence::SelectionIgnored, keys::text)?;
        if let Some((consequence, fault)) = keys::interface_fault(&name) {
            self.fault(consequence, format!("interface: {fault}"));
        }
        Some(name)
    }

    fn fault(&mut self, consequence: Consequence, fault: String) {
        self.is_sound = false;
        let place = &self.place;
        self.faults.add(consequence, format!("{place}: {fault}"));
    }
}

/// `name` and `namespace` (4.1.2.1.1 and 4.1.2.1.2).
fn reference(object: &Map<String, Value>, pod_namespace: &str) -> Result<Reference, String> {
    let given = |key: &str| match object.get(key).filter(|value| !value.is_null()) {
        Some(value) => keys::text(value).map_err(|fault| format!("{key}: {fault}")),
        None => Ok(String::new()),
    };
    let (name, namespace) = (given("name")?, given("namespace")?);
    if name.is_empty() {
        return Err("name: is missing, expected that of a NetworkAttachmentDefinition".to_owned());
    }
    let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
    Reference::new(namespace.unwrap_or(pod_namespace), &name)
}

/// Notes on unknown keys. Those with a period are not the standard's.
fn ignored(place: &str, object: &Map<String, Value>) -> Vec<String> {
    let is_unknown = |key: &&String| !key.contains('.') && !KEYS.contains(&key.as_str());
    let note = |key: &String| {
        let shown = keys::shown(key);
        match meant(key) {
            Some(meant) => {
                format!("{place}: {shown} is not a key and is ignored; did you mean {meant}?")
            }
            None => format!("{place}: {shown} is not a key and is ignored"),
        }
    };
    object.keys().filter(is_unknown).map(note).collect()
}

/// The known key that an unknown one probably means. `interfaceRequest` is an old name of Multus.
fn meant(key: &str) -> Option<&'static str> {
    if key == "interfaceRequest" {
        return Some("interface");
    }
    nearest(&key.replace('_', "-"), &KEYS)
}
