//! Connections that are really made: a server that tells each client as whom it sees it, and clients in
//! any place.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Result, anyhow};
use weir_kit::{Container, patiently};

use crate::side::Side;

/// How long an answer may take. What is refused is answered at once, and what is dropped is not worth
/// a longer wait.
const LIMIT: Duration = Duration::from_millis(1500);

/// How often the server looks whether it is to end.
const POLL: Duration = Duration::from_millis(20);

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Host,
    Container(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
}

impl Origin {
    fn inside<T: Send>(self, side: &Side, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        match self {
            Self::Host => side.node.inside(act),
            Self::Container(number) => side.containers[number].inside(act),
        }
    }
}

/// One connection to be made.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    from: Origin,
    protocol: Protocol,
    to: SocketAddr,
}

impl Probe {
    pub fn new(from: Origin, protocol: Protocol, to: &str, port: u16) -> Self {
        let to: IpAddr = to.parse().expect("an address");
        Self {
            from,
            protocol,
            to: SocketAddr::new(to, port),
        }
    }

    /// As whom the server sees the client; none where no answer comes.
    pub fn answer(self, side: &Side) -> Result<Option<String>> {
        match self.protocol {
            Protocol::Tcp => self.from.inside(side, || Ok(by_tcp(self.to))),
            Protocol::Udp => self.client(side)?.ask(),
        }
    }

    /// A client of UDP that keeps its port.
    pub fn client(self, side: &Side) -> Result<Client> {
        self.from.inside(side, || {
            let any = if self.to.is_ipv4() {
                "0.0.0.0:0"
            } else {
                "[::]:0"
            };
            let socket = UdpSocket::bind(any)?;
            socket.set_read_timeout(Some(LIMIT))?;
            socket.connect(self.to)?;
            Ok(Client(socket))
        })
    }
}

fn by_tcp(to: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&to, LIMIT).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer).filter(|answer| !answer.is_empty())
}

/// A client of UDP, which hears only whom it asked.
pub struct Client(UdpSocket);

impl Client {
    /// As whom the server sees it; none where no answer comes.
    pub fn ask(&self) -> Result<Option<String>> {
        if self.0.send(b"who am I?").is_err() {
            return Ok(None);
        }
        let mut buffer = [0; 64];
        match patiently(|| self.0.recv(&mut buffer)) {
            Ok(length) => Ok(Some(
                String::from_utf8_lossy(&buffer[..length]).into_owned(),
            )),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused => {
                    Ok(None)
                }
                _ => Err(anyhow!(error).context("receive an answer")),
            },
        }
    }
}

/// A server of both protocols and families in a container, until it is dropped.
pub struct Server {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    pub fn start(container: &Container, port: u16) -> Result<Self> {
        let any = SocketAddr::new("::".parse()?, port);
        let (listener, socket) =
            container.inside(|| Ok((TcpListener::bind(any)?, UdpSocket::bind(any)?)))?;
        listener.set_nonblocking(true)?;
        socket.set_read_timeout(Some(POLL))?;
        let stop = Arc::new(AtomicBool::new(false));
        let until = |stop: &Arc<AtomicBool>| {
            let stop = Arc::clone(stop);
            move || !stop.load(Ordering::Relaxed)
        };
        let (of_tcp, of_udp) = (until(&stop), until(&stop));
        Ok(Self {
            threads: vec![
                thread::spawn(move || serve_tcp(&listener, of_tcp)),
                thread::spawn(move || serve_udp(&socket, of_udp)),
            ],
            stop,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve_tcp(listener: &TcpListener, goes_on: impl Fn() -> bool) {
    while goes_on() {
        match listener.accept() {
            Ok((mut stream, client)) => {
                let _ = stream.write_all(seen(client).as_bytes());
            }
            Err(_) => thread::sleep(POLL),
        }
    }
}

fn serve_udp(socket: &UdpSocket, goes_on: impl Fn() -> bool) {
    let mut buffer = [0; 64];
    while goes_on() {
        if let Ok((_, client)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(seen(client).as_bytes(), client);
        }
    }
}

fn seen(client: SocketAddr) -> String {
    client.ip().to_canonical().to_string()
}
