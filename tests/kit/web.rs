//! A web server with the files of a test, which remembers what was asked for.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use anyhow::Result;
use nix::sys::socket::{Shutdown, shutdown};

use super::node::Node;

#[derive(Default)]
struct Content {
    /// By their paths.
    files: BTreeMap<String, Vec<u8>>,
    paths: Vec<String>,
}

/// It listens on loopback, and ends when it is dropped.
pub struct Web {
    listener: TcpListener,
    content: Arc<Mutex<Content>>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    /// One in the namespace of a node.
    pub fn on(node: &Node) -> Result<Self> {
        let listener = node.inside(|| Ok(TcpListener::bind("127.0.0.1:0")?))?;
        let content: Arc<Mutex<Content>> = Arc::default();
        let thread = thread::spawn({
            let (listener, content) = (listener.try_clone()?, Arc::clone(&content));
            move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    // A client that goes away is not the server's error.
                    let _ = serve(&stream, &content);
                }
            }
        });
        Ok(Self {
            listener,
            content,
            thread: Some(thread),
        })
    }

    /// The URL of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        let address = self.listener.local_addr().expect("it is bound");
        format!("http://{address}{path}")
    }

    /// Has a file at a path from now on.
    pub fn put(&self, path: &str, file: &[u8]) {
        let mut content = locked(&self.content);
        content.files.insert(path.to_owned(), file.to_vec());
    }

    pub fn remove(&self, path: &str) {
        locked(&self.content).files.remove(path);
    }

    /// The paths that were asked for since the last time.
    pub fn requested_paths(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.content).paths)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // Ends `accept`.
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn locked(content: &Mutex<Content>) -> MutexGuard<'_, Content> {
    content.lock().expect("not poisoned")
}

fn serve(mut stream: &TcpStream, content: &Mutex<Content>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let file = {
        let mut content = locked(content);
        content.paths.push(path.clone());
        content.files.get(&path).cloned()
    };
    let status = if file.is_some() { 200 } else { 404 };
    let body = file.unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}
