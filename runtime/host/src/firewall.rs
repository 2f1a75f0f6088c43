//! Capability `firewall`: from the contract to the gate and the kernel.

use std::net::IpAddr;

use weir_cni::AddResult;
use weir_grant::link::LinkReference;
use weir_grant::{Namespace, firewall};
use weir_kernel::Result;

use super::bindings::weir::cni::firewall::{self as contract, Host as Contract};
use super::bindings::weir::cni::types;
use super::convert::each;
use super::firewall_convert::all;
use super::view::View;

/// The part of an invocation that the capability needs.
pub(crate) struct FirewallView<'a> {
    pub view: View<'a, firewall::FirewallRule>,
    pub plugin: &'a str,
    /// The network's name in its configuration.
    pub network: &'a str,
    /// The result of ADD, for the commands after it.
    pub previous: Option<&'a AddResult>,
}

impl Contract for FirewallView<'_> {
    fn apply(
        &mut self,
        namespace: types::Namespace,
        family: contract::Family,
        commands: Vec<contract::Command>,
    ) -> Result<()> {
        let mut operation = firewall::Apply {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            commands: all(commands)?,
            only_empty: false,
            listening: Vec::new(),
            removed: Vec::new(),
        };
        if self.view.gate().asks_about_elements() {
            self.look_at_elements(&mut operation)?;
        }
        self.view.perform(operation)
    }

    fn list_chains(
        &mut self,
        namespace: types::Namespace,
        family: contract::Family,
    ) -> Result<Vec<contract::Chain>> {
        let operation = firewall::ListChains {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
        };
        self.view.perform(operation).map(each)
    }

    fn list_sets(
        &mut self,
        namespace: types::Namespace,
        family: contract::Family,
    ) -> Result<Vec<String>> {
        let operation = firewall::ListSets {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
        };
        self.view.perform(operation)
    }

    fn list_rules(
        &mut self,
        namespace: types::Namespace,
        family: contract::Family,
        chain: String,
    ) -> Result<Vec<contract::Rule>> {
        let operation = firewall::ListRules {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            chain,
        };
        self.view.perform(operation).map(each)
    }

    fn get_element(
        &mut self,
        namespace: types::Namespace,
        family: contract::Family,
        set: String,
        key: Vec<contract::Value>,
    ) -> Result<Option<contract::Element>> {
        let operation = firewall::GetElement {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            set,
            key: all(key)?,
        };
        let element = self.view.perform(operation)?;
        Ok(element.map(Into::into))
    }

    fn list_elements(
        &mut self,
        namespace: types::Namespace,
        family: contract::Family,
        set: String,
    ) -> Result<Vec<contract::Element>> {
        let operation = firewall::ListElements {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            set,
        };
        self.view.perform(operation).map(each)
    }

    fn remove_reference_rules(&mut self) -> Result<u32> {
        let addresses = self.addresses_by_reference()?;
        let invocation = self.view.gate().invocation();
        let operation = firewall::RemoveReference {
            plugin: self.plugin.to_owned(),
            network: self.network.to_owned(),
            container_id: invocation.container_id.clone(),
            ifname: invocation.ifname.clone(),
            addresses,
        };
        self.view.perform(operation)
    }
}

impl FirewallView<'_> {
    /// The container's addresses, if the reference plugins attached it: rules that accept an address do not name its
    /// owner, and weir may have given the same address to another container. The host's veth in the previous result
    /// shows it: those that weir makes carry the mark of their attachment, which nobody in a container can remove.
    fn addresses_by_reference(&mut self) -> Result<Vec<IpAddr>> {
        let Some(previous) = self.previous else {
            return Ok(Vec::new());
        };
        let on_host = previous.interfaces.iter().filter(|i| i.sandbox.is_none());
        for interface in on_host {
            let name = LinkReference::Name(interface.name.clone());
            match self.view.kernel().find_link(Namespace::Host, &name) {
                Ok(link) if link.kind == "veth" && link.alias.is_empty() => {
                    return Ok(previous.ips.iter().map(|ip| ip.address.addr()).collect());
                }
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(Vec::new())
    }

    /// Adds the facts that the gate needs about a transaction and that its commands do not contain.
    fn look_at_elements(&mut self, apply: &mut firewall::Apply) -> Result<()> {
        let ports = apply.translated().into_iter().flatten();
        for port in ports {
            if self.view.kernel().is_port_taken(apply.namespace, port)? {
                apply.listening.push(port);
            }
        }
        let mut removed = Vec::new();
        for (set, key) in apply.removed_keys() {
            let found = self.view.kernel().find_element(apply, set, key)?;
            removed.extend(found.map(|element| element.comment.unwrap_or_default()));
        }
        apply.removed = removed;
        Ok(())
    }

    /// The name of the plugin's table. weir chooses it, so a plugin reaches no other table.
    fn table_name(&self) -> String {
        format!("weir_{}", self.plugin)
    }
}
