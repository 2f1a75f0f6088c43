//! Capability `sysctl`: from the contract to the gate and the kernel.

use weir_grant::link::LinkReference;
use weir_grant::sysctl;
use weir_kernel::Result;

use super::bindings::weir::cni::sysctl::Host as Contract;
use super::bindings::weir::cni::types::Namespace;
use super::view::View;

impl Contract for View<'_, sysctl::SysctlRule> {
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
        operation.owner = match self.owner_of_made(&operation) {
            // Otherwise the kernel is not asked only to record it.
            None if self.gate().asks_owner_of_parameters() => self.owner(&operation),
            known => known.unwrap_or_default(),
        };
        self.perform(operation)
    }
}

impl View<'_, sysctl::SysctlRule> {
    /// The owner's mark of a link that the invocation made, which is known without the kernel.
    fn owner_of_made(&mut self, write: &sysctl::Write) -> Option<String> {
        let name = write.link()?;
        let known = self.kernel().known_links();
        let link = known.made(write.namespace, &name)?;
        Some(link.facts(write.namespace).owner)
    }

    /// The owner's mark of the link whose parameter is written; empty if there is none.
    fn owner(&mut self, write: &sysctl::Write) -> String {
        let link = write.link().map(LinkReference::Name);
        let found = link.and_then(|link| self.kernel().find_link(write.namespace, &link).ok());
        found.map_or_else(String::new, |link| link.facts(write.namespace).owner)
    }
}
