//! Capability `device`: facts about the hardware behind a link of the host.

use crate::Result;
use crate::bindings::weir::cni::device as raw;

pub use raw::Device;

/// Returns the device behind a link. Errors: `not-found`.
pub fn by_link(name: &str) -> Result<Device> {
    Ok(raw::by_link(name)?)
}

/// Returns the device at a PCI address such as `0000:00:1f.6`. Errors: `not-found`, `invalid`.
pub fn by_pci_address(address: &str) -> Result<Device> {
    Ok(raw::by_pci_address(address)?)
}

/// Returns the device at a path below `/sys/devices`. Errors: `not-found`, `invalid`.
pub fn by_kernel_path(path: &str) -> Result<Device> {
    Ok(raw::by_kernel_path(path)?)
}
