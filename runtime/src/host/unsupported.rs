//! The capabilities that this version of weir does not carry out: `rule`, `device` and `packet` answer
//! a typed `unsupported`.

use super::bindings::weir::cni::types::{IpFamily, MacAddress, Namespace};
use super::bindings::weir::cni::{device, packet, rule};
use super::state::Host;
use crate::grant::Capability;
use crate::kernel::{Code, Error};

/// A resource of the contract that nothing creates.
pub enum Socket {}

fn unsupported<T>(capability: Capability) -> Result<T, Error> {
    let version = env!("CARGO_PKG_VERSION");
    Err(Error::new(
        Code::Unsupported,
        format!("weir {version} does not carry out the capability `{capability}`"),
    ))
}

impl rule::Host for Host {
    fn add(&mut self, _: Namespace, _: rule::Rule) -> Result<(), Error> {
        unsupported(Capability::Rule)
    }

    fn delete(&mut self, _: Namespace, _: rule::Rule) -> Result<(), Error> {
        unsupported(Capability::Rule)
    }

    fn list(&mut self, _: Namespace, _: Option<IpFamily>) -> Result<Vec<rule::Rule>, Error> {
        unsupported(Capability::Rule)
    }
}

impl device::Host for Host {
    fn by_link(&mut self, _: String) -> Result<device::Device, Error> {
        unsupported(Capability::Device)
    }

    fn by_pci_address(&mut self, _: String) -> Result<device::Device, Error> {
        unsupported(Capability::Device)
    }

    fn by_kernel_path(&mut self, _: String) -> Result<device::Device, Error> {
        unsupported(Capability::Device)
    }
}

impl packet::Host for Host {
    fn open_udp(
        &mut self,
        _: String,
        _: u16,
        _: bool,
    ) -> Result<wasmtime::component::Resource<Socket>, Error> {
        unsupported(Capability::Packet)
    }

    fn open_raw(
        &mut self,
        _: String,
        _: u16,
    ) -> Result<wasmtime::component::Resource<Socket>, Error> {
        unsupported(Capability::Packet)
    }
}

impl packet::HostUdpSocket for Host {
    fn send(
        &mut self,
        _: wasmtime::component::Resource<Socket>,
        _: packet::Datagram,
    ) -> Result<(), Error> {
        unsupported(Capability::Packet)
    }

    fn receive(
        &mut self,
        _: wasmtime::component::Resource<Socket>,
        _: u32,
    ) -> Result<packet::Datagram, Error> {
        unsupported(Capability::Packet)
    }

    fn drop(&mut self, _: wasmtime::component::Resource<Socket>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl packet::HostRawSocket for Host {
    fn send(
        &mut self,
        _: wasmtime::component::Resource<Socket>,
        _: MacAddress,
        _: Vec<u8>,
    ) -> Result<(), Error> {
        unsupported(Capability::Packet)
    }

    fn receive(
        &mut self,
        _: wasmtime::component::Resource<Socket>,
        _: u32,
    ) -> Result<Vec<u8>, Error> {
        unsupported(Capability::Packet)
    }

    fn drop(&mut self, _: wasmtime::component::Resource<Socket>) -> wasmtime::Result<()> {
        Ok(())
    }
}
