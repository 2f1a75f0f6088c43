//! Capability `sysctl`: parameters of the namespaces and their links.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::sysctl::{Read, Write, flaw_of_key, flaw_of_value};
use weir_kernel::inverses::RestoreValue;
use weir_kernel::{Answer, Changes, Error, Perform, Result, WhileDoing as _};
use weir_sdk::testing::parameters;

use super::address;
use super::kernel::Model;
use super::state::{Machine, NetworkState};

impl Answer<Read, String> for Model {
    fn answer(&mut self, permit: &Permit<Read>) -> Result<String> {
        let Read { namespace, key } = permit.operation();
        self.look(|state| read(state.of(*namespace)?, key))
            .while_doing(format_args!("read {key} in {namespace}"))
    }
}

impl Perform<Write> for Model {
    fn perform(&mut self, permit: &Permit<Write>, changes: &mut Changes<'_>) -> Result<()> {
        let operation = permit.operation();
        let Write { namespace, key, .. } = operation;
        let doing = format_args!("write {key} in {namespace}");
        let is_of_made_link =
            (operation.link()).is_some_and(|name| self.known.made(*namespace, &name).is_some());
        let add = self.add.filter(|_| *namespace == Namespace::Host);
        let before = self
            .change(|machine| replace(machine, operation, add.filter(|_| !is_of_made_link)))
            .while_doing(doing)?;
        match (namespace, add) {
            _ if is_of_made_link => {}
            (Namespace::Container, _) => {
                RestoreValue::note(operation, Some(&before.value), None, changes);
            }
            (Namespace::Host, Some(_)) => {
                if !(before.is_own && RestoreValue::note_again(operation, changes)) {
                    let changed = Some(operation.value.clone());
                    RestoreValue::note(operation, Some(&before.value), changed, changes);
                }
            }
            (Namespace::Host, None) => {}
        }
        Ok(())
    }
}

/// What a parameter had before it was written.
struct Before {
    value: String,
    /// The same ADD had changed it already, and no other has written it since.
    is_own: bool,
}

fn replace(machine: &mut Machine, new: &Write, add: Option<u32>) -> Result<Before> {
    let value = read(machine.state.of(new.namespace)?, &new.key)?;
    write(machine, new)?;
    let is_own = add.is_some() && machine.parameter_notes.get(&new.key).copied() == add;
    if new.namespace == Namespace::Host {
        match add.filter(|_| value != new.value) {
            Some(add) => {
                machine.parameter_notes.insert(new.key.clone(), add);
            }
            None if is_own => {}
            None => {
                machine.parameter_notes.remove(&new.key);
            }
        }
    }
    Ok(Before { value, is_own })
}

/// The value of a parameter. Errors: `NotFound`, `Invalid`.
pub(crate) fn read(network: &NetworkState, key: &str) -> Result<String> {
    if let Some(why) = flaw_of_key(key) {
        return Err(Error::invalid(why));
    }
    let group = format!("{key}.");
    if network
        .parameters
        .keys()
        .any(|other| other.starts_with(&group))
    {
        return Err(Error::invalid("it is a group of parameters"));
    }
    let value = network.parameters.get(key).cloned();
    value.ok_or_else(|| Error::not_found(format!("no such parameter: {key}")))
}

/// Writes a parameter, and what follows from it. Errors: `NotFound`, `Invalid`.
pub(crate) fn write(machine: &mut Machine, new: &Write) -> Result<()> {
    let Write { key, value, .. } = new;
    if let Some(why) = flaw_of_value(key, value) {
        return Err(Error::invalid(why));
    }
    let network = machine.state.of(new.namespace)?;
    let before = read(network, key)?;
    let is_number = |text: &str| text.trim().parse::<i64>().is_ok();
    if is_number(&before) && !is_number(value) {
        return Err(Errno::EINVAL.into());
    }
    let value = value.trim().to_owned();
    network.parameters.insert(key.clone(), value.clone());
    follow(network, key, &value);
    Ok(())
}

/// Changes what the kernel changes with a parameter.
fn follow(network: &mut NetworkState, key: &str, value: &str) {
    let forwarding = |family: &str| format!("net.{family}.conf.all.forwarding");
    if key == "net.ipv4.ip_forward" || key == forwarding("ipv4") {
        set(network, "net.ipv4.ip_forward", value);
        set_everywhere(network, "ipv4", "forwarding", value);
    } else if key == forwarding("ipv6") {
        set_everywhere(network, "ipv6", "forwarding", value);
    } else if key == "net.ipv6.conf.all.disable_ipv6" {
        set_everywhere(network, "ipv6", "disable_ipv6", value);
    }
    if key.ends_with(".disable_ipv6") {
        drop_disabled(network);
    }
}

fn set(network: &mut NetworkState, key: &str, value: &str) {
    network.parameters.insert(key.to_owned(), value.to_owned());
}

fn set_everywhere(network: &mut NetworkState, family: &str, name: &str, value: &str) {
    let (start, end) = (format!("net.{family}.conf."), format!(".{name}"));
    for (key, now) in &mut network.parameters {
        if key.starts_with(&start) && key.ends_with(&end) {
            value.clone_into(now);
        }
    }
}

fn drop_disabled(network: &mut NetworkState) {
    let links = network.links.iter().map(|device| &device.link);
    let disabled = links.filter(|link| is_ipv6_disabled(network, &link.name));
    let disabled: Vec<u32> = disabled.map(|link| link.index).collect();
    for index in disabled {
        address::drop_ipv6(network, index);
    }
}

/// Whether a link has no IPv6.
pub(crate) fn is_ipv6_disabled(network: &NetworkState, link: &str) -> bool {
    let key = format!("net.ipv6.conf.{}.disable_ipv6", escaped(link));
    network
        .parameters
        .get(&key)
        .is_some_and(|value| value != "0")
}

/// Gives a new link its parameters, which are those of `default`.
pub(crate) fn add_link(network: &mut NetworkState, link: &str) {
    copy(network, "default", link);
}

/// Takes the parameters of a link away that is gone.
pub(crate) fn remove_link(network: &mut NetworkState, link: &str) {
    let link = escaped(link);
    network
        .parameters
        .retain(|key, _| parameters::of_link(key) != Some(link.as_str()));
}

/// Gives the parameters of a link its new name.
pub(crate) fn rename_link(network: &mut NetworkState, from: &str, to: &str) {
    copy(network, from, to);
    remove_link(network, from);
}

fn copy(network: &mut NetworkState, from: &str, to: &str) {
    let (from, to) = (escaped(from), escaped(to));
    let all = network.parameters.iter();
    let its = all.filter(|(key, _)| parameters::of_link(key) == Some(from.as_str()));
    let renamed = its.map(|(key, value)| {
        let key = key.replacen(&format!(".{from}."), &format!(".{to}."), 1);
        (key, value.clone())
    });
    let renamed: Vec<_> = renamed.collect();
    network.parameters.extend(renamed);
}

/// A slash stands for a dot in the name of a link.
fn escaped(link: &str) -> String {
    link.replace('.', "/")
}
