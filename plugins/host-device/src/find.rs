//! Which device of the host a configuration means.

use weir_sdk::device::{self, Device};
use weir_sdk::link::{self, Link};
use weir_sdk::{Context, Error, Mac, Namespace, Outcome, Request, codes};

use crate::config::{Config, Selector};

/// A device that was found.
pub enum Found {
    /// One with a link.
    Link(Box<Link>),
    /// One that a program drives: it has no link, and the container reaches it otherwise.
    Userspace,
}

/// Finds the device. Errors: [`codes::NOT_FOUND`], also for one whose link is in another container already.
pub fn find(request: &Request<Config>) -> Result<Found, Error> {
    match request.config.selector()? {
        Selector::Name(name) => by_name(name, "device"),
        Selector::Mac(mac) => by_mac(mac),
        Selector::Path(path) => {
            let found = device::by_kernel_path(path);
            of_device(&found.context("kernelpath")?, "kernelpath")
        }
        Selector::Pci(address) => {
            let key = request.config.pci_key();
            let found = device::by_pci_address(address).context(key)?;
            if found.is_in_userspace() {
                return Ok(Found::Userspace);
            }
            of_device(&found, key)
        }
        Selector::Auxiliary(name) => {
            let found = device::by_auxiliary_name(name);
            of_device(&found.context("deviceID")?, "deviceID")
        }
    }
}

/// Whether the device has no link because a program drives it. One that is gone is not: DEL looks for its link.
pub fn is_userspace(config: &Config) -> bool {
    match config.selector() {
        Ok(Selector::Pci(address)) => {
            device::by_pci_address(address).is_ok_and(|device| device.is_in_userspace())
        }
        _ => false,
    }
}

fn of_device(device: &Device, key: &str) -> Result<Found, Error> {
    if device.link.is_empty() {
        let driver = match device.driver.as_str() {
            "" => "no driver is bound to it".to_owned(),
            driver => format!("its driver is `{driver}`"),
        };
        let msg = format!("{key}: the device has no interface on the host: {driver}");
        let details = "it is not a network device, or its interface is in another container";
        return Err(Error::new(codes::NOT_FOUND, msg).with_details(details));
    }
    by_name(&device.link, key)
}

fn by_name(name: &str, key: &str) -> Result<Found, Error> {
    let found = link::get(Namespace::Host, name).found();
    let found = found.context(format!("{key}: cannot use interface `{name}`"))?;
    found
        .map(|link| Found::Link(Box::new(link)))
        .ok_or_else(|| {
            let msg = format!("{key}: no interface `{name}` on the host");
            let details = "it does not exist, or is in another container";
            Error::new(codes::NOT_FOUND, msg).with_details(details)
        })
}

fn by_mac(mac: Mac) -> Result<Found, Error> {
    let links = link::list(Namespace::Host, None, None);
    let links = links.context("hwaddr: cannot list the host's interfaces")?;
    let found = links.into_iter().find(|link| link.mac() == Some(mac));
    found
        .map(|link| Found::Link(Box::new(link)))
        .ok_or_else(|| {
            let msg = format!("hwaddr: no interface with MAC {mac} on the host");
            Error::new(codes::NOT_FOUND, msg)
        })
}
