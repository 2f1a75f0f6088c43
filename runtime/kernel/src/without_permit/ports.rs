//! Whether the host itself uses a port: for the gate.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, SockaddrIn6, SockaddrLike, bind, setsockopt,
    socket, sockopt,
};

use crate::error::Result;
use crate::namespace::NetworkNamespace;

/// Whether a socket in the namespace listens at a port of TCP, or receives at one of UDP, at whatever address.
///
/// The kernel is asked to bind one there, which it refuses: that takes a microsecond, however many sockets there are.
pub fn is_port_taken(namespace: &NetworkNamespace, port: u16) -> Result<bool> {
    namespace.enter(|| {
        let families = [
            (AddressFamily::Inet, SockType::Stream),
            (AddressFamily::Inet, SockType::Datagram),
            (AddressFamily::Inet6, SockType::Stream),
            (AddressFamily::Inet6, SockType::Datagram),
        ];
        families
            .into_iter()
            .any(|(family, kind)| try_bind(family, kind, port) == Err(Errno::EADDRINUSE))
    })
}

fn try_bind(family: AddressFamily, kind: SockType, port: u16) -> Result<(), Errno> {
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?;
    if kind == SockType::Stream {
        // A connection that has ended is no listener.
        setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    }
    match family {
        AddressFamily::Inet6 => {
            setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
            let any = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0);
            bind_to(&socket, &SockaddrIn6::from(any))
        }
        _ => {
            let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
            bind_to(&socket, &SockaddrIn::from(any))
        }
    }
}

fn bind_to(socket: &impl AsRawFd, address: &dyn SockaddrLike) -> Result<(), Errno> {
    bind(socket.as_raw_fd(), address)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use weir_grant::Namespace;

    use super::*;
    use crate::Namespaces;

    fn is_taken_here(port: u16) -> bool {
        {
            let mut namespaces = Namespaces::new(None);
            let host = namespaces.of(Namespace::Host).expect("the host is there");
            is_port_taken(host, port).expect("ports can be asked for")
        }
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
