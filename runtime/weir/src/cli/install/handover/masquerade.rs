//! The rules of `ipMasq`, made with the node's own `iptables`: an ADD of `bridge` or `ptp` makes them together with a link.
//!
//! The plugins find rules again by asking the same program for them word by word, and only that program knows the form that
//! they have in the tables of its version and variant.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use ipnet::IpNet;
use weir_cni::PluginConfig;
use weir_files::Paths;
use weir_grant::text::printable;
use weir_kernel::firewall::masquerade_chain;
use weir_network::{NativeCall, Successor, ToolEnvironment};
use weir_sandbox::Sandbox;

use super::attached::Attached;
use super::open_program;
use crate::cli::output::show;

/// The value of `ipMasqBackend` that does not use iptables.
const NFTABLES: &str = "nftables";

/// What is needed to masquerade the addresses of an attachment.
pub struct Masquerade {
    config: PluginConfig,
    networks: Vec<IpNet>,
    /// The programs of both families, as far as they are needed.
    ipv4: Option<Successor>,
    ipv6: Option<Successor>,
}

impl Masquerade {
    /// Finds the programs that these addresses need. Errors: one is missing or not trusted, or the plugin would not look for
    /// its rules in iptables.
    pub fn find(
        configs: &[PluginConfig],
        networks: Vec<IpNet>,
        tools: &ToolEnvironment,
        paths: &Paths,
    ) -> Result<Self> {
        let backend = |config: &PluginConfig| config.as_map().get("ipMasqBackend").cloned();
        if configs
            .iter()
            .any(|config| backend(config) == Some(NFTABLES.into()))
        {
            bail!("its `ipMasqBackend` is `{NFTABLES}`, whose rules are not in iptables");
        }
        let config = configs.first().cloned();
        let needed = |name, is_needed: bool| {
            let found = is_needed.then(|| find(name, tools, paths));
            found.transpose()
        };
        let is_ipv4 = |network: &IpNet| network.addr().is_ipv4();
        Ok(Self {
            config: config.ok_or_else(|| anyhow!("it has no configuration"))?,
            ipv4: needed("iptables", networks.iter().any(is_ipv4))?,
            ipv6: needed("ip6tables", !networks.iter().all(is_ipv4))?,
            networks,
        })
    }

    /// Makes the rules of an attachment that are missing.
    pub fn make(
        &self,
        attached: &Attached,
        sandbox: &Arc<Sandbox>,
        tools: &ToolEnvironment,
    ) -> Result<()> {
        for network in &self.networks {
            let program = if network.addr().is_ipv4() {
                &self.ipv4
            } else {
                &self.ipv6
            };
            let run = Run {
                program: program
                    .as_ref()
                    .ok_or_else(|| anyhow!("no iptables for {network}"))?,
                sandbox,
                tools,
                native_call: attached.add(&self.config),
            };
            run.make(attached, network)?;
        }
        Ok(())
    }
}

fn find(name: &str, tools: &ToolEnvironment, paths: &Paths) -> Result<Successor> {
    let mut places = std::env::split_paths(&tools.search).map(|directory| directory.join(name));
    let Some(place) = places.find(|place: &PathBuf| place.is_file()) else {
        bail!("no `{name}` in PATH ({})", tools.search);
    };
    open_program(name, &place, paths)
}

/// The program, and on whose behalf it runs.
struct Run<'a> {
    program: &'a Successor,
    sandbox: &'a Arc<Sandbox>,
    tools: &'a ToolEnvironment,
    native_call: NativeCall<'a>,
}

impl Run<'_> {
    /// Makes the chain and the rules that masquerade one address.
    fn make(&self, attached: &Attached, network: &IpNet) -> Result<()> {
        let (name, id) = (&attached.list.name, &attached.attachment.container_id);
        let chain = masquerade_chain(name, id);
        let multicast = if network.addr().is_ipv4() {
            "224.0.0.0/4"
        } else {
            "ff00::/8"
        };
        // The plugins look for this comment. No character in a name or an id needs to be escaped.
        let comment = format!("name: \"{name}\" id: \"{id}\"");
        let (inside, address) = (network.to_string(), network.addr().to_string());
        if self.run("-S", &[&chain])?.is_some() {
            self.must("-N", &[&chain])?;
        }
        for rule in [
            &[&chain, "-d", &inside, "-j", "ACCEPT"][..],
            &[&chain, "!", "-d", multicast, "-j", "MASQUERADE"],
            &["POSTROUTING", "-s", &address, "-j", &chain],
        ] {
            let rule = [rule, &["-m", "comment", "--comment", &comment]].concat();
            if self.run("-C", &rule)?.is_some() {
                self.must("-A", &rule)?;
            }
        }
        Ok(())
    }

    fn must(&self, command: &str, words: &[&str]) -> Result<()> {
        match self.run(command, words)? {
            None => Ok(()),
            Some(said) => bail!(
                "`{} -t nat {command} {}` failed: {said}",
                self.program.path().display(),
                words.join(" ")
            ),
        }
    }

    /// Runs the program. Returns its message if it failed.
    fn run(&self, command: &str, words: &[&str]) -> Result<Option<String>> {
        let arguments = [&["-w", "-t", "nat", command][..], words].concat();
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        let ended = self
            .program
            .tool(self.sandbox, self.native_call, self.tools, arguments)
            .map_err(show)?;
        let said = || printable(String::from_utf8_lossy(&ended.messages).trim());
        Ok((ended.status != Some(0)).then(said))
    }
}
