//! Who sends and receives datagrams, to tell who reaches whom without waiting for nothing to come.
//!
//! A datagram that must not arrive is followed by one that does: what arrives first tells. A sender
//! needs no answer to find the receiver, whose MAC it is given.

use std::io::Error;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::Result;
use weir_kit::{Container, Node};

const PORT: u16 = 9000;

/// How long a datagram may take that does arrive.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Location<'a> {
    Host(&'a Node),
    Container(&'a Container),
}

/// An address on a link in a namespace.
pub struct Station<'a> {
    place: Location<'a>,
    link: String,
    address: IpAddr,
}

/// A socket that takes what arrives at a station.
pub struct Ear(UdpSocket);

/// A datagram that arrived.
#[derive(Debug, PartialEq, Eq)]
pub struct Heard {
    pub from: IpAddr,
    pub text: String,
}

impl<'a> Station<'a> {
    pub fn on_host(node: &'a Node, link: &str, address: impl Into<IpAddr>) -> Self {
        Self::new(Location::Host(node), link, address.into())
    }

    pub fn in_container(container: &'a Container, link: &str, address: impl Into<IpAddr>) -> Self {
        Self::new(Location::Container(container), link, address.into())
    }

    fn new(place: Location<'a>, link: &str, address: IpAddr) -> Self {
        let link = link.to_owned();
        Self {
            place,
            link,
            address,
        }
    }

    /// The address that its datagrams are from.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Takes what arrives from now on.
    pub fn listen(&self) -> Ear {
        let address = SocketAddr::new(self.address, PORT);
        let socket = self.inside(move || UdpSocket::bind(address));
        socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        Ear(socket)
    }

    /// Sends a datagram to a station of the same network.
    pub fn send(&self, to: &Station, text: &str) {
        let (address, mac, link) = (to.address, to.mac(), &self.link);
        self.ip(&format!(
            "neigh replace {address} lladdr {mac} dev {link} nud permanent"
        ));
        self.send_routed(to, text);
    }

    /// Sends a datagram to a station of any network.
    pub fn send_routed(&self, to: &Station, text: &str) {
        let from = SocketAddr::new(self.address, 0);
        let to = SocketAddr::new(to.address, PORT);
        let sent = self.inside(|| UdpSocket::bind(from)?.send_to(text.as_bytes(), to));
        assert_eq!(sent, text.len());
    }

    /// The MAC of its link.
    pub fn mac(&self) -> String {
        let shown = self.ip(&format!("-j link show dev {}", self.link));
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        shown[0]["address"].as_str().expect("a MAC").to_owned()
    }

    /// Gives its link another MAC.
    pub fn set_mac(&self, mac: &str) {
        self.ip(&format!("link set {} address {mac}", self.link));
    }

    fn ip(&self, words: &str) -> String {
        let output = match self.place {
            Location::Host(node) => node.ip(words),
            Location::Container(container) => container.ip(words),
        };
        output.expect("ip")
    }

    fn inside<T: Send>(&self, act: impl FnOnce() -> Result<T, Error> + Send) -> T {
        let act = || Ok(act()?);
        let done = match self.place {
            Location::Host(node) => node.inside(act),
            Location::Container(container) => container.inside(act),
        };
        done.expect("a socket of the station")
    }
}

impl Ear {
    /// The next datagram, which must arrive.
    #[track_caller]
    pub fn next(&self) -> Heard {
        let mut text = [0; 1500];
        let (length, from) = self.0.recv_from(&mut text).expect("a datagram arrives");
        Heard {
            from: from.ip(),
            text: String::from_utf8_lossy(&text[..length]).into_owned(),
        }
    }
}
