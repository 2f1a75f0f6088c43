//! Capability `sysctl`: from the contract to the gate and the kernel.

use super::bindings::weir::cni::sysctl::Host as Contract;
use super::bindings::weir::cni::types::{LinkReference, Namespace};
use super::state::Host;
use crate::grant::sysctl;
use crate::kernel::{self, Error};

impl Contract for Host {
    fn read(&mut self, namespace: Namespace, key: String) -> Result<String, Error> {
        let operation = sysctl::Read {
            namespace: namespace.into(),
            key,
        };
        self.gate.perform(operation, |permit| {
            kernel::sysctl::read(&mut self.namespaces, permit)
        })
    }

    fn write(&mut self, namespace: Namespace, key: String, value: String) -> Result<(), Error> {
        let mut operation = sysctl::Write {
            namespace: namespace.into(),
            key,
            value,
            owner: String::new(),
        };
        operation.owner = self.owner_of_parameter(namespace, &operation);
        if !self.is_parameter_put_back(&operation) {
            return self.gate.perform(operation, |permit| {
                kernel::sysctl::write(&mut self.namespaces, permit)
            });
        }
        let before = self.gate.perform(operation.clone(), |permit| {
            kernel::sysctl::replace(&mut self.namespaces, permit)
        })?;
        self.note_write(operation, before);
        Ok(())
    }
}

impl Host {
    /// Whose the link is whose parameter is written, where a rule asks.
    fn owner_of_parameter(&mut self, namespace: Namespace, write: &sysctl::Write) -> String {
        let name = write
            .link()
            .filter(|_| self.gate.asks_owner_of_parameters());
        let link = name.map(LinkReference::Name);
        let found = link.and_then(|link| self.find(namespace, &link).ok().cloned());
        found.map_or_else(String::new, |link| link.facts(namespace.into()).owner)
    }
}
