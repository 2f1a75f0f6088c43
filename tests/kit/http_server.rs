//! An HTTP server on loopback that answers as a test says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A request that a server got.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// With the query.
    pub path: String,
    /// By their names in lowercase.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

#[derive(Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// What it claims the body's length to be.
    length: usize,
    /// After each byte of the body.
    pause: Option<Duration>,
    /// Whether it says no more, and does not close the connection either.
    stalls: bool,
}

impl Answer {
    pub fn ok(body: &[u8]) -> Self {
        Self::status(200).with_body(body)
    }

    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            length: 0,
            pause: None,
            stalls: false,
        }
    }

    pub fn with_body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self.length = body.len();
        self
    }

    pub fn with(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((header, value.into()));
        self
    }

    /// Sends no more than so many bytes of the body, and closes the connection.
    pub fn broken_off(mut self, after: usize) -> Self {
        self.body.truncate(after);
        self
    }

    pub fn stalling(mut self) -> Self {
        self.stalls = true;
        self
    }

    pub fn slowly(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    fn send(&self, mut stream: &TcpStream, stopped: &AtomicBool) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", self.status);
        head += &format!("content-length: {}\r\n", self.length);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        match self.pause {
            None => stream.write_all(&self.body)?,
            Some(pause) => {
                for byte in &self.body {
                    stream.write_all(&[*byte])?;
                    thread::sleep(pause);
                }
            }
        }
        while self.stalls && !stopped.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// It ends when this is dropped.
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let (seen, stopped) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let thread = thread::spawn({
            let (seen, stopped): (Arc<Mutex<Vec<Seen>>>, _) =
                (Arc::clone(&seen), Arc::clone(&stopped));
            move || {
                let answer = &answer;
                thread::scope(|scope| {
                    for stream in listener.incoming().map_while(Result::ok) {
                        if stopped.load(Ordering::Relaxed) {
                            break;
                        }
                        let (seen, stopped) = (&seen, &stopped);
                        scope.spawn(move || {
                            let Some(request) = read(&stream) else { return };
                            seen.lock().expect("not poisoned").push(request.clone());
                            // A client that goes away is not the server's error.
                            let _ = answer(&request).send(&stream, stopped);
                        });
                    }
                });
            }
        });
        Self {
            address,
            seen,
            stopped,
            thread: Some(thread),
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("not poisoned").clone()
    }

    /// The paths of the requests, without `/v2/plugins/NAME/`.
    pub fn paths(&self) -> Vec<String> {
        let seen = self.seen().into_iter();
        seen.map(|seen| in_repository(&seen.path).to_owned())
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes it up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What follows the name of a repository in a path of a registry; the whole path of any other.
fn in_repository(path: &str) -> &str {
    let within = path.strip_prefix("/v2/plugins/");
    within
        .and_then(|within| within.split_once('/'))
        .map_or(path, |(_, rest)| rest)
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let header = line()?;
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length");
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        method,
        path,
        headers,
        body,
    })
}
