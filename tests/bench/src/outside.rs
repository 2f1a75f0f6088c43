//! A namespace beside a node's host, and the connections between it and the node's container: they show
//! whether ports are mapped and sources masqueraded, or whether a contender is fast because it does
//! nothing.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use weir_kit::Namespace;

use crate::node::Node;

/// The host's address towards the outside, and the one that it is seen with there.
const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// How long a packet may take.
const LIMIT: Duration = Duration::from_secs(2);

/// A port of the host and the port of the container that it leads to.
#[derive(Clone, Copy)]
pub struct Port {
    pub host: u16,
    pub container: u16,
}

pub struct Outside {
    namespace: Namespace,
    tcp: Port,
    udp: Port,
    /// In the container, at the ports that the host's lead to.
    listener: TcpListener,
    receiver: UdpSocket,
    /// In the container, at a port that nothing comes to: an answer would go back the way that the
    /// question came, masqueraded or not.
    sender: UdpSocket,
}

impl Outside {
    /// Connects a new one with the node's host, and has the container listen.
    pub fn connect(node: &Node, tcp: Port, udp: Port) -> Result<Self> {
        let namespace = Namespace::create()?;
        let path = namespace.path()?;
        node.host.ip(&format!(
            "link add out type veth peer name eth0 netns {}\n\
             address add {HOST}/24 dev out\n\
             link set out up\n",
            path.display()
        ))?;
        namespace.ip(&format!(
            "address add {OUTSIDE}/24 dev eth0\n\
             link set eth0 up\n"
        ))?;
        node.container.enter()?;
        Ok(Self {
            namespace,
            tcp,
            udp,
            listener: TcpListener::bind((Ipv4Addr::UNSPECIFIED, tcp.container))?,
            receiver: bind(udp.container)?,
            sender: bind(0)?,
        })
    }

    /// An error unless both ports lead to the container, and it comes out with the host's address.
    pub fn must_be_mapped(&self) -> Result<()> {
        self.call()?.context("the mapping of TCP")?;
        self.listener.accept()?;
        let socket = self.datagram().context("the mapping of UDP")?;
        let source = self.source_seen(&socket).context("the way out")?;
        ensure!(
            source == HOST,
            "the container is seen outside as {source}: it is not masqueraded"
        );
        Ok(())
    }

    /// An error unless the host itself answers at its port, where nothing listens.
    pub fn must_not_be_mapped(&self) -> Result<()> {
        match self.call()? {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
            answer => bail!("a port that is not mapped any more answers with {answer:?}"),
        }
    }

    /// A connection to the host's port.
    fn call(&self) -> Result<io::Result<TcpStream>> {
        self.namespace.enter()?;
        let address = SocketAddr::from((HOST, self.tcp.host));
        Ok(TcpStream::connect_timeout(&address, LIMIT))
    }

    /// Sends a datagram to the host's port, until it is in the container; the socket that it came from.
    fn datagram(&self) -> Result<UdpSocket> {
        self.namespace.enter()?;
        let socket = bind(0)?;
        socket.send_to(b"in", (HOST, self.udp.host))?;
        self.receiver.recv_from(&mut [0; 8])?;
        Ok(socket)
    }

    /// The source with which a datagram of the container comes to a socket outside.
    fn source_seen(&self, socket: &UdpSocket) -> Result<IpAddr> {
        self.sender
            .send_to(b"out", (OUTSIDE, socket.local_addr()?.port()))?;
        let (_, source) = socket.recv_from(&mut [0; 8])?;
        Ok(source.ip())
    }
}

fn bind(port: u16) -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
    socket.set_read_timeout(Some(LIMIT))?;
    Ok(socket)
}
