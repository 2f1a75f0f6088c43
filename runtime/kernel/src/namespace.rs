//! The two network namespaces of an invocation, and the netlink sockets in each.
//!
//! What must happen inside the container's namespace, such as opening its socket, runs as one closure there; at all other
//! times every thread of the process is in the host's namespace.

use std::cell::RefCell;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use nix::sched::CloneFlags;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::fstat;
use weir_grant::Namespace;
use weir_grant::link::LinkFacts;

use super::error::{Code, Error, Result, WhileDoing as _};
use super::netlink::{NetfilterSocket, Notifications, RouteSocket, Wait};
use super::netns::enter;

nix::ioctl_none_bad!(ns_get_nstype, 0xb703);
nix::ioctl_none_bad!(siocgskns, 0x894c);

/// The magic number of the file system that namespaces live in.
const NSFS_MAGIC: i64 = 0x6e73_6673;

/// Opens the network namespace at `path` for use as the container's. `may_be_own` allows the one that weir itself runs in.
///
/// Errors: `NotFound` if `path` is not a network namespace (any more); `Invalid` for weir's own without `may_be_own`.
pub fn open_container(path: &Path, may_be_own: bool) -> Result<OwnedFd> {
    let shown = path.display();
    let gone = || Error::not_found(format!("no network namespace at `{shown}`"));
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => gone(),
        _ => Error::from(error).while_doing(format_args!("open `{shown}`")),
    })?;
    if !is_network_namespace(&file)? {
        return Err(gone());
    }
    if !may_be_own && is_own_namespace(&file)? {
        return Err(Error::invalid(format!(
            "`{shown}` is the host's own network namespace"
        )));
    }
    Ok(file.into())
}

fn is_network_namespace(file: &File) -> Result<bool> {
    let system = nix::sys::statfs::fstatfs(file)?;
    if system.filesystem_type().0 as i64 != NSFS_MAGIC {
        return Ok(false);
    }
    // SAFETY: the request takes no argument and the descriptor is open.
    let kind = unsafe { ns_get_nstype(file.as_raw_fd()) }?;
    Ok(kind == CloneFlags::CLONE_NEWNET.bits())
}

fn is_own_namespace(file: &File) -> Result<bool> {
    is_same(file, &own()?)
}

/// The namespace of the calling thread, which is the process's. Asking a socket takes a tenth of the time that
/// opening it in `/proc` does.
///
/// Errors: `Failed` without `CAP_NET_ADMIN` there.
fn own() -> Result<OwnedFd> {
    let opened = || {
        let socket = socket(
            AddressFamily::Unix,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )?;
        of_socket(&socket)
    };
    opened().while_doing("open the process's network namespace")
}

/// The namespace that a socket is in.
fn of_socket(socket: &impl AsRawFd) -> nix::Result<OwnedFd> {
    // SAFETY: the request takes no argument and the descriptor is open.
    let descriptor = unsafe { siocgskns(socket.as_raw_fd()) }?;
    // SAFETY: the kernel made the descriptor for this call, close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn is_same(a: &impl AsFd, b: &impl AsFd) -> Result<bool> {
    let (a, b) = (fstat(a)?, fstat(b)?);
    Ok((a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

thread_local! {
    /// The host's nfnetlink socket between two invocations. To close one takes the kernel 10 to 20 ms where elements of
    /// nftables were deleted, so the plugins of a list, which come one after another, have one between them.
    static KEPT: RefCell<Option<NetfilterSocket>> = const { RefCell::new(None) };
}

/// The two network namespaces of one invocation.
pub struct Namespaces {
    host: NetworkNamespace,
    container: Option<NetworkNamespace>,
}

impl Namespaces {
    /// Returns the namespace that the process is in, and the container's where there is one.
    pub fn new(container: Option<OwnedFd>) -> Self {
        let home = Home::default();
        Self {
            host: NetworkNamespace::at_home(home.clone()),
            container: container.map(|opened| NetworkNamespace::elsewhere(opened, home)),
        }
    }

    /// Makes a host whose sockets, for rtnetlink and nfnetlink, an input answers.
    #[cfg(feature = "fuzzing")]
    pub fn with_peers(route: OwnedFd, netfilter: OwnedFd) -> Self {
        let host = NetworkNamespace {
            route: Some(RouteSocket::with_peer(route)),
            netfilter: Some(NetfilterSocket::with_peer(netfilter)),
            ..NetworkNamespace::at_home(Home::default())
        };
        Self {
            host,
            container: None,
        }
    }

    /// Whether there is a container namespace.
    pub fn has_container(&self) -> bool {
        self.container.is_some()
    }

    /// Returns the one that the process is in.
    pub fn host(&mut self) -> &mut NetworkNamespace {
        &mut self.host
    }

    /// One of the two. Errors: `NoNamespace`.
    pub fn of(&mut self, namespace: Namespace) -> Result<&mut NetworkNamespace> {
        match namespace {
            Namespace::Host => Ok(&mut self.host),
            Namespace::Container => self.container.as_mut().ok_or_else(no_namespace),
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        if let Some(socket) = self.host.netfilter.take() {
            // A thread that is ending has no next invocation.
            let _ = KEPT.try_with(|kept| kept.replace(Some(socket)));
        }
    }
}

/// One network namespace, and the sockets in it, which are opened when they are first used.
pub struct NetworkNamespace {
    which: Namespace,
    /// None for the one that the process is in.
    opened: Option<OwnedFd>,
    home: Home,
    route: Option<RouteSocket>,
    netfilter: Option<NetfilterSocket>,
}

impl NetworkNamespace {
    fn at_home(home: Home) -> Self {
        Self {
            which: Namespace::Host,
            opened: None,
            home,
            route: None,
            netfilter: None,
        }
    }

    fn elsewhere(opened: OwnedFd, home: Home) -> Self {
        Self {
            which: Namespace::Container,
            opened: Some(opened),
            ..Self::at_home(home)
        }
    }

    /// Returns which of the two it is.
    pub fn which(&self) -> Namespace {
        self.which
    }

    /// Runs `act` in the namespace. Errors: `Failed` when the thread cannot enter.
    pub fn enter<T>(&self, act: impl FnOnce() -> T) -> Result<T> {
        match &self.opened {
            None => Ok(act()),
            Some(opened) => enter(opened.as_fd(), self.home.descriptor()?, act),
        }
    }

    /// Its descriptor, as `IFLA_NET_NS_FD` wants it.
    pub(crate) fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        match &self.opened {
            None => self.home.descriptor(),
            Some(opened) => Ok(opened.as_fd()),
        }
    }

    /// The rtnetlink socket.
    pub(crate) fn route(&mut self) -> Result<&mut RouteSocket> {
        if self.route.is_none() {
            self.route = Some(self.enter(RouteSocket::open)??);
        }
        Ok(self.route.as_mut().expect("opened above"))
    }

    /// Waits until `state` returns none: what a link is like instead of what is waited for.
    ///
    /// Errors: those of `state`; `TimedOut` with what it returned last.
    pub(crate) fn wait(
        &mut self,
        wait: &Wait,
        group: u32,
        link: &LinkFacts,
        mut state: impl FnMut(&mut Self) -> Result<Option<String>>,
    ) -> Result<()> {
        if state(self)?.is_none() {
            return Ok(());
        }
        let mut changes = self.enter(|| Notifications::subscribe(group))??;
        while let Some(state) = state(self)? {
            if !changes.next(wait, link.index)? {
                return Err(wait.timed_out(state));
            }
        }
        Ok(())
    }

    /// Runs `act` with the nfnetlink socket.
    ///
    /// The socket stays open for the next time, unless something was refused: what the kernel still
    /// says of a refused batch is not for another.
    pub(crate) fn netfilter<T>(
        &mut self,
        act: impl FnOnce(&mut NetfilterSocket) -> Result<T>,
    ) -> Result<T> {
        let mut socket = match self.netfilter.take() {
            Some(socket) => socket,
            None => self.open_netfilter()?,
        };
        let done = act(&mut socket)?;
        self.netfilter = Some(socket);
        Ok(done)
    }

    fn open_netfilter(&self) -> Result<NetfilterSocket> {
        if self.opened.is_none()
            && let Some(socket) = KEPT.take()
            && is_of_own(&socket).unwrap_or(false)
        {
            return Ok(socket);
        }
        self.enter(NetfilterSocket::open)?
    }
}

/// Whether a socket is of the namespace that the process is in.
fn is_of_own(socket: &NetfilterSocket) -> Result<bool> {
    is_same(&of_socket(socket)?, &own()?)
}

/// The namespace that the process is in: opened once, by whichever of the two namespaces needs it first.
#[derive(Clone, Default)]
struct Home(Arc<OnceLock<OwnedFd>>);

impl Home {
    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        if self.0.get().is_none() {
            // Where another thread was first, its descriptor is as good.
            let _ = self.0.set(own()?);
        }
        Ok(self.0.get().expect("opened above").as_fd())
    }
}

fn no_namespace() -> Error {
    Error::new(
        Code::NoNamespace,
        "this invocation has no container namespace",
    )
}
