//! A temporary node: user, mount and network namespaces with a root directory for weir, which all end with the process.
//! Plugins run there for a demonstration, for a test, or to see what they do.
//!
//! ```text
//! let node = ScratchNode::enter("weir demo")?;      // from here on this process is on the node
//! let one = node.container("one")?;               // a network namespace with a path
//! let sandbox = Sandbox::new(node.paths(), true)?; // or WEIR_ROOT=node.root() for a child
//! one.enter(|| …)?;                               // a closure inside the container
//! ```

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::net::if_::if_nameindex;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid, getgid, getuid};
use tempfile::TempDir;
use weir_files::Paths;

/// The namespaces and the root directory. Dropping it removes the directory; the namespaces end with
/// the process, and with what it started.
pub struct ScratchNode {
    root: TempDir,
}

impl ScratchNode {
    /// Enters new namespaces for `command`, which errors name. The process must have one thread, and stays on the temporary
    /// node until it ends.
    ///
    /// The network namespace has only a loopback interface, the mounts are private, and weir's root is an empty file system
    /// in memory. Without root it needs user namespaces.
    pub fn enter(command: &str) -> Result<Self> {
        enter_namespaces(command, getuid(), getgid())?;
        make_mounts_private()?;
        Self::empty()
    }

    /// Leaves this node's network for that of another node, in the same user and mount namespaces. What runs on this one must
    /// have ended.
    pub fn another(&self) -> Result<Self> {
        unshare(CloneFlags::CLONE_NEWNET).context("make a network namespace")?;
        Self::empty()
    }

    /// A node in the present namespaces.
    fn empty() -> Result<Self> {
        reset_parameters();
        let node = Self {
            root: make_directory()?,
        };
        let (kind, options) = (Some("tmpfs"), Some("mode=0755"));
        mount(
            Some("weir"),
            node.root.path(),
            kind,
            MsFlags::empty(),
            options,
        )
        .context("mount a file system in memory")?;
        Ok(node)
    }

    /// Returns the directory that is `/` for weir: `WEIR_ROOT` for programs started here.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub fn paths(&self) -> Paths {
        Paths::below(self.root.path())
    }

    /// Makes a container: a network namespace, kept alive by a mount at `run/netns/NAME`.
    pub fn container(&self, name: &str) -> Result<Container> {
        let directory = self.path("run/netns");
        fs::create_dir_all(&directory)?;
        let netns = directory.join(name);
        File::create(&netns)?;
        let place = netns.clone();
        in_thread(move || {
            unshare(CloneFlags::CLONE_NEWNET).context("make a network namespace")?;
            reset_parameters();
            let (own, none) = (Some("/proc/thread-self/ns/net"), None::<&str>);
            mount(own, &place, none, MsFlags::MS_BIND, none).context("mount the namespace")
        })?;
        Ok(Container {
            name: name.to_owned(),
            netns,
        })
    }

    /// Returns the names of the links of the node itself, sorted.
    pub fn links(&self) -> Result<Vec<String>> {
        link_names()
    }
}

impl Drop for ScratchNode {
    fn drop(&mut self) {
        // The mount exists only in this mount namespace; the empty directory is removed outside.
        let _ = umount2(self.root.path(), MntFlags::MNT_DETACH);
    }
}

/// A container of a temporary node, which is only a network namespace.
pub struct Container {
    name: String,
    netns: PathBuf,
}

impl Container {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `CNI_NETNS`.
    pub fn netns(&self) -> &Path {
        &self.netns
    }

    /// Runs `act` in a thread inside the namespace.
    pub fn enter<T: Send>(&self, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let namespace = File::open(&self.netns).context("open the namespace")?;
        in_thread(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).context("enter the namespace")?;
            act()
        })
    }

    /// Returns the names of the links inside, sorted.
    pub fn links(&self) -> Result<Vec<String>> {
        self.enter(link_names)
    }
}

/// Parameters of IPv4 that a new network namespace has from the machine's first one, and the values that the kernel begins with.
/// `forwarding` comes first: to change it sets others.
const PARAMETERS: [(&str, &str); 14] = [
    ("forwarding", "0"),
    ("accept_local", "0"),
    ("accept_redirects", "1"),
    ("arp_accept", "0"),
    ("arp_announce", "0"),
    ("arp_filter", "0"),
    ("arp_ignore", "0"),
    ("arp_notify", "0"),
    ("log_martians", "0"),
    ("promote_secondaries", "0"),
    ("proxy_arp", "0"),
    ("route_localnet", "0"),
    ("rp_filter", "0"),
    ("send_redirects", "1"),
];

/// Makes the parameters of the calling thread's namespace those of a machine that nobody has configured, so that a plugin does the
/// same on every machine. Where `/proc/sys` cannot be written, they stay this machine's.
fn reset_parameters() {
    for (parameter, value) in PARAMETERS {
        for interface in ["all", "default"] {
            let file = format!("/proc/sys/net/ipv4/conf/{interface}/{parameter}");
            let _ = fs::write(file, value);
        }
    }
}

/// The names of the links in the calling thread's namespace.
fn link_names() -> Result<Vec<String>> {
    let links = if_nameindex().context("list the links")?;
    let names = links
        .iter()
        .map(|link| link.name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

fn in_thread<T: Send>(act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        scope
            .spawn(act)
            .join()
            .unwrap_or_else(|_| Err(anyhow!("a thread inside a namespace panicked")))
    })
}

fn enter_namespaces(command: &str, user: Uid, group: Gid) -> Result<()> {
    let spaces = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    match unshare(spaces | CloneFlags::CLONE_NEWUSER) {
        Ok(()) => become_root(user, group).context("become root in the user namespace"),
        // If user namespaces are switched off, root does not need one.
        Err(_) if user.is_root() => unshare(spaces).context("make a network namespace"),
        Err(Errno::EPERM | Errno::EACCES) => bail!(
            "this machine does not let {user} make a user namespace: run `{command}` as root, or \
             allow it (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile with \
             `userns`)"
        ),
        Err(error) => Err(error).context("make a user namespace"),
    }
}

fn become_root(user: Uid, group: Gid) -> std::io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

fn make_mounts_private() -> Result<()> {
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).context("make mounts private")
}

fn make_directory() -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("weir-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .context("make a temporary directory")
}
