//! Capability `firewalld`: from the contract to the gate and firewalld.

use weir_grant::firewalld;
use weir_kernel::{self as kernel, Error};

use super::bindings::weir::cni::firewalld::Host as Contract;
use super::bindings::weir::cni::types::IpAddress;
use super::state::Host;
use super::undo::Undo;

impl Contract for Host {
    fn is_running(&mut self) -> Result<bool, Error> {
        self.gate.perform(firewalld::IsRunning {}, |permit| {
            kernel::firewalld::is_running(&mut self.firewalld, permit)
        })
    }

    fn zone_of_source(&mut self, source: IpAddress) -> Result<Option<String>, Error> {
        let operation = firewalld::ZoneOfSource {
            source: source.into(),
        };
        self.gate.perform(operation, |permit| {
            kernel::firewalld::zone_of_source(&mut self.firewalld, permit)
        })
    }

    fn add_source(&mut self, zone: String, source: IpAddress) -> Result<(), Error> {
        let source = source.into();
        let undo = firewalld::RemoveSource {
            zone: zone.clone(),
            source,
        };
        let operation = firewalld::AddSource { zone, source };
        self.gate.perform(operation, |permit| {
            kernel::firewalld::add_source(&mut self.firewalld, permit)
        })?;
        self.done.push(Undo::Source(undo));
        Ok(())
    }

    fn remove_source(&mut self, zone: String, source: IpAddress) -> Result<(), Error> {
        let operation = firewalld::RemoveSource {
            zone,
            source: source.into(),
        };
        self.gate.perform(operation, |permit| {
            kernel::firewalld::remove_source(&mut self.firewalld, permit)
        })
    }
}
