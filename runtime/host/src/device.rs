//! Capability `device`: from the contract to the gate and the kernel.

use weir_grant::device;
use weir_kernel::Result;

use super::bindings::weir::cni::device::{Device, Host as Contract};
use super::convert::same_fields;
use super::view::View;

impl Contract for View<'_, device::DeviceRule> {
    fn by_link(&mut self, name: String) -> Result<Device> {
        let operation = device::ByLink { link: name };
        self.perform(operation).map(Into::into)
    }

    fn by_pci_address(&mut self, address: String) -> Result<Device> {
        let operation = device::ByPciAddress { address };
        self.perform(operation).map(Into::into)
    }

    fn by_auxiliary_name(&mut self, name: String) -> Result<Device> {
        let operation = device::ByAuxiliaryName { name };
        self.perform(operation).map(Into::into)
    }

    fn by_kernel_path(&mut self, path: String) -> Result<Device> {
        let operation = device::ByKernelPath { path };
        self.perform(operation).map(Into::into)
    }
}

same_fields! {
    device::Device => Device { link pci_address auxiliary_name driver virtio siblings }
}
