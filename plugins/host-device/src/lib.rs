//! The plugin `host-device`: moves a network device of the host into a container, and back with DEL.
//!
//! The device of a program such as DPDK's has no interface: only its addresses are assigned.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
mod find;
mod moves;
mod record;
#[cfg(test)]
mod tests;

use weir_sdk::{
    AddResult, Error, GcRequest, Interface, Plugin, Request, StatusRequest, check, interface,
};

use config::Config;
use find::Found;

/// The plugin.
pub struct HostDevice;

impl Plugin for HostDevice {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let device = match find::find(&request)? {
            Found::Link(device) => Some(moves::move_in(&request, &device)?),
            Found::Userspace => None,
        };
        let mut assigned = AddResult::default();
        if config.ipam.is_configured() {
            assigned = config.ipam.assign(interface::CONTAINER_INTERFACE)?;
            if let Some(device) = &device {
                interface::configure(device, &assigned)?;
                interface::settle(device)?;
            }
        }
        let without_link = Interface {
            name: request.ifname.clone(),
            sandbox: Some(request.sandbox.clone()),
            ..Interface::default()
        };
        let of_link = |device| interface::of_container(&device, request.sandbox);
        let interface = device.map_or(without_link, of_link);
        Ok(interface::result(interface, assigned, &config.dns))
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        let mut moved = Ok(());
        // Also where the device is gone, or cannot come back: nothing uses the address any more.
        let released = request.config.ipam.del_with(|| {
            moved = moves::move_out(&request);
            Ok(())
        });
        moved.and(released)
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        request.config.ipam.check()?;
        let previous = check::previous(&request)?;
        if find::is_userspace(&request.config) {
            return Ok(());
        }
        let link = request.container_interface()?;
        check::container_interface(&request, previous, &link.kind)?;
        check::addresses(&request.ifname, &previous.ips)?;
        check::routes(previous)
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        request.config.ipam.status()
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        request.config.ipam.gc()
    }

    fn validate(config: &Config) -> Result<(), Error> {
        config.selector().map(drop)
    }
}

weir_sdk::export!(HostDevice);
