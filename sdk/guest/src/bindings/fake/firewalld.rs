//! Capability `firewalld`: zones and their sources. It does not run unless the test has it run.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::error::{Result, error, not_found};
use super::{Call, Machine};
use crate::bindings::weir::cni::types::{ErrorCode, IpAddress};

/// Returns whether firewalld runs on this node.
pub fn is_running() -> Result<bool> {
    Call::of("firewalld.is-running").run(|machine| Ok(machine.zones.is_some()))
}

pub fn zone_of_source(source: IpAddress) -> Result<Option<String>> {
    let source = IpAddr::from(source);
    let call = Call::of("firewalld.zone-of-source").with(source);
    call.run(|machine| Ok(zone_of(zones(machine)?, source)))
}

pub fn add_source(zone: &str, source: IpAddress) -> Result<()> {
    let source = IpAddr::from(source);
    let call = Call::of("firewalld.add-source").with(format_args!("{zone} {source}"));
    call.run(|machine| {
        let zones = zones(machine)?;
        if let Some(other) = zone_of(zones, source) {
            let why = format!("it is bound to zone `{other}`");
            return Err(error(ErrorCode::Exists, why));
        }
        sources(zones, zone)?.push(source);
        Ok(())
    })
}

pub fn remove_source(zone: &str, source: IpAddress) -> Result<()> {
    let source = IpAddr::from(source);
    let call = Call::of("firewalld.remove-source").with(format_args!("{zone} {source}"));
    call.run(|machine| {
        let sources = sources(zones(machine)?, zone)?;
        let at = sources.iter().position(|bound| *bound == source);
        sources.remove(at.ok_or_else(|| not_found("it is not in that zone"))?);
        Ok(())
    })
}

type Zones = BTreeMap<String, Vec<IpAddr>>;

fn zones(machine: &mut Machine) -> Result<&mut Zones> {
    let zones = machine.zones.as_mut();
    zones.ok_or_else(|| error(ErrorCode::Unsupported, "firewalld does not run"))
}

fn sources<'a>(zones: &'a mut Zones, zone: &str) -> Result<&'a mut Vec<IpAddr>> {
    let sources = zones.get_mut(zone);
    sources.ok_or_else(|| not_found(format!("no such zone: `{zone}`")))
}

fn zone_of(zones: &Zones, source: IpAddr) -> Option<String> {
    let mut bound = zones.iter().filter(|(_, all)| all.contains(&source));
    bound.next().map(|(zone, _)| zone.clone())
}
