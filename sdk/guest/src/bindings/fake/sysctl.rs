//! Capability `sysctl`: parameters of the namespaces and their links.

use super::error::{EINVAL, Result, invalid, not_found, refuse};
use super::state::Network;
use super::{Call, parameters};
use crate::bindings::weir::cni::types::Namespace;

/// Returns a parameter's value. Errors: `not-found`; `invalid` for a key that is not below `net.`.
pub fn read(namespace: Namespace, key: &str) -> Result<String> {
    let call = Call::of("sysctl.read").within(namespace).with(key);
    call.run(|machine| value(machine.look(namespace)?, key).map(str::to_owned))
}

/// Sets a parameter's value. Errors: `not-found`; `invalid` for a key that is not below `net.`, and when the
/// kernel refuses the value.
pub fn write(namespace: Namespace, key: &str, value: &str) -> Result<()> {
    let arguments = format!("{key}={value}");
    let call = Call::of("sysctl.write").within(namespace).with(arguments);
    call.run(|machine| set_to(machine.network(namespace)?, key, value))
}

fn check_key(key: &str) -> Result<()> {
    let is_segment = |segment: &str| {
        let forbidden = |c: char| c.is_whitespace() || c.is_control();
        !matches!(segment, "" | "." | "..") && !segment.contains(forbidden)
    };
    let mut segments = key.split(['.', '/']);
    let is_net = key.starts_with("net.") && segments.all(is_segment);
    if is_net {
        Ok(())
    } else {
        let why = format!("`{}` is not a key below `net.`", key.escape_debug());
        Err(invalid(why))
    }
}

fn value<'a>(network: &'a Network, key: &str) -> Result<&'a str> {
    check_key(key)?;
    let group = format!("{key}.");
    if network.parameters.keys().any(|k| k.starts_with(&group)) {
        return Err(invalid(format!("`{key}` is a group of parameters")));
    }
    let value = network.parameters.get(key);
    value
        .map(String::as_str)
        .ok_or_else(|| not_found(format!("no such parameter: `{key}`")))
}

fn set_to(network: &mut Network, key: &str, value: &str) -> Result<()> {
    check_key(key)?;
    if value.contains(|c: char| c.is_control() && c != '\t') {
        return Err(invalid("the value has control characters"));
    }
    let is_number = |text: &str| text.trim().parse::<i64>().is_ok();
    if is_number(self::value(network, key)?) && !is_number(value) {
        return refuse(EINVAL);
    }
    let value = value.trim();
    network.parameters.insert(key.to_owned(), value.to_owned());
    follow(network, key, value);
    Ok(())
}

/// Changes what the kernel changes with a parameter.
fn follow(network: &mut Network, key: &str, value: &str) {
    let everywhere = match key {
        "net.ipv4.ip_forward" | "net.ipv4.conf.all.forwarding" => ("net.ipv4.conf.", "forwarding"),
        "net.ipv6.conf.all.forwarding" => ("net.ipv6.conf.", "forwarding"),
        "net.ipv6.conf.all.disable_ipv6" => ("net.ipv6.conf.", "disable_ipv6"),
        _ => ("", ""),
    };
    let (start, end) = everywhere;
    if !start.is_empty() {
        let all = network.parameters.iter_mut();
        let its = all.filter(|(k, _)| k.starts_with(start) && k.ends_with(&format!(".{end}")));
        its.for_each(|(_, now)| value.clone_into(now));
    }
    if everywhere == ("net.ipv4.conf.", "forwarding") {
        let forward = "net.ipv4.ip_forward".to_owned();
        network.parameters.insert(forward, value.to_owned());
    }
    if key.ends_with(".disable_ipv6") {
        let links = network.links.iter().map(|device| &device.link);
        let without = links.filter(|link| is_ipv6_disabled(network, &link.name));
        let without: Vec<u32> = without.map(|link| link.index).collect();
        without.iter().for_each(|index| drop_ipv6(network, *index));
    }
}

/// Removes the IPv6 addresses and routes of a link.
pub(super) fn drop_ipv6(network: &mut Network, index: u32) {
    network
        .addresses
        .retain(|held| held.link != index || held.address.addr().is_ipv4());
    network
        .routes
        .retain(|way| way.hop.link != Some(index) || !way.is_ipv6());
}

/// Whether a link has no IPv6.
pub(super) fn is_ipv6_disabled(network: &Network, link: &str) -> bool {
    let key = crate::sysctl::interface_key("ipv6.conf", link, "disable_ipv6");
    let value = network.parameters.get(&key);
    value.is_some_and(|value| value != "0")
}

/// Gives a new link its parameters, which are those of `default`.
pub(super) fn add_link(network: &mut Network, link: &str) {
    copy(network, "default", link);
}

/// Removes the parameters of a link that is gone.
pub(super) fn remove_link(network: &mut Network, link: &str) {
    let link = crate::sysctl::interface_segment(link);
    let parameters = &mut network.parameters;
    parameters.retain(|key, _| parameters::of_link(key) != Some(&*link));
}

/// Gives the parameters of a link its new name.
pub(super) fn rename_link(network: &mut Network, from: &str, to: &str) {
    copy(network, from, to);
    remove_link(network, from);
}

fn copy(network: &mut Network, from: &str, to: &str) {
    let (from, to) = [from, to].map(crate::sysctl::interface_segment).into();
    let all = network.parameters.iter();
    let its = all.filter(|(key, _)| parameters::of_link(key) == Some(&*from));
    let renamed = its.map(|(key, value)| {
        let key = key.replacen(&format!(".{from}."), &format!(".{to}."), 1);
        (key, value.clone())
    });
    let renamed: Vec<(String, String)> = renamed.collect();
    network.parameters.extend(renamed);
}
