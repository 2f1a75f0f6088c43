//! A small virtual machine for what the kernel of this machine lacks: a command runs as root in a
//! guest that has every kind of link, and its exit status and output come back.
//!
//! ```no_run
//! # use std::path::Path;
//! # use weir_kit::vm::Vm;
//! let output = Vm::new(Path::new("target/vm"))
//!     .file("target/x86_64-unknown-linux-musl/debug/weir", "/opt/cni/bin/weir", 0o755)
//!     .symlink("weir", "/opt/cni/bin/bridge")
//!     .modules(&["bridge", "veth"])
//!     .run(&["/bin/sh", "-c", "ip link add br0 type bridge && ip link show br0"])?;
//! assert_eq!(output.status, 0, "{output}");
//! # anyhow::Ok(())
//! ```
//!
//! The kernel, its modules and busybox are those that `tests/vm/prepare` left in a directory. A run
//! packs them with the caller's files into an initramfs and boots it under QEMU without
//! acceleration. The command's output travels over virtio ports of its own, so no kernel message
//! can get into it.

mod archive;
mod files;
mod modules;

use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use archive::{Archive, Node};
use files::{Content, GuestFile};
use modules::Modules;

/// How long one run may take from power-on to power-off, unless [`Vm::timeout`] says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The guest's kernel runs nothing hostile, and each instruction that it is spared is ten of this machine. QEMU
/// translates a program's code for the addresses where it runs: once, unless these are random. On a busy host the
/// emulated timer can be too late for the kernel's check of it, which ends in a panic.
const KERNEL: &str = "console=ttyS0 quiet panic=-1 no_timer_check norandmaps mitigations=off init_on_alloc=0 apparmor=0 audit=0";

/// All that QEMU can emulate: without RDRAND, getrandom(2) blocks for long in so quiet a machine. But the guest is not told
/// that a string instruction is fast with bytes: QEMU takes each as a step, and the kernel would copy with bytes.
const PROCESSOR: &str = "max,erms=off,fsrm=off";

/// What the guest has beside room for two copies of the initramfs: the packed and the unpacked one.
const MEMORY_MIB: usize = 512;

/// The devices that carry the output are modules in Debian's kernel.
const PORT_MODULES: [&str; 2] = ["virtio_pci", "virtio_console"];

/// The modules of the links that the plugins `vlan`, `ipvlan` and `dummy` make, and of those that a test makes for them.
pub const LINKS: [&str; 4] = ["veth", "8021q", "ipvlan", "dummy"];

/// The exit status of timeout(1) for a command that it ended, and for one that it had to kill.
const TIMED_OUT: [Option<i32>; 2] = [Some(124), Some(137)];

/// One guest: what is in it and how long it may run. Each [`Vm::run`] boots a new one.
#[derive(Debug, Clone)]
pub struct Vm {
    kernel_dir: PathBuf,
    files: Vec<GuestFile>,
    modules: Vec<String>,
    clock: Clock,
    timeout: Duration,
    executed: Option<Executed>,
}

/// Where it is written down which instructions ran.
#[derive(Debug, Clone)]
struct Executed {
    log: PathBuf,
    addresses: Range<u64>,
}

/// What the guest's clock tells.
#[derive(Debug, Clone, Copy)]
enum Clock {
    Time,
    Instructions,
}

/// What a command left: the exit status (128 + N if signal N ended it) and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmOutput {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    /// Kernel messages of level warning and worse.
    pub console: String,
}

impl Vm {
    /// A guest with the kernel, the modules and the busybox that `tests/vm/prepare` left in
    /// `kernel_dir`. Every busybox applet is in its `PATH`; `lo` is up; nothing else is configured.
    pub fn new(kernel_dir: &Path) -> Self {
        Self {
            kernel_dir: kernel_dir.to_owned(),
            files: Vec::new(),
            modules: Vec::new(),
            clock: Clock::Time,
            timeout: TIMEOUT,
            executed: None,
        }
    }

    /// Puts a copy of a file into the guest; `mode` holds its permission bits. An executable that is
    /// linked dynamically gets its shared libraries too, at the paths they have on the host.
    ///
    /// The guest's shell prefers busybox's applets to programs of the same name: a script must call
    /// such a program, like `ip` of iproute2, by its absolute path.
    pub fn file(mut self, host_path: impl AsRef<Path>, guest_path: &str, mode: u32) -> Self {
        let content = Content::Host {
            path: host_path.as_ref().to_owned(),
            mode,
        };
        self.files.push(GuestFile::new(guest_path, content));
        self
    }

    /// Puts a program of iproute2, iptables or nftables into the guest's `/usr/sbin`.
    pub fn tool(mut self, name: &str) -> Self {
        let content = Content::Tool {
            name: name.to_owned(),
        };
        self.files
            .push(GuestFile::new(&format!("/usr/sbin/{name}"), content));
        self
    }

    /// Puts a symbolic link into the guest, as plugins are installed: a link named after the plugin.
    pub fn symlink(mut self, target: &str, guest_path: &str) -> Self {
        let content = Content::Symlink {
            target: target.to_owned(),
        };
        self.files.push(GuestFile::new(guest_path, content));
        self
    }

    /// Loads kernel modules, each after all it depends on, before the command starts.
    pub fn modules(mut self, names: &[&str]) -> Self {
        self.modules.extend(names.iter().map(ToString::to_string));
        self
    }

    /// Has the guest's clock count instructions, a nanosecond each, and waiting. What is measured inside depends neither on
    /// other processes of the host nor on how long it takes to translate code. A run takes twice as long.
    pub fn count_instructions(mut self) -> Self {
        self.clock = Clock::Instructions;
        self
    }

    /// Bounds a run from power-on to power-off. Without acceleration everything is some ten times
    /// slower than on the host.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Has QEMU write down in `log` the instructions in a range of addresses that ran, of any process: on a line that begins
    /// `0xADDRESS:`, among others. One that runs again may be there again.
    pub fn log_executed(mut self, addresses: Range<u64>, log: &Path) -> Self {
        let log = log.to_owned();
        self.executed = Some(Executed { log, addresses });
        self
    }

    /// Boots the guest, runs one command in it as root with an empty standard input, and powers the
    /// guest off. `command[0]` is an applet of busybox, or a program by its path or in `PATH`.
    ///
    /// A command that fails is not an error: see [`VmOutput::status`]. Errors are what kept the command
    /// from running to its end; they show the end of the guest's console.
    pub fn run(&self, command: &[&str]) -> Result<VmOutput> {
        ensure!(!command.is_empty(), "no command to run in the guest");
        let scratch = Scratch::new()?;
        let initramfs = self.initramfs(command)?;
        fs::write(scratch.path("initramfs"), &initramfs).context("writing the initramfs")?;

        let qemu = self.boot(&scratch, initramfs.len())?;
        let output = scratch.output();
        let status = fs::read_to_string(scratch.path("status")).unwrap_or_default();
        match status.trim().parse() {
            Ok(status) => Ok(VmOutput { status, ..output }),
            Err(_) => bail!(self.failure(&qemu, status.trim(), &output)),
        }
    }

    fn boot(&self, scratch: &Scratch, initramfs_bytes: usize) -> Result<Output> {
        let memory_mib = MEMORY_MIB + 2 * (initramfs_bytes >> 20);
        // A test that is killed takes the guest with it: timeout(1) hands the signal on. Beside other tests, a guest would have a
        // fifth of a processor, and they would be done long before it: root's has a half. Others get a warning of nice(1).
        Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "nice", "-n", "-5"])
            .args(["timeout", "--kill-after=5"])
            .arg(self.timeout.as_secs_f64().to_string())
            .arg("qemu-system-x86_64")
            // KVM is not used even where there is one: nested, it may hang.
            .args(["-accel", "tcg", "-cpu", PROCESSOR])
            .args(self.clock.arguments())
            .args(self.executed.iter().flat_map(Executed::arguments))
            .arg("-m")
            .arg(format!("{memory_mib}M"))
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-no-reboot", "-kernel"])
            .arg(self.kernel_dir.join("vmlinuz"))
            .arg("-initrd")
            .arg(scratch.path("initramfs"))
            .args(["-append", KERNEL])
            .args(["-device", "virtio-serial-pci"])
            .args(file_device("console", scratch))
            .args(["-serial", "chardev:console"])
            .args(port(1, "stdout", scratch))
            .args(port(2, "stderr", scratch))
            .args(port(3, "status", scratch))
            .stdin(Stdio::null())
            .output()
            .context("starting setpriv of the Debian package util-linux")
    }

    /// Says why a run has no exit status.
    fn failure(&self, qemu: &Output, reported: &str, output: &VmOutput) -> String {
        let code = qemu.status.code();
        let qemu_stderr = String::from_utf8_lossy(&qemu.stderr);
        let reason = if TIMED_OUT.contains(&code) {
            format!("the guest did not finish within {:?}", self.timeout)
        } else if code == Some(127) {
            "the command qemu-system-x86_64 is missing; install the Debian package qemu-system-x86"
                .to_owned()
        } else if !reported.is_empty() {
            format!("the guest did not start the command: {reported}")
        } else if !qemu.status.success() {
            format!("qemu-system-x86_64 failed, {}", qemu.status)
        } else {
            "the guest ended before the command did".to_owned()
        };
        format!("{reason}\n{}{output}", titled("qemu", &qemu_stderr))
    }

    fn initramfs(&self, command: &[&str]) -> Result<Vec<u8>> {
        let mut archive = Archive::default();
        for dir in [
            "/bin",
            "/dev",
            "/etc",
            "/proc",
            "/root",
            "/run",
            "/sbin",
            "/sys",
            "/tmp",
            "/usr/bin",
            "/usr/sbin",
            "/var",
        ] {
            archive.dir(dir);
        }
        archive.add("/dev/console", Node::Console);

        let modules = Modules::read(&self.kernel_dir)?;
        let load_order = modules.load_order(PORT_MODULES.into_iter().chain(self.module_names()))?;
        for name in &load_order {
            archive.file(&guest_module(name), &modules.path(name), 0o644)?;
        }
        archive.file("/bin/busybox", &self.kernel_dir.join("busybox"), 0o755)?;
        let init = init_script(&load_order, command).into_bytes();
        archive.add(
            "/init",
            Node::File {
                mode: 0o755,
                bytes: init,
            },
        );

        for file in &self.files {
            file.pack(&mut archive)?;
        }
        Ok(archive.newc())
    }

    fn module_names(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(String::as_str)
    }
}

impl Executed {
    /// QEMU's arguments: it writes an instruction down where it translates it.
    fn arguments(&self) -> [OsString; 6] {
        let Range { start, end } = self.addresses;
        let filter = format!("{start:#x}..{end:#x}");
        let log = self.log.clone().into_os_string();
        [
            "-d".into(),
            "in_asm".into(),
            "-D".into(),
            log,
            "-dfilter".into(),
            filter.into(),
        ]
    }
}

impl Clock {
    /// QEMU's arguments.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Time => &[],
            Self::Instructions => &["-icount", "shift=0,sleep=off"],
        }
    }
}

impl fmt::Display for VmOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, text) in [
            ("stdout", &self.stdout),
            ("stderr", &self.stderr),
            ("console", &self.console),
        ] {
            f.write_str(&titled(title, text))?;
        }
        Ok(())
    }
}

fn guest_module(name: &str) -> String {
    format!("/lib/modules/{name}.ko")
}

/// What the kernel runs first. The root is a tmpfs of the guest's own, so `/run`, `/tmp` and `/var`
/// need no file system of theirs.
fn init_script(load_order: &[String], command: &[&str]) -> String {
    let mut insmod = String::new();
    for name in load_order {
        let path = guest_module(name);
        writeln!(insmod, "insmod {path} || failed='insmod {name} failed'").expect("a string grows");
    }
    let command: Vec<String> = command.iter().map(|word| shell_quote(word)).collect();
    let command = command.join(" ");
    format!(
        r#"#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
# As many files as a service of systemd may open.
ulimit -n 524288
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs devtmpfs /dev
# Where the caller put a program of an applet's name, it stays.
busybox --install -s 2>/dev/null
failed=
{insmod}
until [ -c /dev/vport0p1 ] && [ -c /dev/vport0p2 ] && [ -c /dev/vport0p3 ]; do usleep 1000; done
ip link set lo up
if [ -n "$failed" ]; then
	echo "$failed" >/dev/vport0p3
else
	{command} </dev/null >/dev/vport0p1 2>/dev/vport0p2
	echo $? >/dev/vport0p3
fi
poweroff -f
"#
    )
}

/// One word of a POSIX shell that stands for exactly this text.
fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// QEMU's arguments for a device of the guest whose output becomes a file.
fn file_device(name: &str, scratch: &Scratch) -> [String; 2] {
    // QEMU's option lists write a comma in a value twice.
    let path = scratch.path(name).display().to_string().replace(',', ",,");
    ["-chardev".into(), format!("file,id={name},path={path}")]
}

/// QEMU's arguments for the guest's `/dev/vport0pNUMBER`.
fn port(number: u32, name: &str, scratch: &Scratch) -> Vec<String> {
    let mut arguments = file_device(name, scratch).to_vec();
    arguments.push("-device".into());
    arguments.push(format!("virtserialport,chardev={name},nr={number}"));
    arguments
}

/// A text under a title, or nothing for an empty text.
fn titled(title: &str, text: &str) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => format!("--- {title} ---\n{text}\n"),
    }
}

/// A directory for one run, removed however the run ends.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Result<Self> {
        let directory = TempDir::with_prefix("weir-vm-").context("making a directory")?;
        Ok(Self(directory))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What the guest has written, so far as it got.
    fn output(&self) -> VmOutput {
        let text = |name| {
            let bytes = fs::read(self.path(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        VmOutput {
            status: -1,
            stdout: text("stdout"),
            stderr: text("stderr"),
            console: text("console"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_stays_one_word() {
        let word = "a 'b' $c `d` \"e\"\n*\\";
        let script = format!("printf %s {}", shell_quote(word));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
    }
}
