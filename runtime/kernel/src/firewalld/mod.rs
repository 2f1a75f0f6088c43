//! Capability `firewalld`: the zones of firewalld, over the system's D-Bus.
//!
//! firewalld is a service, but as privileged as the kernel, whose packet filter it changes. weir connects to the bus when it
//! first needs it, and never starts firewalld.

pub(crate) mod bus;

use std::net::IpAddr;

use ipnet::IpNet;
use weir_gate::Permit;
use weir_grant::firewalld::{AddSource, IsRunning, RemoveSource, ZoneOfSource};

use crate::error::{Code, Error, Result, WhileDoing as _};
use crate::linux::Linux;
use crate::perform::{Answer, Changes, Perform};

/// Tells whether firewalld runs. Errors: `TimedOut`; `Failed` for a bus that does not let weir in.
impl Answer<IsRunning, bool> for Linux {
    fn answer(&mut self, _: &Permit<IsRunning>) -> Result<bool> {
        self.firewalld.is_running()
    }
}

/// The zone that an address is bound to. Errors: `Unsupported` where firewalld does not run, `TimedOut`.
impl Answer<ZoneOfSource, Option<String>> for Linux {
    fn answer(&mut self, permit: &Permit<ZoneOfSource>) -> Result<Option<String>> {
        let source = text(permit.operation().source);
        let zone = self
            .firewalld
            .ask(async |zones| zones.get_zone_of_source(&source).await)
            .while_doing(format_args!("find the zone of {source}"))?;
        Ok(Some(zone).filter(|zone| !zone.is_empty()))
    }
}

/// Binds an address to a zone. Errors: `Exists` when it is bound to one already, `NotFound` without
/// such a zone, `Invalid` for what cannot be a zone's name, `Unsupported`, `TimedOut`.
impl Perform<AddSource> for Linux {
    fn perform(&mut self, permit: &Permit<AddSource>, changes: &mut Changes<'_>) -> Result<()> {
        let AddSource { zone, source } = permit.operation();
        let source = text(*source);
        self.firewalld
            .change_zone(zone, async |zones| zones.add_source(zone, &source).await)
            .while_doing(format_args!("bind {source} to zone `{zone}`"))?;
        changes.undo_with(permit.operation().inverse());
        Ok(())
    }
}

/// Takes an address out of a zone. Errors: `NotFound` when it is not in it, or there is no such zone;
/// `Invalid`, `Unsupported`, `TimedOut`.
impl Answer<RemoveSource> for Linux {
    fn answer(&mut self, permit: &Permit<RemoveSource>) -> Result<()> {
        let RemoveSource { zone, source } = permit.operation();
        let source = text(*source);
        self.firewalld
            .change_zone(zone, async |zones| zones.remove_source(zone, &source).await)
            .map_err(|error| match error.code {
                // To firewalld, the removal from one zone conflicts with being in another.
                Code::Exists => error.with_code(Code::NotFound),
                _ => error,
            })
            .while_doing(format_args!("take {source} out of zone `{zone}`"))
    }
}

/// To firewalld a source is a network, and its text identifies it.
fn text(source: IpAddr) -> String {
    IpNet::from(source).to_string()
}

fn check(zone: &str) -> Result<()> {
    if zone.is_empty() || zone.contains(char::is_control) {
        return Err(Error::invalid("this cannot be a zone's name"));
    }
    Ok(())
}
