//! A container of the demo: a network namespace, and nothing else.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow};
use nix::mount::{MsFlags, mount};
use nix::net::if_::if_nameindex;
use nix::sched::{CloneFlags, setns, unshare};

use super::world::World;

/// A network namespace at a path, as a container runtime makes it.
pub struct Container {
    name: &'static str,
    netns: PathBuf,
}

impl Container {
    /// Makes a namespace, kept alive by a mount.
    pub fn create(world: &World, name: &'static str) -> Result<Self> {
        let directory = world.path("run/netns");
        fs::create_dir_all(&directory)?;
        let netns = directory.join(name);
        File::create(&netns)?;
        let place = netns.clone();
        in_thread(move || {
            unshare(CloneFlags::CLONE_NEWNET).context("make a network namespace")?;
            let own = Path::new("/proc/thread-self/ns/net");
            mount(
                Some(own),
                &place,
                None::<&str>,
                MsFlags::MS_BIND,
                None::<&str>,
            )
            .context("mount the namespace")
        })?;
        Ok(Self { name, netns })
    }

    /// `one` or `two`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// `CNI_CONTAINERID`.
    pub fn id(&self) -> String {
        format!("demo-{}", self.name)
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

    /// The names of the links inside.
    pub fn links(&self) -> Result<Vec<String>> {
        self.enter(link_names)
    }
}

/// The names of the links in the calling thread's namespace.
pub fn link_names() -> Result<Vec<String>> {
    let links = if_nameindex().context("list the links")?;
    let mut names: Vec<String> = links
        .iter()
        .map(|link| link.name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

fn in_thread<T: Send>(act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        scope
            .spawn(act)
            .join()
            .unwrap_or_else(|_| Err(anyhow!("a thread of the demo panicked")))
    })
}
