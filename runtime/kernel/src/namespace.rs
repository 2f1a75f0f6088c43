//! The two network namespaces of an invocation, and the netlink sockets in each.
//!
//! What must happen inside the container's namespace, such as opening its socket, is done in a short
//! visit; between visits every thread of the process is in the host's.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::sched::CloneFlags;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use weir_grant::Namespace;

use super::error::{Code, Error};
use super::netlink::NetfilterSocket;
use super::netlink::RouteSocket;
use super::visit::visit;

nix::ioctl_none_bad!(ns_get_nstype, 0xb703);
nix::ioctl_none_bad!(siocgskns, 0x894c);

/// The magic number of the file system that namespaces live in.
const NSFS_MAGIC: i64 = 0x6e73_6673;

/// Why a path cannot be the container's namespace.
#[derive(Debug)]
pub enum OpenError {
    /// There is no network namespace at the path, or not any more.
    Gone(String),
    /// It is the namespace that weir itself runs in.
    Host(String),
    /// It cannot be told.
    Failed(Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(path) => write!(f, "there is no network namespace at `{path}`"),
            Self::Host(path) => write!(f, "`{path}` is the host's own network namespace"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Opens the network namespace at `path` for use as the container's. `may_be_own`: the caller says that it may be the one
/// that weir itself runs in.
pub fn open_container(path: &Path, may_be_own: bool) -> Result<OwnedFd, OpenError> {
    let shown = path.display().to_string();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::Gone(shown));
        }
        Err(error) => {
            return Err(Error::from(error)
                .while_doing(format!("open `{shown}`"))
                .into());
        }
    };
    if !is_network_namespace(&file)? {
        return Err(OpenError::Gone(shown));
    }
    if !may_be_own && is_own_namespace(&file)? {
        return Err(OpenError::Host(shown));
    }
    Ok(file.into())
}

fn is_network_namespace(file: &File) -> Result<bool, Error> {
    let system = nix::sys::statfs::fstatfs(file)?;
    if system.filesystem_type().0 as i64 != NSFS_MAGIC {
        return Ok(false);
    }
    // SAFETY: the request takes no argument and the descriptor is open.
    let kind = unsafe { ns_get_nstype(file.as_raw_fd()) }?;
    Ok(kind == CloneFlags::CLONE_NEWNET.bits())
}

fn is_own_namespace(file: &File) -> Result<bool, Error> {
    let (file, own) = (file.metadata()?, File::from(own()?).metadata()?);
    Ok((file.dev(), file.ino()) == (own.dev(), own.ino()))
}

/// The namespace of the calling thread, which is the process's. A socket knows it; `/proc` does,
/// too, but takes ten times as long.
///
/// Errors: `Failed` without `CAP_NET_ADMIN` there.
fn own() -> Result<OwnedFd, Error> {
    let asked = || {
        let socket = socket(
            AddressFamily::Unix,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )?;
        // SAFETY: the request takes no argument and the descriptor is open.
        unsafe { siocgskns(socket.as_raw_fd()) }
    };
    let descriptor =
        asked().map_err(|e| Error::from(e).while_doing("open the process's network namespace"))?;
    // SAFETY: the kernel made the descriptor for this call, close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The namespaces of one invocation. Sockets are opened when they are first used.
pub struct Namespaces {
    host: Place,
    container: Option<Place>,
}

#[derive(Default)]
struct Place {
    namespace: Option<OwnedFd>,
    route: Option<RouteSocket>,
    netfilter: Option<NetfilterSocket>,
}

impl Namespaces {
    /// The namespace that the process is in, and the container's where there is one.
    pub fn new(container: Option<OwnedFd>) -> Self {
        Self {
            host: Place::default(),
            container: container.map(|namespace| Place {
                namespace: Some(namespace),
                ..Place::default()
            }),
        }
    }

    /// A host whose sockets, for rtnetlink and nfnetlink, the fuzz targets answer.
    #[cfg(fuzzing)]
    pub fn with_peers(route: OwnedFd, netfilter: OwnedFd) -> Self {
        let host = Place {
            namespace: None,
            route: Some(RouteSocket::with_peer(route)),
            netfilter: Some(NetfilterSocket::with_peer(netfilter)),
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

    /// The rtnetlink socket of a namespace. Errors: `NoNamespace`.
    pub(super) fn route(&mut self, namespace: Namespace) -> Result<&mut RouteSocket, Error> {
        if self.place(namespace)?.route.is_none() {
            let socket = self.enter(namespace, RouteSocket::open)??;
            self.place(namespace)?.route = Some(socket);
        }
        let opened = self.place(namespace)?.route.as_mut();
        Ok(opened.expect("opened above"))
    }

    /// Runs `act` with the nfnetlink socket of a namespace. Errors: `NoNamespace`.
    ///
    /// The socket stays open for the next time, unless something was refused: what the kernel still
    /// says of a refused batch is not for another. To close it takes the kernel ten milliseconds where
    /// elements of nftables were deleted, in which an invocation has better to do.
    pub(super) fn netfilter<T>(
        &mut self,
        namespace: Namespace,
        act: impl FnOnce(&mut NetfilterSocket) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut socket = match self.place(namespace)?.netfilter.take() {
            Some(socket) => socket,
            None => self.enter(namespace, NetfilterSocket::open)??,
        };
        let done = act(&mut socket)?;
        self.place(namespace)?.netfilter = Some(socket);
        Ok(done)
    }

    /// Runs `act` in a namespace. Errors: `NoNamespace`; `Failed` when the thread cannot enter.
    pub fn enter<T>(&mut self, namespace: Namespace, act: impl FnOnce() -> T) -> Result<T, Error> {
        if namespace == Namespace::Host {
            return Ok(act());
        }
        let container = self.container.as_mut().ok_or_else(no_namespace)?;
        visit(container.descriptor()?, self.host.descriptor()?, act)
    }

    /// The descriptor of a namespace, as `IFLA_NET_NS_FD` wants it. Errors: `NoNamespace`.
    pub fn descriptor(&mut self, namespace: Namespace) -> Result<BorrowedFd<'_>, Error> {
        self.place(namespace)?.descriptor()
    }

    fn place(&mut self, namespace: Namespace) -> Result<&mut Place, Error> {
        match namespace {
            Namespace::Host => Ok(&mut self.host),
            Namespace::Container => self.container.as_mut().ok_or_else(no_namespace),
        }
    }
}

impl Place {
    /// The container's was opened by the caller; the host's is the calling thread's.
    fn descriptor(&mut self) -> Result<BorrowedFd<'_>, Error> {
        if self.namespace.is_none() {
            self.namespace = Some(own()?);
        }
        let opened = self.namespace.as_ref();
        Ok(opened.expect("opened above").as_fd())
    }
}

fn no_namespace() -> Error {
    Error::new(
        Code::NoNamespace,
        "there is no container namespace in this invocation",
    )
}
