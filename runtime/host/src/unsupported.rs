//! The capability that this version of weir does not implement: `packet`. Its operations pass the gate like all others,
//! and are denied and recorded if the grant has no rule for them. With a rule, the answer is a typed `unsupported`.

use wasmtime::component::Resource;
use weir_grant::{Capability, Operation, VerbSet, packet};
use weir_kernel::{Broker, Code, Error, Result};

use super::bindings::weir::cni::packet as packet_contract;
use super::bindings::weir::cni::types::MacAddress;
use super::resource::Socket;

fn unsupported(capability: Capability) -> Error {
    let version = env!("CARGO_PKG_VERSION");
    Error::new(
        Code::Unsupported,
        format!("weir {version} does not implement the capability `{capability}`"),
    )
}

/// Asks the gate and does nothing else. Errors: `Denied`, `Unsupported`.
fn refuse<O: Operation, T>(broker: &mut Broker, operation: O) -> Result<T> {
    let refused = |_: &_| Err(unsupported(O::Rule::CAPABILITY));
    broker.gate_mut().perform(operation, refused)
}

impl packet_contract::Host for Broker {
    fn open_udp(
        &mut self,
        link: String,
        local_port: u16,
        broadcast: bool,
    ) -> Result<Resource<Socket>> {
        refuse(
            self,
            packet::OpenUdp {
                link,
                local_port,
                broadcast,
            },
        )
    }

    fn open_raw(&mut self, link: String, ether_type: u16) -> Result<Resource<Socket>> {
        refuse(self, packet::OpenRaw { link, ether_type })
    }
}

/// No plugin has a socket to call these with.
impl packet_contract::HostUdpSocket for Broker {
    fn send(&mut self, _: Resource<Socket>, _: packet_contract::Datagram) -> Result<()> {
        Err(unsupported(Capability::Packet))
    }

    fn receive(&mut self, _: Resource<Socket>, _: u32) -> Result<packet_contract::Datagram> {
        Err(unsupported(Capability::Packet))
    }

    fn drop(&mut self, _: Resource<Socket>) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// No plugin has a socket to call these with.
impl packet_contract::HostRawSocket for Broker {
    fn send(&mut self, _: Resource<Socket>, _: MacAddress, _: Vec<u8>) -> Result<()> {
        Err(unsupported(Capability::Packet))
    }

    fn receive(&mut self, _: Resource<Socket>, _: u32) -> Result<Vec<u8>> {
        Err(unsupported(Capability::Packet))
    }

    fn drop(&mut self, _: Resource<Socket>) -> wasmtime::Result<()> {
        Ok(())
    }
}
