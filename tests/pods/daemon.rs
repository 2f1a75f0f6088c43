//! A container of a DaemonSet's pod on a node, as its manifest has it: a root of its own, read-only, in which is the
//! binary and what of the node is mounted; root without a capability; the variables of its ConfigMaps.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{chdir, chroot};
use serde_json::Value;
use tempfile::TempDir;
use weir_kit::{Node, binary};

/// The highest capability that the kernel may have.
const LAST_CAPABILITY: libc::c_ulong = 63;

/// The service account's token, and the authority, as they are mounted.
pub struct Account {
    pub token: String,
    pub authority: String,
}

/// A container.
pub struct Daemon {
    /// `spec` of the pod.
    pod: Value,
    variables: Vec<(String, String)>,
    node: PathBuf,
    root: TempDir,
    account: TempDir,
}

impl Daemon {
    /// Of a DaemonSet, with the variables of its ConfigMaps.
    pub fn new(
        daemon_set: &Value,
        variables: Vec<(String, String)>,
        node: &Node,
        account: &Account,
    ) -> Result<Self> {
        let daemon = Self {
            pod: daemon_set["spec"]["template"]["spec"].clone(),
            variables,
            node: node.root().to_owned(),
            root: TempDir::with_prefix("weir-container-")?,
            account: TempDir::with_prefix("weir-account-")?,
        };
        for (name, content) in [("token", &account.token), ("ca.crt", &account.authority)] {
            let file = daemon.account.path().join(name);
            fs::write(&file, content)?;
            fs::set_permissions(file, Permissions::from_mode(0o400))?;
        }
        Ok(daemon)
    }

    fn container(&self) -> &Value {
        &self.pod["containers"][0]
    }

    /// Starts its command.
    pub fn start(&self) -> Result<Child> {
        let mut words = strings(&self.container()["command"]);
        words.extend(strings(&self.container()["args"]));
        self.run(&words, |command| command.spawn().context("start it"))
    }

    /// Runs its readiness probe.
    pub fn probe(&self) -> Result<Output> {
        let words = strings(&self.container()["readinessProbe"]["exec"]["command"]);
        self.run(&words, |command| command.output().context("run it"))
    }

    /// In a thread of its own, whose root and mounts the program gets.
    fn run<T: Send>(
        &self,
        words: &[String],
        run: impl FnOnce(&mut Command) -> Result<T> + Send,
    ) -> Result<T> {
        let (program, arguments) = words.split_first().context("a command")?;
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                let mut command = Command::new(program);
                command
                    .args(arguments)
                    .env_clear()
                    .envs(self.variables.iter().cloned())
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped());
                run(&mut command)
            });
            thread
                .join()
                .map_err(|_| anyhow!("a thread of the test panicked"))?
        })
    }

    fn enter(&self) -> Result<()> {
        unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).context("a mount namespace")?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        let root = self.root.path();
        mount(
            Some("none"),
            root,
            Some("tmpfs"),
            MsFlags::empty(),
            Some("mode=755"),
        )?;
        File::create(root.join("weir"))?;
        bind(&binary(), &root.join("weir"), true)?;
        fs::create_dir(root.join("dev"))?;
        File::create(root.join("dev/null"))?;
        bind(Path::new("/dev/null"), &root.join("dev/null"), false)?;
        fs::create_dir(root.join("proc"))?;
        let recursive = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some("/proc"), &root.join("proc"), none, recursive, none)?;
        let mounts = self.container()["volumeMounts"].as_array();
        for one in mounts.into_iter().flatten() {
            let place = text(&one["mountPath"])?;
            let place = root.join(place.trim_start_matches('/'));
            fs::create_dir_all(&place)?;
            bind(
                &self.volume(text(&one["name"])?)?,
                &place,
                one["readOnly"] == true,
            )?;
        }
        let is_read_only = &self.container()["securityContext"]["readOnlyRootFilesystem"];
        ensure!(*is_read_only == true, "a root that can be written");
        let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(none, root, none, flags, none)?;
        chroot(root)?;
        chdir("/")?;
        let dropped = strings(&self.container()["securityContext"]["capabilities"]["drop"]);
        ensure!(dropped == ["ALL"], "capabilities: {dropped:?}");
        drop_capabilities()
    }

    /// What is mounted of a volume.
    fn volume(&self, name: &str) -> Result<PathBuf> {
        let volumes = self.pod["volumes"].as_array().into_iter().flatten();
        let mut own = volumes.filter(|volume| volume["name"] == name);
        let volume = own.next().with_context(|| format!("no volume {name}"))?;
        if volume["projected"].is_object() {
            return Ok(self.account.path().to_owned());
        }
        let host = &volume["hostPath"];
        ensure!(host["type"] == "DirectoryOrCreate", "{volume}");
        let place = self.node.join(text(&host["path"])?.trim_start_matches('/'));
        fs::create_dir_all(&place)?;
        Ok(place)
    }
}

/// Mounts what is at a place at another.
fn bind(from: &Path, to: &Path, is_read_only: bool) -> Result<()> {
    let none = None::<&str>;
    mount(Some(from), to, none, MsFlags::MS_BIND, none)
        .with_context(|| format!("mount {}", from.display()))?;
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    if is_read_only {
        mount(none, to, none, flags, none).context("mount it read-only")
    } else {
        Ok(())
    }
}

/// What the thread's programs start with, although they are root's.
fn drop_capabilities() -> Result<()> {
    for capability in 0..=LAST_CAPABILITY {
        // SAFETY: the call takes two numbers, and is about the calling thread alone.
        let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability) };
        match Errno::result(dropped) {
            Ok(_) => {}
            // This kernel has no more.
            Err(Errno::EINVAL) => return Ok(()),
            Err(error) => return Err(error).context("drop a capability"),
        }
    }
    Ok(())
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("no text: {value}"))
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}
