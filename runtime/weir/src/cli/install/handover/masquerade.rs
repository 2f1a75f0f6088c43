//! What `ipMasq` makes, made with the node's own `iptables`: the plugins `bridge` and `ptp` make it in an ADD that makes
//! a link as well, and there is no call for the rules alone.
//!
//! The program, and not the kernel: the plugins find rules again by asking the same program for them word by word, and
//! only it knows how the tables of its version and variant have them written down.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use ipnet::IpNet;
use weir_cni::{Command, PluginConfig};
use weir_files::Paths;
use weir_host::printable;
use weir_kernel::firewall::masquerade_chain;
use weir_network::{Asked, Successor, Surroundings};
use weir_sandbox::Sandbox;

use super::attached::Attached;
use crate::cli::output::show;

/// The backend of `ipMasqBackend` that has no iptables.
const NFTABLES: &str = "nftables";

/// The programs of both families, as far as they are needed.
pub struct Iptables {
    ipv4: Option<Successor>,
    ipv6: Option<Successor>,
}

impl Iptables {
    /// Finds what these addresses need. Errors: it is not there, or not to be trusted.
    pub fn find(networks: &[IpNet], around: &Surroundings, paths: &Paths) -> Result<Self> {
        let needed = |name, is_needed: bool| {
            let found = is_needed.then(|| find(name, around, paths));
            found.transpose()
        };
        let is_ipv4 = |network: &IpNet| network.addr().is_ipv4();
        Ok(Self {
            ipv4: needed("iptables", networks.iter().any(is_ipv4))?,
            ipv6: needed("ip6tables", !networks.iter().all(is_ipv4))?,
        })
    }

    fn of(&self, network: &IpNet) -> Result<&Successor> {
        let program = if network.addr().is_ipv4() {
            &self.ipv4
        } else {
            &self.ipv6
        };
        program
            .as_ref()
            .ok_or_else(|| anyhow!("there is no iptables for {network}"))
    }
}

fn find(name: &str, around: &Surroundings, paths: &Paths) -> Result<Successor> {
    let directories = std::env::split_paths(&around.search);
    let places = directories.map(|directory| directory.join(name));
    let Some(place) = places.into_iter().find(|place: &PathBuf| place.is_file()) else {
        bail!("there is no `{name}` in PATH ({})", around.search);
    };
    Successor::open(name, &place, root(&place, paths)).map_err(show)
}

/// Programs of the system are not below weir's root.
fn root<'a>(place: &Path, paths: &'a Paths) -> &'a Path {
    if place.starts_with(paths.root()) {
        paths.root()
    } else {
        Path::new("/")
    }
}

/// Fails where the plugin would not look for its rules in iptables.
pub fn check(configs: &[PluginConfig]) -> Result<()> {
    for config in configs {
        let backend = config.as_map().get("ipMasqBackend");
        if backend.and_then(|backend| backend.as_str()) == Some(NFTABLES) {
            bail!(
                "its `ipMasqBackend` is `{NFTABLES}`, which has rules in another place than iptables"
            );
        }
    }
    Ok(())
}

/// Makes the rules of an attachment, those that are not there yet.
pub fn make(
    iptables: &Iptables,
    attached: &Attached,
    config: &PluginConfig,
    networks: &[IpNet],
    sandbox: &Arc<Sandbox>,
    around: &Surroundings,
) -> Result<()> {
    for network in networks {
        let run = Run {
            program: iptables.of(network)?,
            sandbox,
            around,
            asked: Asked {
                plugin: config.plugin_type(),
                command: Command::Add,
                attachment: &attached.attachment,
                config,
                network: &attached.list.name,
                definition: None,
            },
        };
        run.make(&Rules::of(attached, network))?;
    }
    Ok(())
}

/// What masquerades one address.
struct Rules {
    chain: String,
    /// Each with the chain that it stands in, in the order in which they are made.
    rules: Vec<Vec<String>>,
}

impl Rules {
    fn of(attached: &Attached, network: &IpNet) -> Self {
        let (name, id) = (&attached.list.name, &attached.attachment.container_id);
        let chain = masquerade_chain(name, id);
        let multicast = if network.addr().is_ipv4() {
            "224.0.0.0/4"
        } else {
            "ff00::/8"
        };
        // What the plugins look for: neither has a character that would have to be escaped.
        let comment = format!("name: \"{name}\" id: \"{id}\"");
        let rule = |words: &[&str]| {
            let commented = words
                .iter()
                .copied()
                .chain(["-m", "comment", "--comment", &comment]);
            commented.map(str::to_owned).collect()
        };
        let (inside, address) = (network.to_string(), network.addr().to_string());
        Self {
            rules: vec![
                rule(&[&chain, "-d", &inside, "-j", "ACCEPT"]),
                rule(&[&chain, "!", "-d", multicast, "-j", "MASQUERADE"]),
                rule(&["POSTROUTING", "-s", &address, "-j", &chain]),
            ],
            chain,
        }
    }
}

/// The program, and for whom it is run.
struct Run<'a> {
    program: &'a Successor,
    sandbox: &'a Arc<Sandbox>,
    around: &'a Surroundings,
    asked: Asked<'a>,
}

impl Run<'_> {
    fn make(&self, rules: &Rules) -> Result<()> {
        let chain = [rules.chain.clone()];
        if !self.succeeds("-S", &chain)? {
            self.must("-N", &chain)?;
        }
        for rule in &rules.rules {
            if !self.succeeds("-C", rule)? {
                self.must("-A", rule)?;
            }
        }
        Ok(())
    }

    fn succeeds(&self, command: &str, words: &[String]) -> Result<bool> {
        Ok(self.run(command, words)?.is_none())
    }

    fn must(&self, command: &str, words: &[String]) -> Result<()> {
        match self.run(command, words)? {
            None => Ok(()),
            Some(said) => bail!(
                "`{} -t nat {command} {}` failed: {said}",
                self.program.path().display(),
                words.join(" ")
            ),
        }
    }

    /// What it said where it failed.
    fn run(&self, command: &str, words: &[String]) -> Result<Option<String>> {
        let arguments = ["-w", "-t", "nat", command].map(str::to_owned).into_iter();
        let arguments = arguments.chain(words.iter().cloned()).collect();
        let ended = self
            .program
            .tool(self.sandbox, self.asked, self.around, arguments)
            .map_err(show)?;
        let said = || printable(String::from_utf8_lossy(&ended.messages).trim());
        Ok((ended.status != Some(0)).then(said))
    }
}
