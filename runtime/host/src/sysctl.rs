//! Capability `sysctl`: from the contract to the gate and the kernel.

use serde_json::{Value, json};
use weir_grant::{self as grant, sysctl};
use weir_kernel::sysctl::shared::{Before, Notes};
use weir_kernel::{self as kernel, Error};

use super::bindings::weir::cni::sysctl::Host as Contract;
use super::bindings::weir::cni::types::{LinkReference, Namespace};
use super::state::Host;

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
        let scope = self.scope(&operation);
        let invocation = self.gate.recorded_as().to_owned();
        let notes = Notes::new(&self.paths, &invocation);
        let value = operation.value.clone();
        let before = self.gate.perform_noting(
            operation.clone(),
            |before: &Before| previous(before.value.as_deref(), &value),
            |permit| {
                let spaces = &mut self.namespaces;
                let value = match scope {
                    Scope::Shared => return notes.replace(spaces, permit),
                    Scope::Container => kernel::sysctl::replace(spaces, permit)?,
                    Scope::Own => kernel::sysctl::write(spaces, permit).map(|()| None)?,
                };
                let is_own = false;
                Ok(Before { value, is_own })
            },
        )?;
        match scope {
            Scope::Own => {}
            Scope::Container => self.note_write(operation, before.value),
            Scope::Shared => self.note_shared_write(operation, before),
        }
        Ok(())
    }
}

/// Whose a parameter is that is written.
enum Scope {
    /// It goes with a link that this invocation has made, or is not given back.
    Own,
    /// The container's.
    Container,
    /// The host's, which others may rely on.
    Shared,
}

fn previous(before: Option<&str>, value: &str) -> Option<Value> {
    let before = before.filter(|before| *before != value)?;
    Some(json!({ "value": before }))
}

impl Host {
    fn scope(&self, write: &sysctl::Write) -> Scope {
        match write.namespace {
            _ if self.is_of_made_link(write) => Scope::Own,
            grant::Namespace::Container => Scope::Container,
            // What DEL and CHECK write is not undone.
            grant::Namespace::Host if self.gate.is_add() => Scope::Shared,
            grant::Namespace::Host => Scope::Own,
        }
    }

    /// Whose the link is whose parameter is written, where a rule asks.
    fn owner_of_parameter(&mut self, namespace: Namespace, write: &sysctl::Write) -> String {
        let name = write
            .link()
            .filter(|_| self.gate.asks_owner_of_parameters());
        let link = name.map(LinkReference::Name);
        let found = link.and_then(|link| self.find(namespace, &link).ok());
        found.map_or_else(String::new, |link| link.facts(namespace.into()).owner)
    }
}
