//! Network namespaces: made, entered, and gone with the last descriptor.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};

use super::shown::{Showing, Shown};

/// A network namespace that lives as long as this value.
pub struct Namespace {
    file: File,
    /// What shows it, once it was looked at.
    showing: Mutex<Option<Showing>>,
}

impl Namespace {
    /// Makes an empty one. The calling thread stays where it is.
    pub fn create() -> Result<Self> {
        let file = thread::spawn(fresh_namespace)
            .join()
            .map_err(|_| anyhow!("making a network namespace panicked"))??;
        Ok(Self {
            file,
            showing: Mutex::new(None),
        })
    }

    /// Brings the calling thread inside, and the programs that it starts from now on.
    pub fn enter(&self) -> Result<()> {
        setns(&self.file, CloneFlags::CLONE_NEWNET).context("enter a network namespace")
    }

    /// A path to it that every process of this user can open.
    pub fn path(&self) -> Result<PathBuf> {
        // Not `std::process::id`: what counts is the number that the mounted /proc knows.
        let process = fs::read_link("/proc/self").context("/proc/self")?;
        Ok(PathBuf::from("/proc")
            .join(process)
            .join(format!("fd/{}", self.file.as_raw_fd())))
    }

    /// Runs `act` in a thread inside.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                act()
            });
            thread
                .join()
                .map_err(|_| anyhow!("a thread of the test panicked"))?
        })
    }

    /// What `ip` shows of it.
    pub fn shown(&self) -> Result<Shown> {
        let mut showing = self.showing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(showing) = showing.as_mut()
            && let Some(shown) = showing.show()?
        {
            return Ok(shown);
        }
        let fresh = showing.insert(self.inside(Showing::start)?);
        fresh.show()?.context("a link has two names")
    }

    /// Whether a link of this name is inside. The calling thread is inside afterwards.
    pub fn has_link(&self, name: &str) -> Result<bool> {
        self.enter()?;
        match if_nametoindex(name) {
            Ok(_) => Ok(true),
            Err(Errno::ENODEV) => Ok(false),
            Err(error) => Err(error).with_context(|| format!("look for the link `{name}`")),
        }
    }

    /// Runs commands of `ip -batch` inside. The calling thread is inside afterwards.
    pub fn ip(&self, commands: &str) -> Result<()> {
        use std::io::Write;
        self.enter()?;
        let mut ip = Command::new("ip")
            .args(["-batch", "-"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .context("run `ip`: install the package iproute2")?;
        let mut input = ip.stdin.take().expect("piped above");
        input
            .write_all(commands.as_bytes())
            .context("write to `ip`")?;
        drop(input);
        let status = ip.wait().context("wait for `ip`")?;
        ensure!(status.success(), "`ip -batch` failed, see above: {status}");
        Ok(())
    }
}

impl From<Namespace> for OwnedFd {
    fn from(namespace: Namespace) -> Self {
        namespace.file.into()
    }
}

/// Moves the calling thread to a new network namespace, and returns it.
pub fn fresh_namespace() -> Result<File> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(not_allowed)?;
    File::open("/proc/thread-self/ns/net").context("open the new network namespace")
}

fn not_allowed(error: Errno) -> anyhow::Error {
    anyhow!(error).context("make a network namespace: run this as root, or inside `unshare -Urnm`")
}
