//! The capability that this version of weir does not implement: `packet`. Its operations pass the gate like all others,
//! and are denied and recorded if the grant has no rule for them. With a rule, the answer is a typed `unsupported`.

use wasmtime::component::Resource;
use weir_grant::packet;
use weir_kernel::{Code, Error, Result};

use super::bindings::weir::cni::packet as packet_contract;
use super::bindings::weir::cni::types::MacAddress;
use super::resource::Socket;
use super::view::View;

fn unsupported() -> Error {
    let version = env!("CARGO_PKG_VERSION");
    Error::new(
        Code::Unsupported,
        format!("weir {version} does not implement the capability `packet`"),
    )
}

impl packet_contract::Host for View<'_, packet::PacketRule> {
    fn open_udp(
        &mut self,
        link: String,
        local_port: u16,
        broadcast: bool,
    ) -> Result<Resource<Socket>> {
        let operation = packet::OpenUdp {
            link,
            local_port,
            broadcast,
        };
        self.refuse(operation, unsupported())
    }

    fn open_raw(&mut self, link: String, ether_type: u16) -> Result<Resource<Socket>> {
        let operation = packet::OpenRaw { link, ether_type };
        self.refuse(operation, unsupported())
    }
}

/// No plugin has a socket to call these with.
impl packet_contract::HostUdpSocket for View<'_, packet::PacketRule> {
    fn send(&mut self, _: Resource<Socket>, _: packet_contract::Datagram) -> Result<()> {
        Err(unsupported())
    }

    fn receive(&mut self, _: Resource<Socket>, _: u32) -> Result<packet_contract::Datagram> {
        Err(unsupported())
    }

    fn drop(&mut self, _: Resource<Socket>) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// No plugin has a socket to call these with.
impl packet_contract::HostRawSocket for View<'_, packet::PacketRule> {
    fn send(&mut self, _: Resource<Socket>, _: MacAddress, _: Vec<u8>) -> Result<()> {
        Err(unsupported())
    }

    fn receive(&mut self, _: Resource<Socket>, _: u32) -> Result<Vec<u8>> {
        Err(unsupported())
    }

    fn drop(&mut self, _: Resource<Socket>) -> wasmtime::Result<()> {
        Ok(())
    }
}
