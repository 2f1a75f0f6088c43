//! The paths of weir's files on a node.
//!
//! Every path comes from here. `WEIR_ROOT` relocates all of them, for tests and rootless use.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::O_NOFOLLOW;
use nix::unistd::{getegid, geteuid, getgid, getuid};

/// The environment variable that relocates every path.
pub const ROOT_VARIABLE: &str = "WEIR_ROOT";

/// Opens a file of weir, and creates its directory with mode 0755 if it does not exist.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let missing = match (options.open(path), path.parent()) {
        (Err(error), Some(directory)) if error.kind() == ErrorKind::NotFound => directory,
        (opened, _) => return opened,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(missing)?;
    options.open(path)
}

/// Opens a file that is there to be locked. It and its directory are made where they are missing.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.custom_flags(O_NOFOLLOW);
    open(&options, path)
}

/// The directory that stands for `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    root: PathBuf,
}

impl Paths {
    /// Below `root`, which is `/` on a node.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `WEIR_ROOT` if it is set and absolute, and the real and the effective user are the same; `/` otherwise. The caller
    /// of a set-user-id weir must not choose its files.
    pub fn from_environment() -> Self {
        let same_user = getuid() == geteuid() && getgid() == getegid();
        let root = std::env::var_os(ROOT_VARIABLE).map(PathBuf::from);
        Self::below(
            root.filter(|r| same_user && r.is_absolute())
                .unwrap_or("/".into()),
        )
    }

    /// The location of an absolute path that a configuration or a grant names.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The absolute path on the node, the inverse of [`resolve`](Self::resolve).
    pub fn on_node(&self, place: &Path) -> PathBuf {
        match place.strip_prefix(&self.root) {
            Ok(below) => Path::new("/").join(below),
            Err(_) => place.to_owned(),
        }
    }

    /// The administrator's grants: `*.yaml`.
    pub fn grants(&self) -> PathBuf {
        self.root.join("etc/weir/grants.d")
    }

    /// weir's own configuration.
    pub fn configuration(&self) -> PathBuf {
        self.root.join("etc/weir/weir.json")
    }

    /// The administrator's policy for plugins: who may provide which.
    pub fn plugin_policy(&self) -> PathBuf {
        self.root.join("etc/weir/plugin-policy.yaml")
    }

    /// The administrator's grants as of the last invocation.
    pub fn seen_grants(&self) -> PathBuf {
        self.root.join("var/lib/weir/grants.seen")
    }

    /// Installed components and their ahead-of-time code.
    pub fn plugins(&self) -> PathBuf {
        self.root.join("var/lib/weir/plugins")
    }

    /// Plugins' stores: `<plugin>/<network>`.
    pub fn stores(&self) -> PathBuf {
        self.root.join("var/lib/weir/stores")
    }

    /// Everything that weir keeps across a reboot.
    pub fn state(&self) -> PathBuf {
        self.root.join("var/lib/weir")
    }

    /// Indexes over stores; they can be deleted at any time.
    pub fn indexes(&self) -> PathBuf {
        self.root.join("var/lib/weir/indexes")
    }

    /// Records of containers whose networks are attached by name: `<container id>.json`.
    pub fn net(&self) -> PathBuf {
        self.root.join("var/lib/weir/net")
    }

    /// libcni's result cache.
    pub fn results(&self) -> PathBuf {
        self.root.join("var/lib/cni/results")
    }

    /// Records of pods' attachments: `<network>/<container id>:<interface>.json`.
    pub fn pods(&self) -> PathBuf {
        self.root.join("var/lib/weir/pods")
    }

    /// Network configurations.
    pub fn networks(&self) -> PathBuf {
        self.root.join("etc/cni/net.d")
    }

    /// The directories in which container runtimes, and delegating plugins, look for network configurations.
    pub fn runtimes_networks(&self) -> Vec<PathBuf> {
        let directories = [
            "etc/cni/net.d",
            "etc/cni/multus/net.d",
            "etc/kubernetes/cni/net.d",
            "opt/cni/config",
            "var/lib/rancher/k3s/agent/etc/cni/net.d",
            "var/snap/microk8s/current/args/cni-network",
        ];
        directories
            .map(|directory| self.root.join(directory))
            .into()
    }

    /// The audit log.
    pub fn audit_log(&self) -> PathBuf {
        self.root.join("var/log/weir/audit.jsonl")
    }

    /// The head of the audit log's hash chain.
    pub fn audit_head(&self) -> PathBuf {
        self.root.join("var/log/weir/audit.head")
    }

    /// Records for the audit log while it cannot be written.
    pub fn audit_spool(&self) -> PathBuf {
        self.root.join("run/weir/audit.jsonl")
    }

    /// weir's own log.
    pub fn log(&self) -> PathBuf {
        self.root.join("var/log/weir/weir.log")
    }

    /// The socket of systemd's journal.
    pub fn journal(&self) -> PathBuf {
        self.root.join("run/systemd/journal/socket")
    }

    /// Where the kernel describes devices.
    pub fn sysfs(&self) -> PathBuf {
        self.root.join("sys")
    }

    /// The socket of the system's D-Bus.
    pub fn system_bus(&self) -> PathBuf {
        self.root.join("run/dbus/system_bus_socket")
    }

    /// Kubelet's checkpoint of the devices that it assigned to pods.
    pub fn kubelet_devices(&self) -> PathBuf {
        let directory = self.root.join("var/lib/kubelet/device-plugins");
        directory.join("kubelet_internal_checkpoint")
    }

    /// Locks; gone after a reboot.
    pub fn run(&self) -> PathBuf {
        self.root.join("run/weir")
    }

    /// The directories that weir reads and writes: configurations, grants, plugins, results, logs, and what it takes over
    /// from Multus.
    pub fn own(&self) -> [PathBuf; 8] {
        [
            self.root.join("etc/weir"),
            self.root.join("var/lib/weir"),
            self.root.join("var/log/weir"),
            self.run(),
            self.results(),
            self.networks(),
            self.root.join("etc/cni/multus"),
            self.root.join("var/lib/cni/multus"),
        ]
    }
}
