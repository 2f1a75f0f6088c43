//! Capability `device`: the host has no hardware.

use super::Call;
use super::error::Result;
use crate::bindings::weir::cni::device::Device;

/// Returns the device behind a link of the host. Errors: `not-found`.
pub fn by_link(name: &str) -> Result<Device> {
    Call::of("device.by-link").with(name).unsupported()
}

/// Returns the device at a PCI address. Errors: `not-found`, `invalid`.
pub fn by_pci_address(address: &str) -> Result<Device> {
    let call = Call::of("device.by-pci-address");
    call.with(address).unsupported()
}

/// Returns the device at a path below `/sys/devices`. Errors: `not-found`, `invalid`.
pub fn by_kernel_path(path: &str) -> Result<Device> {
    Call::of("device.by-kernel-path").with(path).unsupported()
}
