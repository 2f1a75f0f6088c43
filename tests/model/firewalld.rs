//! Capability `firewalld`: zones and their sources, where firewalld runs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use weir_gate::Permit;
use weir_grant::firewalld::{AddSource, IsRunning, RemoveSource, ZoneOfSource};
use weir_kernel::{Answer, Changes, Error, Perform, Result};

use super::kernel::Model;
use super::state::State;

type Zones = BTreeMap<String, Vec<IpAddr>>;

impl Answer<IsRunning, bool> for Model {
    fn answer(&mut self, _: &Permit<IsRunning>) -> Result<bool> {
        self.look(|state| Ok(state.zones.is_some()))
    }
}

impl Answer<ZoneOfSource, Option<String>> for Model {
    fn answer(&mut self, permit: &Permit<ZoneOfSource>) -> Result<Option<String>> {
        self.look(|state| Ok(zone_of(zones(state)?, permit.operation().source)))
    }
}

impl Perform<AddSource> for Model {
    fn perform(&mut self, permit: &Permit<AddSource>, changes: &mut Changes<'_>) -> Result<()> {
        let AddSource { zone, source } = permit.operation();
        self.change(|machine| {
            let zones = zones(&mut machine.state)?;
            if let Some(other) = zone_of(zones, *source) {
                let why = format!("{source} is bound to zone `{other}`");
                return Err(Error::exists(why));
            }
            sources(zones, zone)?.push(*source);
            Ok(())
        })?;
        changes.undo_with(permit.operation().inverse());
        Ok(())
    }
}

impl Answer<RemoveSource> for Model {
    fn answer(&mut self, permit: &Permit<RemoveSource>) -> Result<()> {
        let RemoveSource { zone, source } = permit.operation();
        self.change(|machine| {
            let sources = sources(zones(&mut machine.state)?, zone)?;
            let at = sources.iter().position(|bound| bound == source);
            let at = at.ok_or_else(|| Error::not_found(format!("{source} is not in `{zone}`")))?;
            sources.remove(at);
            Ok(())
        })
    }
}

fn zones(state: &mut State) -> Result<&mut Zones> {
    let zones = state.zones.as_mut();
    zones.ok_or_else(|| Error::unsupported("firewalld does not run"))
}

fn sources<'a>(zones: &'a mut Zones, zone: &str) -> Result<&'a mut Vec<IpAddr>> {
    let sources = zones.get_mut(zone);
    sources.ok_or_else(|| Error::not_found(format!("no such zone: `{zone}`")))
}

fn zone_of(zones: &Zones, source: IpAddr) -> Option<String> {
    let mut bound = zones
        .iter()
        .filter(|(_, sources)| sources.contains(&source));
    bound.next().map(|(zone, _)| zone.clone())
}
