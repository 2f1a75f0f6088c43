//! A node as the installer sees it: directories, a service account, and the variables of a container.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_kit::{assert_contains, binary};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The name of the default network's file.
pub const DEFAULT: &str = "10-pods.conflist";

/// A directory that is `/` for weir.
pub struct Machine {
    root: TempDir,
}

impl Machine {
    /// One without a default network, with a service account.
    pub fn create() -> Result<Self> {
        let machine = Self {
            root: TempDir::with_prefix("weir-install-")?,
        };
        for directory in [machine.bin_dir(), machine.conf_dir(), machine.account()] {
            fs::create_dir_all(directory)?;
        }
        machine.rotate("token-1")?;
        fs::write(machine.account().join("ca.crt"), "the authority")?;
        Ok(machine)
    }

    /// One with the default network.
    pub fn with_default_network() -> Result<Self> {
        let machine = Self::create()?;
        machine.write_conf(DEFAULT, &default_network())?;
        Ok(machine)
    }

    /// The same after an installation.
    pub fn installed() -> Result<Self> {
        let machine = Self::with_default_network()?;
        machine.install("")?;
        Ok(machine)
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn bin_dir(&self) -> PathBuf {
        self.root.path().join("opt/cni/bin")
    }

    pub fn conf_dir(&self) -> PathBuf {
        self.root.path().join("etc/cni/net.d")
    }

    /// Where the service account is mounted.
    pub fn account(&self) -> PathBuf {
        self.root.path().join("account")
    }

    /// The installed configuration.
    pub fn configuration(&self) -> PathBuf {
        self.conf_dir().join("00-weir.conflist")
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.conf_dir().join("weir.d/weir.kubeconfig")
    }

    /// Gives the service account another token, as a kubelet does.
    pub fn rotate(&self, token: &str) -> Result<()> {
        let new = self.account().join("..new");
        fs::write(&new, token)?;
        fs::rename(new, self.account().join("token")).context("rotate the token")
    }

    pub fn write_conf(&self, name: &str, configuration: &Value) -> Result<()> {
        fs::write(self.conf_dir().join(name), format!("{configuration:#}\n"))
            .with_context(|| format!("write {name}"))
    }

    /// Writes another plugin that is not weir's.
    pub fn put_foreign(&self, name: &str, content: &str) -> Result<()> {
        let path = self.bin_dir().join(name);
        fs::write(&path, content)?;
        fs::set_permissions(path, Permissions::from_mode(0o755)).context("make it a program")
    }

    /// Writes a file below the root, with the directories above it.
    pub fn put_file(&self, path: &str, content: &str) -> Result<()> {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().context("a directory")?)?;
        fs::write(path, content).context("write a file")
    }

    /// A command of the binary under test.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .args(words.split_whitespace())
            .env("WEIR_ROOT", self.root.path())
            .env("WEIR_INSTALL_BIN_DIR", self.bin_dir())
            .env("KUBERNETES_SERVICE_HOST", "10.96.0.1")
            .env("KUBERNETES_SERVICE_PORT", "443")
            .stdin(Stdio::null());
        if words.contains("--kubernetes") {
            command.env("WEIR_INSTALL_SERVICE_ACCOUNT", self.account());
        }
        command
    }

    /// Runs it to its end.
    pub fn run(&self, words: &str) -> Result<Output> {
        self.command(words).output().context("run weir")
    }

    /// Runs `weir install --kubernetes` with these words, which must succeed, and returns what it printed.
    pub fn install(&self, words: &str) -> Result<String> {
        self.succeed(&format!("install --kubernetes {words}"))
    }

    /// Whether `weir install --kubernetes --check` with these words, which is the readiness probe, finds all in place.
    pub fn is_ready(&self, words: &str) -> Result<bool> {
        let output = self.run(&format!("install --kubernetes --check {words}"))?;
        Ok(output.status.success())
    }

    /// Runs `weir uninstall` with these words, which must succeed and remove this path.
    pub fn uninstalled(&self, words: &str, path: &str) -> Result<()> {
        self.succeed(&format!("uninstall {words}"))?;
        assert!(!self.root().join(path).exists(), "{path} is still there");
        Ok(())
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub fn succeed(&self, words: &str) -> Result<String> {
        let output = self.run(words)?;
        ensure!(output.status.success(), "weir {words}: {output:?}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Runs a command that must fail with status 1, and returns its error message.
    pub fn fail(&self, words: &str) -> Result<String> {
        let output = self.run(words)?;
        ensure!(output.status.code() == Some(1), "weir {words}: {output:?}");
        Ok(String::from_utf8(output.stderr)?)
    }

    /// Checks that `install` with `always` and each of these words is refused as wrong usage, with this text, and that
    /// nothing is installed.
    pub fn refuses(&self, always: &str, wrong: &[(&str, &str)]) -> Result<()> {
        for (words, told) in wrong {
            let output = self.run(&format!("install {always} {words}"))?;
            let said = String::from_utf8(output.stderr)?;
            ensure!(output.status.code() == Some(2), "{words}: {said}");
            ensure!(said.contains(told), "{words}: {said}");
        }
        ensure!(self.names("opt/cni/bin")?.is_empty());
        Ok(())
    }

    /// Runs an installation that waits a moment for a default network, and must fail with these words and write no
    /// configuration.
    pub fn is_not_configured(&self, words: &[&str]) -> Result<()> {
        assert_contains(&self.fail("install --kubernetes --wait 20ms")?, words);
        assert!(!self.configuration().exists());
        Ok(())
    }

    /// Starts an installation, which waits for a default network.
    pub fn waiting(&self, words: &str) -> Result<Running> {
        let mut running = self.start(words)?;
        running.expect("the configuration of a default network")?;
        Ok(running)
    }

    /// Starts `weir install --kubernetes` with these words.
    pub fn start(&self, words: &str) -> Result<Running> {
        Running::start(self.command(&format!("install --kubernetes {words}")))
    }

    pub fn read(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = self.root.path().join(path);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    pub fn read_json(&self, path: impl AsRef<Path>) -> Result<Value> {
        Ok(serde_json::from_str(&self.read(path)?)?)
    }

    /// The token in the kubeconfig.
    pub fn token(&self) -> Result<Value> {
        Ok(self.read_json(self.kubeconfig())?["users"][0]["user"]["token"].take())
    }

    /// The installed configuration of the delegating plugin.
    pub fn plugin(&self) -> Result<Value> {
        Ok(self.read_json(self.configuration())?["plugins"][0].take())
    }

    /// The names in a directory, sorted.
    pub fn names(&self, directory: impl AsRef<Path>) -> Result<Vec<String>> {
        let entries = fs::read_dir(self.root.path().join(directory))?;
        let mut names = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<Vec<String>>>()?;
        names.sort();
        Ok(names)
    }

    /// Whether a name among the plugins is a link to weir.
    pub fn is_link(&self, name: &str) -> bool {
        let target = fs::read_link(self.bin_dir().join(name));
        target.is_ok_and(|target| target == Path::new("weir"))
    }

    /// Whether the installed weir is the binary under test, complete.
    pub fn has_binary(&self) -> Result<bool> {
        same(&self.bin_dir().join("weir"), &binary())
    }
}

/// Whether two files have the same content. Binaries are large: neither is read into memory.
fn same(one: &Path, other: &Path) -> Result<bool> {
    const BLOCK: usize = 256 * 1024;
    let open = |path: &Path| -> Result<_> {
        let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
        Ok(BufReader::with_capacity(BLOCK, file))
    };
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        if left != right || left.is_empty() {
            return Ok(left == right);
        }
        let length = left.len();
        one.consume(length);
        other.consume(length);
    }
}

/// The default network of the tests, with plugins that weir does not have.
pub fn default_network() -> Value {
    json!({
        "cniVersion": "1.0.0", "name": "pods", "plugins": [
            { "type": "native", "bridge": "pods0", "capabilities": { "mac": true, "ips": false },
                "ipam": { "type": "native-ipam", "subnet": "10.88.0.0/24" } },
            { "type": "native-portmap", "capabilities": { "portMappings": true } },
        ],
    })
}

/// A process of weir; killed when it is dropped.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Running {
    pub fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("start weir")?;
        let (sender, lines) = channel();
        pass_on(child.stdout.take().context("its output")?, sender.clone());
        pass_on(child.stderr.take().context("its complaints")?, sender);
        Ok(Self {
            child,
            lines,
            seen: Vec::new(),
        })
    }

    /// Waits for a line that has these words, of standard output or standard error.
    pub fn expect(&mut self, words: &str) -> Result<String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(words) => return Ok(line),
                Ok(line) => self.seen.push(line),
                Err(_) => bail!("weir has not said {words:?}, but {:?}", self.seen),
            }
        }
    }

    /// Waits for a line of each of these words, in any order: those of standard error and of two threads may overtake others.
    pub fn expect_all(&mut self, words: &[&str]) -> Result<()> {
        let mut missing = words.to_vec();
        while !missing.is_empty() {
            let line = self.expect("").with_context(|| format!("{missing:?}"))?;
            missing.retain(|words| !line.contains(words));
            self.seen.push(line);
        }
        Ok(())
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = i32::try_from(self.child.id())?;
        kill(Pid::from_raw(id), signal).context("send a signal")
    }

    /// Ends it with a signal, after which it must succeed.
    pub fn ends_cleanly(self, signal: Signal) -> Result<()> {
        self.signal(signal)?;
        let (status, said) = self.end()?;
        ensure!(status.success(), "{status}: {said:?}");
        Ok(())
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Waits for its end, and returns the output that was not waited for.
    pub fn end(mut self) -> Result<(ExitStatus, Vec<String>)> {
        let mut said = std::mem::take(&mut self.seen);
        let deadline = Instant::now() + LIMIT;
        // Both are closed when it has ended.
        while let Ok(line) = self
            .lines
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            said.push(line);
        }
        ensure!(Instant::now() < deadline, "weir has not ended: {said:?}");
        Ok((self.child.wait()?, said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pass_on(from: impl Read + Send + 'static, to: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}
