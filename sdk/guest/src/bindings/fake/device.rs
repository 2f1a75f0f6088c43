//! Capability `device`: the hardware that a test has given to the host.

use super::Call;
use super::error::{Result, invalid, not_found};
use super::state::{Machine, check_name};
use crate::bindings::weir::cni::device::Device;

/// Returns the device behind a link of the host. Errors: `not-found`.
pub fn by_link(name: &str) -> Result<Device> {
    Call::of("device.by-link").with(name).run(|machine| {
        check_name(name)?;
        find(machine, |_, device| with_link(device, name))
    })
}

/// Returns the device at a PCI address. Errors: `not-found`, `invalid`.
pub fn by_pci_address(address: &str) -> Result<Device> {
    let call = Call::of("device.by-pci-address").with(address);
    call.run(|machine| {
        if address.len() < 12 || address.contains('/') {
            return Err(invalid("not a PCI address such as `0000:00:1f.6`"));
        }
        find_by(machine, |device| device.pci_address == address)
    })
}

/// Returns the device of a name on the auxiliary bus. Errors: `not-found`, `invalid`.
pub fn by_auxiliary_name(name: &str) -> Result<Device> {
    let call = Call::of("device.by-auxiliary-name").with(name);
    call.run(|machine| {
        if name.split('.').filter(|part| !part.is_empty()).count() < 3 || name.contains('/') {
            return Err(invalid("not a name such as `mlx5_core.sf.4`"));
        }
        find_by(machine, |device| device.auxiliary_name == name)
    })
}

/// Returns the device at a path below `/sys/devices`. Errors: `not-found`, `invalid`.
pub fn by_kernel_path(path: &str) -> Result<Device> {
    let call = Call::of("device.by-kernel-path").with(path);
    call.run(|machine| {
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        let below = path.strip_prefix("/sys/devices/");
        if !below.is_some_and(|below| below.split('/').all(is_plain)) {
            return Err(invalid("not a path below `/sys/devices`"));
        }
        find(machine, |at, device| match path.strip_prefix(at)? {
            "" => Some(device.clone()),
            link => with_link(device, link.strip_prefix("/net/")?),
        })
    })
}

fn find(machine: &Machine, found: impl Fn(&str, &Device) -> Option<Device>) -> Result<Device> {
    let mut devices = machine.devices.iter();
    let device = devices.find_map(|(path, device)| found(path, device));
    device.ok_or_else(|| not_found("no such device"))
}

/// Finds the device for which this holds.
fn find_by(machine: &Machine, holds: impl Fn(&Device) -> bool) -> Result<Device> {
    find(machine, |_, device| holds(device).then(|| device.clone()))
}

/// The device, if it has the link, with that as its own.
fn with_link(device: &Device, name: &str) -> Option<Device> {
    let all = device.siblings.iter().chain([&device.link]);
    let mut siblings: Vec<String> = all.filter(|link| *link != name).cloned().collect();
    let has_link = siblings.len() == device.siblings.len();
    siblings.retain(|link| !link.is_empty());
    siblings.sort();
    has_link.then(|| Device {
        link: name.to_owned(),
        siblings,
        ..device.clone()
    })
}
