//! Capability `packet`: sockets bound to one link of the container.

pub use crate::bindings::weir::cni::packet::{Datagram, RawSocket, UdpSocket, open_raw, open_udp};
