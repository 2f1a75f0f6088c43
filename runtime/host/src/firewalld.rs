//! Capability `firewalld`: from the contract to the gate and firewalld.

use weir_grant::firewalld;
use weir_kernel::Result;

use super::bindings::weir::cni::firewalld::Host as Contract;
use super::bindings::weir::cni::types::IpAddress;
use super::view::View;

impl Contract for View<'_, firewalld::FirewalldRule> {
    fn is_running(&mut self) -> Result<bool> {
        self.perform(firewalld::IsRunning {})
    }

    fn zone_of_source(&mut self, source: IpAddress) -> Result<Option<String>> {
        let operation = firewalld::ZoneOfSource {
            source: source.into(),
        };
        self.perform(operation)
    }

    fn add_source(&mut self, zone: String, source: IpAddress) -> Result<()> {
        let source = source.into();
        self.perform(firewalld::AddSource { zone, source })
    }

    fn remove_source(&mut self, zone: String, source: IpAddress) -> Result<()> {
        let operation = firewalld::RemoveSource {
            zone,
            source: source.into(),
        };
        self.perform(operation)
    }
}
