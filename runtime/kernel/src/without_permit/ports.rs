//! Whether the host itself uses a port: for the gate.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};

use crate::error::Result;
use crate::namespace::NetworkNamespace;

/// Whether a socket in the namespace listens at a port of TCP, or receives at one of UDP, at whatever address.
///
/// Tries to bind a socket there: that takes a microsecond, however many sockets there are.
pub fn is_port_taken(namespace: &NetworkNamespace, port: u16) -> Result<bool> {
    namespace.enter(|| {
        let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        any.into_iter().any(|any| {
            let mut kinds = [SockType::Stream, SockType::Datagram].into_iter();
            kinds.any(|kind| try_bind(kind, any, port) == Err(Errno::EADDRINUSE))
        })
    })
}

fn try_bind(kind: SockType, any: IpAddr, port: u16) -> Result<(), Errno> {
    let family = match any {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?;
    if kind == SockType::Stream {
        // An ended connection does not count as a listener.
        setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    }
    if any.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
    }
    let address = SockaddrStorage::from(SocketAddr::new(any, port));
    bind(socket.as_raw_fd(), &address)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;
    use crate::Namespaces;

    fn is_taken_here(port: u16) -> bool {
        let mut namespaces = Namespaces::new(None);
        is_port_taken(namespaces.host(), port).expect("ports can be asked for")
    }

    #[test]
    fn a_port_is_taken_while_something_listens_at_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(is_taken_here(port));
        drop(listener);
        assert!(!is_taken_here(port));
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("a port");
        assert!(is_taken_here(
            receiver.local_addr().expect("an address").port()
        ));
    }
}
