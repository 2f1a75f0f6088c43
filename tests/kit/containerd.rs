//! A containerd of a test's own: a real CNI client that cannot touch the machine's containers,
//! network, CNI configuration or state.
//!
//! ```no_run
//! # use std::path::Path;
//! # use weir_kit::containerd::{BUSYBOX_IMAGE, Containerd};
//! let containerd = Containerd::start(Path::new("target/tmp"))?;
//! containerd.install_cni_bin(Path::new("target/release/weir"), &["bridge", "host-local"])?;
//! containerd.write_cni_conf("10-pods.conflist", &serde_json::json!({ "cniVersion": "1.0.0" }))?;
//! containerd.ctr(&["run", "--rm", "--cni", BUSYBOX_IMAGE, "one", "ip", "address"])?;
//! # anyhow::Ok(())
//! ```
//!
//! It runs in mount, network, PID and IPC namespaces of its own. There, `/run` and the directories
//! of CNI and of weir are empty ones in memory, and what is written elsewhere to `/etc`, `/opt`,
//! `/var/lib` and `/var/log` stays in memory. The end of the PID namespace ends every shim and container.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;
use tempfile::TempDir;

use super::audit;

/// The image that [`Containerd::start`] imports: busybox with all its applets. Its command does
/// nothing for ever, so that it also serves as the CRI's sandbox image.
pub const BUSYBOX_IMAGE: &str = "weir.test/busybox:latest";

/// How long containerd may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long one command inside the namespaces may take, as timeout(1) reads it.
const COMMAND_TIMEOUT: &str = "120s";

/// How often a start that hangs is told from one that failed.
const START_POLL: Duration = Duration::from_millis(50);

/// The CRI's own containerd namespace.
const CRI_NAMESPACE: &str = "k8s.io";

const CGROUP_ROOT: &str = "/sys/fs/cgroup";

/// The directories whose changes stay inside. A work directory below one of them would be hidden.
const LAYERED: [&str; 5] = ["/etc", "/opt", "/run", "/var/lib", "/var/log"];

/// Every program that is run here and by tests, with the Debian package that has it.
const TOOLS: [(&str, &str); 14] = [
    ("busybox", "busybox-static"),
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("ctr", "containerd"),
    ("ip", "iproute2"),
    ("mount", "mount"),
    ("nft", "nftables"),
    ("nsenter", "util-linux"),
    ("runc", "runc"),
    ("setpriv", "util-linux"),
    ("tar", "tar"),
    ("tc", "iproute2"),
    ("umoci", "umoci"),
    ("unshare", "util-linux"),
];

/// What the first process of the namespaces does; its argument is containerd's configuration file.
///
/// `/run` comes first because the layers over the other directories live in it. `/sys` is mounted
/// anew to show this network namespace's devices. runc takes a unified hierarchy beside those of
/// version 1 for its own, and fails. The shell stays, to reap what the shims leave.
const INIT: &str = r#"
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
for dir in /etc /opt /var/lib /var/log; do
	layer=/run/layers$dir
	mkdir -p $layer/upper $layer/work
	mount -t overlay -o lowerdir=$dir,upperdir=$layer/upper,workdir=$layer/work overlay $dir
done
for dir in /etc/cni /etc/weir /opt/cni /var/lib/cni /var/lib/weir /var/log/weir; do
	mkdir -p $dir
	mount -t tmpfs -o mode=755 tmpfs $dir
done
mkdir -p /etc/cni/net.d /opt/cni/bin

mkdir /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup
umount -R /run/cgroup
if mountpoint -q /sys/fs/cgroup/unified; then
	umount /sys/fs/cgroup/unified
fi

ip link set lo up
containerd --config "$1" &
wait $!
"#;

/// A running containerd; dropping it ends its containers and removes its files.
///
/// It also ends with the thread that started it, so that a killed test leaves nothing running.
#[derive(Debug)]
pub struct Containerd {
    /// unshare(1), which is a member of the mount and network namespaces and waits for the first
    /// process of the PID namespace.
    unshare: Child,
    dir: OwnDir,
    /// The containerd namespace of what [`Containerd::ctr`] runs.
    namespace: String,
    cgroup_parents: Vec<PathBuf>,
}

impl Containerd {
    /// Starts containerd, waits until it serves, and imports [`BUSYBOX_IMAGE`] for `ctr` and for the
    /// CRI. Its files are in a new directory in `work_dir`, which is created if it is missing.
    ///
    /// Needs root.
    pub fn start(work_dir: &Path) -> Result<Self> {
        ensure!(
            geteuid().is_root(),
            "containerd needs root, and the effective user is {}; run this test as root",
            geteuid()
        );
        ensure!(
            has_every_user()?,
            "containerd needs root outside of a user namespace, whose root may not mount control \
             groups; run this test as root, without unshare(1)"
        );
        check_tools()?;
        let (dir, namespace) = OwnDir::new(work_dir)?;
        fs::write(dir.path("config.toml"), dir.config())
            .context("writing containerd's configuration")?;
        let ready = UnixDatagram::bind(dir.path("notify.sock"))
            .context("binding the socket on which containerd reports that it serves")?;
        ready.set_read_timeout(Some(START_POLL))?;

        let mut containerd = Self {
            unshare: spawn(&dir)?,
            cgroup_parents: absent_cgroups(&namespace),
            namespace,
            dir,
        };
        containerd.wait_until_ready(&ready)?;
        containerd.import_busybox()?;
        Ok(containerd)
    }

    /// The socket of containerd's API and of the CRI, to be reached from any namespace.
    pub fn socket(&self) -> PathBuf {
        self.dir.path("containerd.sock")
    }

    /// The parent for the control groups of the CRI's pods, which are removed with this containerd.
    /// Those of other tests' pods are elsewhere.
    pub fn cgroup_parent(&self) -> String {
        format!("/{}", self.namespace)
    }

    /// What containerd has logged so far.
    pub fn log(&self) -> String {
        self.dir.log()
    }

    /// Runs `ctr` inside the namespaces, with the snapshotter "native" unless the arguments name
    /// another, and returns its standard output. A failure's error holds its standard error.
    pub fn ctr(&self, args: &[&str]) -> Result<String> {
        self.ctr_in(&self.namespace, args)
    }

    /// Runs any program inside the namespaces, looked up there, and returns its standard output. A
    /// failure's error holds its standard error.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<String> {
        output(self.command(program).args(args))
    }

    /// A command inside the namespaces that ends after two minutes at the latest, for a caller who
    /// wants its standard input, environment or exit status.
    pub fn command(&self, program: &str) -> Command {
        let ns = format!("/proc/{}/ns", self.unshare.id());
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5s", COMMAND_TIMEOUT, "nsenter"])
            .arg(format!("--mount={ns}/mnt"))
            .arg(format!("--net={ns}/net"))
            .arg(format!("--ipc={ns}/ipc"))
            // unshare(1) itself stays outside the PID namespace it has made.
            .arg(format!("--pid={ns}/pid_for_children"))
            .arg("--")
            .arg(program)
            .env("CONTAINERD_SNAPSHOTTER", "native")
            .stdin(Stdio::null());
        command
    }

    /// Where an absolute path inside the namespaces is to be found from outside them.
    pub fn path(&self, inside: &str) -> PathBuf {
        // A symbolic link like this one would lead outside.
        let inside = match inside.strip_prefix("/var/run/") {
            Some(below) => &format!("run/{below}"),
            None => inside,
        };
        let root = format!("/proc/{}/root", self.unshare.id());
        Path::new(&root).join(inside.trim_start_matches('/'))
    }

    /// Runs `act` in a thread inside the network namespace, which sees the machine's own files.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let namespace = format!("/proc/{}/ns/net", self.unshare.id());
        inside(Path::new(&namespace), act)
    }

    /// As [`Containerd::inside`], in a container's network namespace, which has a path there.
    pub fn inside_netns<T: Send>(
        &self,
        netns: &str,
        act: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        inside(&self.path(netns), act)
    }

    /// Writes a network configuration to `/etc/cni/net.d/NAME`. `ctr` uses the first by name.
    pub fn write_cni_conf(&self, name: &str, configuration: &Value) -> Result<()> {
        let path = self.path("/etc/cni/net.d").join(name);
        fs::write(&path, format!("{configuration:#}\n"))
            .with_context(|| format!("writing {}", path.display()))
    }

    /// Copies a program to `/opt/cni/bin` under its own name and links each other name to it there.
    pub fn install_cni_bin(&self, host_path: &Path, names: &[&str]) -> Result<()> {
        let bin = self.path("/opt/cni/bin");
        let program = host_path
            .file_name()
            .with_context(|| format!("{} names no program", host_path.display()))?;
        fs::copy(host_path, bin.join(program))
            .with_context(|| format!("copying {} to /opt/cni/bin", host_path.display()))?;
        for name in names.iter().filter(|name| program != **name) {
            symlink(program, bin.join(name))
                .with_context(|| format!("linking {name} in /opt/cni/bin"))?;
        }
        Ok(())
    }

    /// The records of weir's audit log.
    pub fn audit(&self) -> Result<Vec<Value>> {
        Ok(audit::records(Path::new(
            &self.path("/var/log/weir/audit.jsonl"),
        )))
    }

    /// Waits for containerd's notification as sd_notify(3) describes it.
    fn wait_until_ready(&mut self, ready: &UnixDatagram) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut message = [0; 256];
        while Instant::now() < deadline {
            match ready.recv(&mut message) {
                Ok(length) if message[..length].starts_with(b"READY=1") => return Ok(()),
                Ok(_) => {}
                Err(error) if is_retry(&error) => {}
                Err(error) => return Err(error).context("waiting for containerd to serve"),
            }
            if let Some(status) = self.unshare.try_wait()? {
                bail!(
                    "containerd did not start, {status}; its log:\n{}",
                    self.log()
                );
            }
        }
        bail!(
            "containerd did not serve within {START_TIMEOUT:?}; its log:\n{}",
            self.log()
        )
    }

    fn import_busybox(&self) -> Result<()> {
        let image = busybox_image(self.dir.0.path())?;
        let image = image.to_str().context("the work directory is not UTF-8")?;
        let (base_name, _) = BUSYBOX_IMAGE
            .split_once(':')
            .expect("the image has a version");
        for namespace in [&self.namespace, CRI_NAMESPACE] {
            let import = ["images", "import", "--base-name", base_name, image];
            self.ctr_in(namespace, &import)?;
        }
        Ok(())
    }

    fn ctr_in(&self, namespace: &str, args: &[&str]) -> Result<String> {
        let mut command = self.command("ctr");
        command.arg("--address").arg(self.socket());
        command.args(["--namespace", namespace]).args(args);
        output(&mut command)
    }
}

impl Drop for Containerd {
    /// Ends the PID namespace's first process, and so all others in it, before unshare(1), which
    /// then ends by itself once they are gone.
    fn drop(&mut self) {
        match child_of(self.unshare.id()) {
            // An error says that it has just ended by itself.
            Some(init) => drop(kill(init, Signal::SIGKILL)),
            None => drop(self.unshare.kill()),
        }
        if let Err(error) = self.unshare.wait() {
            eprintln!("waiting for containerd to end: {error}");
        }
        for parent in &self.cgroup_parents {
            remove_cgroups(parent);
        }
    }
}

/// Makes an image archive of the machine's static busybox in `work_dir` and returns its path. The
/// image's name in it is "latest".
pub fn busybox_image(work_dir: &Path) -> Result<PathBuf> {
    let umoci = |args: &[&str]| output(Command::new("umoci").args(args).current_dir(work_dir));
    umoci(&["init", "--layout", "busybox"])?;
    umoci(&["new", "--image", "busybox:latest"])?;
    umoci(&["unpack", "--image", "busybox:latest", "bundle"])?;
    fill_rootfs(&work_dir.join("bundle/rootfs"))?;
    umoci(&["repack", "--image", "busybox:latest", "bundle"])?;
    let command = ["tail", "-f", "/dev/null"].map(|word| format!("--config.cmd={word}"));
    let path = "--config.env=PATH=/bin".to_owned();
    let options = command.iter().chain([&path]).map(String::as_str);
    let config = ["config", "--image", "busybox:latest"];
    umoci(&config.into_iter().chain(options).collect::<Vec<_>>())?;

    let archive = work_dir.join("busybox.tar");
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--file").arg(&archive);
    output(
        tar.arg("--directory")
            .arg(work_dir.join("busybox"))
            .arg("."),
    )?;
    Ok(archive)
}

/// Copies busybox and links every applet to it.
fn fill_rootfs(rootfs: &Path) -> Result<()> {
    let busybox = require_static(&find_tool("busybox", "busybox-static")?)?;
    let bin = rootfs.join("bin");
    fs::create_dir_all(&bin)?;
    for dir in ["etc", "tmp"] {
        fs::create_dir_all(rootfs.join(dir))?;
    }
    fs::copy(&busybox, bin.join("busybox")).context("copying busybox")?;
    let applets = output(Command::new(&busybox).arg("--list"))?;
    for applet in applets.lines().filter(|applet| *applet != "busybox") {
        symlink("busybox", bin.join(applet)).with_context(|| format!("linking {applet}"))?;
    }
    Ok(())
}

fn require_static(busybox: &Path) -> Result<PathBuf> {
    let ldd = Command::new("ldd")
        .arg(busybox)
        .output()
        .context("running ldd of the Debian package libc-bin")?;
    ensure!(
        !ldd.status.success(),
        "{} is not static; install the Debian package busybox-static",
        busybox.display()
    );
    Ok(busybox.to_owned())
}

fn spawn(dir: &OwnDir) -> Result<Child> {
    let log = File::create(dir.path("containerd.log")).context("creating containerd's log")?;
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "unshare"])
        .args(["--mount", "--net", "--pid", "--ipc"])
        .args(["--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-euc", INIT, "containerd-init"])
        .arg(dir.path("config.toml"))
        .env("NOTIFY_SOCKET", dir.path("notify.sock"))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("starting setpriv of the Debian package util-linux")
}

/// Runs `act` in a thread inside a network namespace.
fn inside<T: Send>(namespace: &Path, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let file = File::open(namespace).with_context(|| format!("open {}", namespace.display()))?;
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setns(&file, CloneFlags::CLONE_NEWNET).context("enter a network namespace")?;
            act()
        });
        thread
            .join()
            .map_err(|_| anyhow!("a thread of the test panicked"))?
    })
}

/// Whether a read ended without a message and without a fault.
fn is_retry(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Runs a command to its end and returns its standard output.
fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed, {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8(output.stdout).with_context(|| format!("reading the output of {command:?}"))
}

/// Whether root here is the machine's: every user id is one of its own.
fn has_every_user() -> Result<bool> {
    let map = fs::read_to_string("/proc/self/uid_map").context("reading /proc/self/uid_map")?;
    let ids: Vec<&str> = map.split_whitespace().collect();
    Ok(ids == ["0", "0", "4294967295"])
}

fn check_tools() -> Result<()> {
    let missing: BTreeSet<&str> = TOOLS
        .into_iter()
        .filter(|(tool, package)| find_tool(tool, package).is_err())
        .map(|(_, package)| package)
        .collect();
    let missing: Vec<&str> = missing.into_iter().collect();
    ensure!(
        missing.is_empty(),
        "a test with containerd needs programs that are missing; install the Debian packages {}",
        missing.join(" ")
    );
    Ok(())
}

fn find_tool(tool: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(tool))
        .find(|file| is_executable(file))
        .with_context(|| {
            format!("the program {tool} is missing; install the Debian package {package}")
        })
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The one child of a process.
fn child_of(parent: u32) -> Option<Pid> {
    let parent_line = format!("PPid:\t{parent}");
    let is_child = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/status"))
            .is_ok_and(|status| status.lines().any(|line| line == parent_line))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(is_child)
        .map(Pid::from_raw)
}

/// The control groups of this name, in every hierarchy, that do not exist yet and so will be ours.
fn absent_cgroups(name: &str) -> Vec<PathBuf> {
    let root = PathBuf::from(CGROUP_ROOT);
    let hierarchies = fs::read_dir(&root).into_iter().flatten().flatten();
    let parents = hierarchies.map(|entry| entry.path()).chain([root]);
    parents
        .map(|parent| parent.join(name))
        .filter(|path| !path.exists())
        .collect()
}

/// Removes a control group and those in it. The kernel refuses where a process is left.
fn remove_cgroups(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_cgroups(&entry.path());
        }
    }
    match fs::remove_dir(group) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            eprintln!("removing the control group {}: {error}", group.display());
        }
        _ => {}
    }
}

/// The directory of one containerd, removed with it.
#[derive(Debug)]
struct OwnDir(TempDir);

impl OwnDir {
    /// Creates a directory in `work_dir`; also returns its name, which no other has.
    fn new(work_dir: &Path) -> Result<(Self, String)> {
        let work_dir = std::path::absolute(work_dir)?;
        ensure_visible(&work_dir)?;
        fs::create_dir_all(&work_dir)
            .with_context(|| format!("creating {}", work_dir.display()))?;
        let directory = TempDir::with_prefix_in("weir-", &work_dir)
            .with_context(|| format!("making a directory in {}", work_dir.display()))?;
        let name = directory.path().file_name().context("it has a name")?;
        let name = name.to_string_lossy().into_owned();
        Ok((Self(directory), name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn log(&self) -> String {
        let log = fs::read(self.path("containerd.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// containerd's configuration file. Where this runs in a container itself, the kernel lets no
    /// process lower its own oom_score_adj, and an overlay cannot be the upper layer of another.
    fn config(&self) -> String {
        let path = |name| Value::from(self.path(name).display().to_string());
        format!(
            r#"version = 2
root = {root}
state = {state}

[grpc]
address = {socket}

[plugins."io.containerd.internal.v1.opt"]
path = {opt}

[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = "{BUSYBOX_IMAGE}"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/opt/cni/bin"
conf_dir = "/etc/cni/net.d"
"#,
            root = path("root"),
            state = path("state"),
            socket = path("containerd.sock"),
            opt = path("opt"),
        )
    }
}

/// Refuses a work directory that the namespaces would cover, be it through a symbolic link.
fn ensure_visible(work_dir: &Path) -> Result<()> {
    let existing = work_dir.ancestors().find(|path| path.exists());
    let existing = fs::canonicalize(existing.unwrap_or(work_dir))?;
    ensure!(
        !LAYERED.iter().any(|hidden| existing.starts_with(hidden)),
        "the work directory {} is hidden from containerd, which has {} of its own; choose another",
        work_dir.display(),
        LAYERED.join(", ")
    );
    Ok(())
}
