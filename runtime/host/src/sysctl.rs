//! Capability `sysctl`: from the contract to the gate and the kernel.

use weir_grant::link::LinkReference;
use weir_grant::sysctl;
use weir_kernel::{Broker, Result};

use super::bindings::weir::cni::sysctl::Host as Contract;
use super::bindings::weir::cni::types::Namespace;

impl Contract for Broker {
    fn read(&mut self, namespace: Namespace, key: String) -> Result<String> {
        self.perform(sysctl::Read {
            namespace: namespace.into(),
            key,
        })
    }

    fn write(&mut self, namespace: Namespace, key: String, value: String) -> Result<()> {
        let mut operation = sysctl::Write {
            namespace: namespace.into(),
            key,
            value,
            owner: String::new(),
        };
        operation.owner = match owner_of_made(self, &operation) {
            // Otherwise the kernel is not asked only to record it.
            None if self.gate().asks_owner_of_parameters() => owner(self, &operation),
            known => known.unwrap_or_default(),
        };
        self.perform(operation)
    }
}

/// The owner's mark of a link that the invocation made, which is known without the kernel.
fn owner_of_made(broker: &mut Broker, write: &sysctl::Write) -> Option<String> {
    let name = write.link()?;
    let known = broker.kernel().known_links();
    let link = known.made(write.namespace, &name)?;
    Some(link.facts(write.namespace).owner)
}

/// The owner's mark of the link whose parameter is written; empty if there is none.
fn owner(broker: &mut Broker, write: &sysctl::Write) -> String {
    let link = write.link().map(LinkReference::Name);
    let found = link.and_then(|link| broker.kernel().find_link(write.namespace, &link).ok());
    found.map_or_else(String::new, |link| link.facts(write.namespace).owner)
}
