//! The demo's world: a user, network and mount namespace with a file system root for weir, which
//! all end with the process.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, getgid, getuid};
use serde_json::Value;

use super::container::{Container, link_names};
use crate::paths::{Paths, ROOT_VARIABLE};

/// The namespaces and the root directory. Dropping it removes the directory.
pub struct World {
    root: PathBuf,
}

impl World {
    /// Enters new namespaces. The process must have one thread.
    pub fn enter() -> Result<Self> {
        enter_namespaces(getuid(), getgid())?;
        make_mounts_private()?;
        let root = make_directory()?;
        let world = Self { root };
        mount(
            Some("weir"),
            &world.root,
            Some("tmpfs"),
            MsFlags::empty(),
            Some("mode=0755"),
        )
        .context("mount a file system in memory")?;
        Ok(world)
    }

    /// What is below the world's root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// weir's paths in this world.
    pub fn paths(&self) -> Paths {
        Paths::below(&self.root)
    }

    /// Installs weir, as an operator would.
    pub fn install(&self) -> Result<()> {
        let own = std::env::current_exe().context("find the running binary")?;
        let mut command = Command::new(own);
        command.arg("install").arg("--bin-dir").arg(self.bin_dir());
        let output = command
            .env(ROOT_VARIABLE, &self.root)
            .output()
            .context("run weir install")?;
        if !output.status.success() {
            bail!(
                "weir install: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(())
    }

    /// Makes weir answer to one more plugin's name.
    pub fn link(&self, plugin: &str) -> Result<()> {
        symlink("weir", self.bin_dir().join(plugin)).context("link the plugin's name")
    }

    /// Runs a plugin as a container runtime does: environment, standard input, standard output.
    /// Errors: the CNI error that it printed.
    pub fn plugin(
        &self,
        plugin: &str,
        command: &str,
        container: &Container,
        config: &Value,
    ) -> Result<Option<Value>> {
        let mut child = Command::new(self.bin_dir().join(plugin))
            .env_clear()
            .env(ROOT_VARIABLE, &self.root)
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", container.id())
            .env("CNI_NETNS", container.netns())
            .env("CNI_IFNAME", "eth0")
            .env("CNI_PATH", self.bin_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("run plugin {plugin}"))?;
        let mut stdin = child.stdin.take().context("the plugin's standard input")?;
        stdin
            .write_all(config.to_string().as_bytes())
            .context("write the configuration")?;
        drop(stdin);
        let output = child
            .wait_with_output()
            .with_context(|| format!("wait for {plugin}"))?;
        let printed: Option<Value> = match output.stdout.is_empty() {
            true => None,
            false => Some(serde_json::from_slice(&output.stdout).context("read its output")?),
        };
        match (output.status.success(), printed) {
            (true, printed) => Ok(printed),
            (false, Some(error)) => bail!(
                "CNI error {}: {}",
                error["code"],
                error["msg"].as_str().unwrap_or_default()
            ),
            (false, None) => bail!("{plugin} ended with {} and printed nothing", output.status),
        }
    }

    /// The links on the world's host.
    pub fn links(&self) -> Result<Vec<String>> {
        link_names()
    }

    /// The addresses taken on a network.
    pub fn leases(&self, network: &str) -> Result<Vec<String>> {
        let directory = self.path("var/lib/cni/networks").join(network);
        let mut leases = Vec::new();
        for entry in fs::read_dir(&directory).context("read the leases")? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.parse::<std::net::IpAddr>().is_ok() {
                leases.push(name);
            }
        }
        Ok(leases)
    }

    fn bin_dir(&self) -> PathBuf {
        self.path("opt/cni/bin")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The mount is this mount namespace's own; only the empty directory is anybody else's.
        let _ = umount2(&self.root, MntFlags::MNT_DETACH);
        let _ = fs::remove_dir(&self.root);
    }
}

fn enter_namespaces(user: Uid, group: Gid) -> Result<()> {
    let spaces = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
    match unshare(spaces | CloneFlags::CLONE_NEWUSER) {
        Ok(()) => become_root(user, group).context("become root in the user namespace"),
        // Where user namespaces are switched off, root needs none.
        Err(_) if user.is_root() => unshare(spaces).context("make a network namespace"),
        Err(Errno::EPERM | Errno::EACCES) => bail!(
            "this machine does not let {user} make a user namespace: run `weir demo` as root, or \
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
    mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).context("keep mounts to itself")
}

fn make_directory() -> Result<PathBuf> {
    let directory = std::env::temp_dir().join(format!("weir-demo-{}", std::process::id()));
    create(&directory).with_context(|| format!("make `{}`", directory.display()))?;
    Ok(directory)
}

fn create(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(directory)
}
