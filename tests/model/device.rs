//! Capability `device`: the devices that a test has put there.

use weir_gate::Permit;
use weir_grant::device::{ByAuxiliaryName, ByKernelPath, ByLink, ByPciAddress, Device};
use weir_kernel::{Answer, Error, Result, checks};

use super::kernel::Model;

impl Answer<ByLink, Device> for Model {
    fn answer(&mut self, permit: &Permit<ByLink>) -> Result<Device> {
        let link = &permit.operation().link;
        checks::link_name(link)?;
        self.find(|_, device| by(device, link))
    }
}

/// A device with this link as its own, and what was that among the siblings.
fn by(device: &Device, link: &str) -> Option<Device> {
    let mut links = vec![device.link.clone()];
    links.extend(device.siblings.iter().cloned());
    let is_there = !link.is_empty() && links.iter().any(|other| other == link);
    links.retain(|other| other != link && !other.is_empty());
    links.sort();
    is_there.then(|| Device {
        link: link.to_owned(),
        siblings: links,
        ..device.clone()
    })
}

impl Answer<ByPciAddress, Device> for Model {
    fn answer(&mut self, permit: &Permit<ByPciAddress>) -> Result<Device> {
        let address = &permit.operation().address;
        checks::check_pci_address(address)?;
        self.find(|_, device| (device.pci_address == *address).then(|| device.clone()))
    }
}

impl Answer<ByAuxiliaryName, Device> for Model {
    fn answer(&mut self, permit: &Permit<ByAuxiliaryName>) -> Result<Device> {
        let name = &permit.operation().name;
        checks::check_auxiliary_name(name)?;
        self.find(|_, device| (device.auxiliary_name == *name).then(|| device.clone()))
    }
}

impl Answer<ByKernelPath, Device> for Model {
    fn answer(&mut self, permit: &Permit<ByKernelPath>) -> Result<Device> {
        let path = &permit.operation().path;
        checks::check_kernel_path(path)?;
        self.find(|at, device| {
            if at == path {
                return Some(device.clone());
            }
            let link = path.strip_prefix(at)?.strip_prefix("/net/")?;
            by(device, link)
        })
    }
}

impl Model {
    fn find(&self, found: impl Fn(&String, &Device) -> Option<Device>) -> Result<Device> {
        self.look(|state| {
            let mut devices = state.devices.iter();
            let found = devices.find_map(|(path, device)| found(path, device));
            found.ok_or_else(|| Error::not_found("it does not exist"))
        })
    }
}
