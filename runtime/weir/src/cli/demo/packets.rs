//! Real packets between containers: TCP streams and ICMP echoes.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recv, sendto,
    setsockopt, socket, sockopt::ReceiveTimeout,
};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::cli::scratch_node::Container;

const PATIENCE: Duration = Duration::from_secs(5);
const MESSAGE: &[u8] = b"through the weir";

/// Sends a message over TCP to a container, and back. The server listens at `inside` and is reached at `outside`, without
/// `from` from the host.
pub fn exchange(
    from: Option<&Container>,
    to: &Container,
    inside: SocketAddr,
    outside: SocketAddr,
) -> Result<()> {
    let (ready, listening) = mpsc::channel();
    thread::scope(|scope| {
        let server = scope.spawn(|| to.enter(move || echo(inside, &ready)));
        let listens = listening.recv_timeout(PATIENCE);
        listens.context("the server does not listen")?;
        match from {
            Some(from) => from.enter(|| talk(outside))?,
            None => talk(outside)?,
        }
        server.join().map_err(|_| anyhow!("the server panicked"))?
    })
}

fn echo(address: SocketAddr, ready: &mpsc::Sender<()>) -> Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("listen on {address}"))?;
    setsockopt(
        &listener,
        ReceiveTimeout,
        &TimeVal::seconds(PATIENCE.as_secs().cast_signed()),
    )?;
    ready.send(())?;
    let (mut stream, _) = listener.accept().context("no connection")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut message = [0; MESSAGE.len()];
    stream.read_exact(&mut message)?;
    stream.write_all(&message).context("answer")
}

fn talk(server: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)
        .with_context(|| format!("connect to {server}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(MESSAGE)?;
    let mut answer = [0; MESSAGE.len()];
    stream.read_exact(&mut answer).context("read the answer")?;
    ensure!(answer == MESSAGE, "the answer is different");
    Ok(())
}

/// Sends an ICMP echo request from a container and waits for the reply.
pub fn ping(from: &Container, target: IpAddr) -> Result<()> {
    let IpAddr::V4(target) = target else {
        bail!("the demo pings IPv4 addresses");
    };
    from.enter(move || echo_request(target))
}

fn echo_request(target: Ipv4Addr) -> Result<()> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::Icmp,
    )
    .context("open a raw socket")?;
    setsockopt(&socket, ReceiveTimeout, &TimeVal::milliseconds(100))?;
    let request = icmp_echo(0x7765, 1);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let to = SockaddrIn::from(std::net::SocketAddrV4::new(target, 0));
        sendto(socket.as_raw_fd(), &request, &to, MsgFlags::empty())
            .with_context(|| format!("send to {target}"))?;
        if hears_reply(socket.as_raw_fd(), target) {
            return Ok(());
        }
    }
    bail!("{target} does not answer")
}

/// Reads packets until the reply of `target`, or a timeout.
fn hears_reply(socket: i32, target: Ipv4Addr) -> bool {
    const HEADER: usize = 20;
    let mut packet = [0; 256];
    while let Ok(length) = recv(socket, &mut packet, MsgFlags::empty()) {
        let is_reply = length > HEADER && packet[HEADER] == 0;
        if is_reply && packet[12..16] == target.octets() {
            return true;
        }
    }
    false
}

/// An ICMP echo request (RFC 792) with its checksum.
fn icmp_echo(identifier: u16, sequence: u16) -> Vec<u8> {
    let mut packet = vec![8, 0, 0, 0];
    packet.extend(identifier.to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    packet.extend(MESSAGE);
    let words = packet
        .chunks(2)
        .map(|pair| [pair[0], *pair.get(1).unwrap_or(&0)]);
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(word))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(folded as u16 + (folded >> 16) as u16);
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
    packet
}
