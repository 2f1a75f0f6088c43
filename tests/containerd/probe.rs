//! Connections that are really made: whether a client reaches a server, and as whom it is seen there.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::{TimeVal, TimeValLike};
use weir_kit::patiently;

/// How long the other side may take.
const LIMIT: Duration = Duration::from_secs(5);

const QUESTION: &[u8] = b"who am I?";
const ANSWER: &[u8] = b"you are you";

/// A socket of each protocol, in the network namespace in which it was bound.
pub struct Server {
    tcp: TcpListener,
    udp: UdpSocket,
}

impl Server {
    /// In the calling thread's network namespace.
    pub fn bind(tcp: u16, udp: u16) -> Result<Self> {
        let server = Self {
            tcp: TcpListener::bind(("0.0.0.0", tcp))?,
            udp: UdpSocket::bind(("0.0.0.0", udp))?,
        };
        let limit = TimeVal::seconds(LIMIT.as_secs().try_into()?);
        for socket in [server.tcp.as_fd(), server.udp.as_fd()] {
            setsockopt(&socket, ReceiveTimeout, &limit)?;
        }
        Ok(server)
    }

    /// As whom the server sees this client, after a word in each direction.
    pub fn sees_tcp(&self, mut client: TcpStream) -> Result<IpAddr> {
        let (mut accepted, from) = self.tcp.accept().context("no connection has come")?;
        accepted.set_read_timeout(Some(LIMIT))?;
        client.set_read_timeout(Some(LIMIT))?;
        client.write_all(QUESTION)?;
        expect(QUESTION, |buffer| accepted.read(buffer))?;
        accepted.write_all(ANSWER)?;
        expect(ANSWER, |buffer| client.read(buffer))?;
        Ok(from.ip())
    }

    /// As [`Server::sees_tcp`].
    pub fn sees_udp(&self, client: &UdpSocket) -> Result<IpAddr> {
        client.send(QUESTION)?;
        let mut from = None;
        expect(QUESTION, |buffer| {
            let (length, sender) = self.udp.recv_from(buffer)?;
            from = Some(sender);
            Ok(length)
        })?;
        let from = from.context("no sender")?;
        self.udp.send_to(ANSWER, from)?;
        expect(ANSWER, |buffer| client.recv(buffer))?;
        Ok(from.ip())
    }
}

fn expect(word: &[u8], mut read: impl FnMut(&mut [u8]) -> std::io::Result<usize>) -> Result<()> {
    let mut buffer = [0; 64];
    let length = patiently(|| read(&mut buffer)).context("nothing has come")?;
    ensure!(&buffer[..length] == word, "{:?}", &buffer[..length]);
    Ok(())
}

/// A client of TCP in the calling thread's network namespace.
pub fn tcp(to: SocketAddr) -> Result<TcpStream> {
    TcpStream::connect_timeout(&to, LIMIT).with_context(|| format!("connect to {to}"))
}

/// A client of UDP there, which keeps its port and hears only whom it asks.
pub fn udp(to: SocketAddr) -> Result<UdpSocket> {
    let client = UdpSocket::bind("0.0.0.0:0")?;
    client.set_read_timeout(Some(LIMIT))?;
    client.connect(to)?;
    Ok(client)
}

/// Fails unless a client of UDP is told that nobody is there.
pub fn expect_refused(client: &UdpSocket) -> Result<()> {
    let refused = client
        .send(QUESTION)
        .and_then(|_| patiently(|| client.recv(&mut [0; 64])));
    let kind = refused.as_ref().map_err(std::io::Error::kind);
    ensure!(
        kind == Err(std::io::ErrorKind::ConnectionRefused),
        "not refused: {refused:?}"
    );
    Ok(())
}
