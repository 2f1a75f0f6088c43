//! Capability `firewall`: from the contract to the gate and the kernel.

use std::net::IpAddr;

use weir_grant::firewall;
use weir_kernel::{self as kernel, Error};

use super::bindings::weir::cni::firewall::{self as contract, Host as Contract};
use super::bindings::weir::cni::types::Namespace;
use super::state::Host;
use super::undo::Undo;

impl Contract for Host {
    fn apply(
        &mut self,
        namespace: Namespace,
        family: contract::Family,
        commands: Vec<contract::Command>,
    ) -> Result<(), Error> {
        let commands = commands.into_iter().map(TryInto::try_into);
        let mut operation = firewall::Apply {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            commands: commands.collect::<Result<_, Error>>()?,
            only_empty: false,
            listening: Vec::new(),
            removed: Vec::new(),
        };
        if self.gate.asks_about_elements() {
            self.look_at_elements(&mut operation)?;
        }
        let inverses = self.gate.perform(operation, |permit| {
            kernel::firewall::apply(&mut self.namespaces, permit)
        })?;
        // They are carried out from the end of `done`, and in their own order.
        self.done
            .extend(inverses.into_iter().rev().map(Undo::Firewall));
        Ok(())
    }

    fn list_chains(
        &mut self,
        namespace: Namespace,
        family: contract::Family,
    ) -> Result<Vec<contract::Chain>, Error> {
        let operation = firewall::ListChains {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
        };
        let chains = self.gate.perform(operation, |permit| {
            kernel::firewall::list_chains(&mut self.namespaces, permit)
        })?;
        Ok(chains.into_iter().map(Into::into).collect())
    }

    fn list_sets(
        &mut self,
        namespace: Namespace,
        family: contract::Family,
    ) -> Result<Vec<String>, Error> {
        let operation = firewall::ListSets {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
        };
        self.gate.perform(operation, |permit| {
            kernel::firewall::list_sets(&mut self.namespaces, permit)
        })
    }

    fn list_rules(
        &mut self,
        namespace: Namespace,
        family: contract::Family,
        chain: String,
    ) -> Result<Vec<contract::Rule>, Error> {
        let operation = firewall::ListRules {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            chain,
        };
        let rules = self.gate.perform(operation, |permit| {
            kernel::firewall::list_rules(&mut self.namespaces, permit)
        })?;
        Ok(rules.into_iter().map(Into::into).collect())
    }

    fn get_element(
        &mut self,
        namespace: Namespace,
        family: contract::Family,
        set: String,
        key: Vec<contract::Value>,
    ) -> Result<Option<contract::Element>, Error> {
        let operation = firewall::GetElement {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            set,
            key: super::firewall_convert::values(key)?,
        };
        let element = self.gate.perform(operation, |permit| {
            kernel::firewall::get_element(&mut self.namespaces, permit)
        })?;
        Ok(element.map(Into::into))
    }

    fn list_elements(
        &mut self,
        namespace: Namespace,
        family: contract::Family,
        set: String,
    ) -> Result<Vec<contract::Element>, Error> {
        let operation = firewall::ListElements {
            namespace: namespace.into(),
            family: family.into(),
            table: self.table_name(),
            set,
        };
        let elements = self.gate.perform(operation, |permit| {
            kernel::firewall::list_elements(&mut self.namespaces, permit)
        })?;
        Ok(elements.into_iter().map(Into::into).collect())
    }

    fn remove_reference_rules(&mut self) -> Result<u32, Error> {
        let addresses = self.addresses_by_reference()?;
        let invocation = self.gate.invocation();
        let operation = firewall::RemoveReference {
            plugin: self.plugin.clone(),
            network: self.network.clone(),
            container_id: invocation.container_id.clone(),
            ifname: invocation.ifname.clone(),
            addresses,
        };
        self.gate.perform(operation, |permit| {
            kernel::firewall::remove_reference(&mut self.namespaces, permit)
        })
    }
}

impl Host {
    /// The container's addresses, where the reference has attached it: rules that accept an address do not say whose it
    /// is, and weir may have given the same to another container. A veth of the host's in the previous result tells:
    /// those that weir makes have the mark of their attachment, which nobody in a container can take away.
    fn addresses_by_reference(&mut self) -> Result<Vec<IpAddr>, Error> {
        let Some(previous) = self.previous.clone() else {
            return Ok(Vec::new());
        };
        let on_host = previous.interfaces.iter().filter(|i| i.sandbox.is_none());
        for interface in on_host {
            let name = kernel::link::LinkReference::Name(interface.name.clone());
            match kernel::without_permit::find_link(self.namespaces.host(), &name) {
                Ok(link) if link.kind == "veth" && link.alias.is_empty() => {
                    return Ok(previous.ips.iter().map(|ip| ip.address.addr()).collect());
                }
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(Vec::new())
    }

    /// What the gate must know of a transaction, and its commands do not say.
    fn look_at_elements(&mut self, apply: &mut firewall::Apply) -> Result<(), Error> {
        let ports = apply.translated().into_iter().flatten();
        for port in ports {
            if kernel::without_permit::is_port_taken(self.namespaces.of(apply.namespace)?, port)? {
                apply.listening.push(port);
            }
        }
        let mut removed = Vec::new();
        for (set, key) in apply.removed_keys() {
            let found = kernel::without_permit::find_element(
                self.namespaces.of(apply.namespace)?,
                apply,
                set,
                key,
            )?;
            removed.extend(found.map(|element| element.comment.unwrap_or_default()));
        }
        apply.removed = removed;
        Ok(())
    }

    /// A plugin's tables are named by the host, so that it has no others.
    fn table_name(&self) -> String {
        format!("weir_{}", self.plugin)
    }
}
