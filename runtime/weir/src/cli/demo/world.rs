//! The demo's scratch node, on which weir is installed and run as by a container runtime.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use weir_files::paths::ROOT_VARIABLE;

use crate::cli::scratch_node::{Container, ScratchNode};

pub struct World {
    pub node: ScratchNode,
}

impl World {
    /// Installs weir, as an operator would.
    pub fn install(&self) -> Result<()> {
        let own = std::env::current_exe().context("find the running binary")?;
        let mut command = Command::new(own);
        command.arg("install").arg("--bin-dir").arg(self.bin_dir());
        let output = command.env(ROOT_VARIABLE, self.node.root()).output();
        let output = output.context("run weir install")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "weir install: {}", said.trim());
        Ok(())
    }

    /// Links one more plugin's name to weir.
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
            .env(ROOT_VARIABLE, self.node.root())
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", format!("demo-{}", container.name()))
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
        let output = child.wait_with_output();
        let output = output.with_context(|| format!("wait for {plugin}"))?;
        let has_printed = !output.stdout.is_empty();
        let printed = has_printed.then(|| serde_json::from_slice(&output.stdout));
        let printed: Option<Value> = printed.transpose().context("read its output")?;
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

    /// Returns the leased addresses on a network.
    pub fn leases(&self, network: &str) -> Result<Vec<String>> {
        let directory = self.node.path("var/lib/cni/networks").join(network);
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
        self.node.path("opt/cni/bin")
    }
}
