//! A way from a node's network namespace to an API server outside: what is sent at one end comes out at the
//! other, and TLS is between the two behind them.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use anyhow::{Context, Result};
use nix::sys::socket;

use super::super::node::Node;
use super::host;

/// The port of a URL that does not say.
const HTTPS: u16 = 443;

/// It lasts as long as this value; the connections that it has made end by themselves.
pub(super) struct Relay {
    listener: TcpListener,
    address: SocketAddr,
}

impl Relay {
    /// Listens in the node's namespace, and connects in the caller's.
    pub(super) fn start(node: &Node, server: &str) -> Result<Self> {
        let listener = node.inside(|| Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?))?;
        let address = listener.local_addr()?;
        let server = authority(server);
        let accepting = listener.try_clone()?;
        thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || serve(&accepting, &server))
            .context("start the relay")?;
        Ok(Self { listener, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Relay {
    /// Wakes the thread that accepts, for which there is nothing to accept any more.
    fn drop(&mut self) {
        let _ = socket::shutdown(self.listener.as_raw_fd(), socket::Shutdown::Both);
    }
}

/// Host and port.
fn authority(url: &str) -> String {
    let host = host(url);
    let rest = url.trim_start_matches("https://").trim_start_matches(host);
    let port = rest.trim_start_matches(':').split('/').next();
    let port = port.and_then(|port| port.parse().ok()).unwrap_or(HTTPS);
    format!("{host}:{port}")
}

fn serve(listener: &TcpListener, server: &str) {
    while let Ok((near, _)) = listener.accept() {
        // If the server cannot be reached, the connection ends.
        if let Ok(far) = TcpStream::connect(server) {
            let _ = join(near, far);
        }
    }
}

fn join(near: TcpStream, far: TcpStream) -> io::Result<()> {
    let (from_near, from_far) = (near.try_clone()?, far.try_clone()?);
    thread::spawn(move || carry(from_near, far));
    thread::spawn(move || carry(from_far, near));
    Ok(())
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
