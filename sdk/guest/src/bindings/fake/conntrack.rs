//! Capability `conntrack`: what is to be deleted is recorded, as there are no connections.

use std::net::IpAddr;

use super::Call;
use super::error::{Result, invalid};
use crate::bindings::weir::cni::conntrack::Filter;
use crate::bindings::weir::cni::types::{IpFamily, Namespace};

pub fn delete(namespace: Namespace, filter: Filter) -> Result<()> {
    let call = Call::of("conntrack.delete").within(namespace);
    call.with(shown(&filter)).run(|machine| {
        check(&filter)?;
        machine.look(namespace)?;
        machine.forgotten.push((namespace, filter));
        Ok(())
    })
}

fn shown(filter: &Filter) -> String {
    let mut text = format!("protocol {}", filter.protocol);
    if let Some(destination) = filter.destination {
        text += &format!(" to {}", IpAddr::from(destination));
    }
    if let Some(port) = filter.port {
        text += &format!(" port {port}");
    }
    if let Some(source) = filter.reply_source {
        text += &format!(" from {}", IpAddr::from(source));
    }
    text
}

fn check(filter: &Filter) -> Result<()> {
    let addresses = [filter.destination, filter.reply_source];
    let mut addresses = addresses.into_iter().flatten().map(IpAddr::from);
    if addresses.clone().next().is_none() && filter.port.is_none() {
        return Err(invalid(
            "the filter has no destination, port or reply source",
        ));
    }
    if ![6, 17, 132].contains(&filter.protocol) {
        return Err(invalid(format!(
            "protocol {}: expected 6, 17 or 132",
            filter.protocol
        )));
    }
    match addresses.find(|address| IpFamily::of(*address) != filter.family) {
        Some(other) => Err(invalid(format!("{other} is not of the filter's family"))),
        None => Ok(()),
    }
}
