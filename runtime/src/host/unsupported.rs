//! The capabilities that this version of weir does not carry out: `rule`, `traffic`, `conntrack`,
//! `device` and `packet` answer a typed `unsupported`.

use super::bindings::weir::cni::types::{IpFamily, LinkReference, MacAddress, Namespace};
use super::bindings::weir::cni::{conntrack, device, packet, rule, traffic};
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

impl traffic::Host for Host {
    fn add_qdisc(
        &mut self,
        _: Namespace,
        _: LinkReference,
        _: traffic::Qdisc,
    ) -> Result<(), Error> {
        unsupported(Capability::Traffic)
    }

    fn delete_qdisc(
        &mut self,
        _: Namespace,
        _: LinkReference,
        _: traffic::Handle,
    ) -> Result<(), Error> {
        unsupported(Capability::Traffic)
    }

    fn list_qdiscs(
        &mut self,
        _: Namespace,
        _: LinkReference,
    ) -> Result<Vec<traffic::Qdisc>, Error> {
        unsupported(Capability::Traffic)
    }

    fn add_class(
        &mut self,
        _: Namespace,
        _: LinkReference,
        _: traffic::Class,
    ) -> Result<(), Error> {
        unsupported(Capability::Traffic)
    }

    fn list_classes(
        &mut self,
        _: Namespace,
        _: LinkReference,
    ) -> Result<Vec<traffic::Class>, Error> {
        unsupported(Capability::Traffic)
    }

    fn add_filter(
        &mut self,
        _: Namespace,
        _: LinkReference,
        _: traffic::Filter,
    ) -> Result<(), Error> {
        unsupported(Capability::Traffic)
    }

    fn list_filters(
        &mut self,
        _: Namespace,
        _: LinkReference,
        _: traffic::Handle,
    ) -> Result<Vec<traffic::Filter>, Error> {
        unsupported(Capability::Traffic)
    }
}

impl conntrack::Host for Host {
    fn delete(&mut self, _: Namespace, _: conntrack::Filter) -> Result<u32, Error> {
        unsupported(Capability::Conntrack)
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
