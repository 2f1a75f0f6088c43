//! How much TCP gets through in a second.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Longer than a burst lasts, and TCP needs to find its speed.
const WARM_UP: Duration = Duration::from_secs(1);

/// How long is measured.
const MEASURED: Duration = Duration::from_secs(1);

/// The bits of payload that arrive in a second, from one end of a connection at the other.
pub fn throughput(mut sender: TcpStream, mut receiver: TcpStream) -> Result<f64> {
    sender.set_write_timeout(Some(LIMIT))?;
    receiver.set_read_timeout(Some(LIMIT))?;
    let sending = thread::spawn(move || {
        let block = [0; 1 << 16];
        // Until the receiver has gone away.
        while sender.write_all(&block).is_ok() {}
    });
    let received = receive(&mut receiver, WARM_UP).and_then(|_| receive(&mut receiver, MEASURED));
    drop(receiver);
    sending
        .join()
        .map_err(|_| anyhow!("the sending thread panicked"))?;
    let (bytes, time) = received?;
    Ok(bytes as f64 * 8.0 / time.as_secs_f64())
}

/// Reads for some time: how many bytes, and how long it was.
fn receive(receiver: &mut TcpStream, time: Duration) -> Result<(u64, Duration)> {
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    let start = Instant::now();
    while start.elapsed() < time {
        let length = match receiver.read(&mut buffer) {
            // Somebody has stopped the process for a moment.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.context("nothing arrives")?,
        };
        ensure!(length > 0, "the sender has gone away");
        bytes += length as u64;
    }
    Ok((bytes, start.elapsed()))
}
