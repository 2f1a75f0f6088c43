//! `weir net`: networks carried out by hand, for people and for tests.

mod list;
mod several;
mod status;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Map, Value};
use weir_cni::{NetworkConfigList, to_json};
use weir_files::Paths;
use weir_gate::escape;
use weir_network::{Attachment, Cache, Network, find};
use weir_sandbox::Sandbox;

use super::config::capability_args;
use crate::cli::output::{print_line, show};

#[derive(Subcommand)]
pub enum Command {
    /// Attach a network namespace to a network, or to several, and print the result.
    #[command(allow_missing_positional = true)]
    Add(AttachmentArguments),
    /// Detach a network namespace from a network, or from several.
    #[command(allow_missing_positional = true)]
    Del(AttachmentArguments),
    /// Check that an attachment, or several, are as `add` left them.
    #[command(allow_missing_positional = true)]
    Check(AttachmentArguments),
    /// Remove what belongs to no valid attachment of a network.
    Gc(GcArguments),
    /// Tell whether a network can take attachments.
    Status(NetworkArguments),
    /// List the networks of this node.
    List(list::Arguments),
}

#[derive(Args)]
pub struct NetworkArguments {
    /// The network's name.
    network: String,
    #[command(flatten)]
    places: Places,
}

/// Where things are that have no place of weir's own.
#[derive(Args)]
pub struct Places {
    /// Where network configurations are [default: /etc/cni/net.d].
    #[arg(long, value_name = "DIR", env = "NETCONFPATH")]
    conf_dir: Option<PathBuf>,
    /// Where native plugins are, which weir's own configuration must list.
    #[arg(
        long,
        value_name = "DIR",
        env = "CNI_PATH",
        value_delimiter = ':',
        hide_env_values = true
    )]
    bin_dir: Vec<PathBuf>,
}

#[derive(Args)]
#[command(group = ArgGroup::new("selected").required(true).args(["network", "networks", "defaults"]))]
pub struct AttachmentArguments {
    /// The name of a network of the configurations' directory.
    network: Option<String>,
    /// The path of the network namespace, such as /run/netns/NAME.
    netns: PathBuf,
    /// Networks of `podNetworks` in weir's own configuration, one after another.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    networks: Vec<String>,
    /// The networks of `podNetworks` that are defaults.
    #[arg(long)]
    defaults: bool,
    #[command(flatten)]
    places: Places,
    /// The interface's name in the namespace; `podNetworks` has its own.
    #[arg(
        long,
        value_name = "NAME",
        env = "CNI_IFNAME",
        default_value = "eth0",
        conflicts_with_all = ["networks", "defaults"]
    )]
    ifname: String,
    /// The container's id [default: made from the path of the namespace].
    #[arg(long, value_name = "ID")]
    container_id: Option<String>,
    /// CNI_ARGS: `KEY=VALUE;…`.
    #[arg(long, value_name = "ARGS", env = "CNI_ARGS", default_value = "")]
    args: String,
    /// Capability arguments as a JSON object, such as `{"mac": "0a:00:00:00:00:01"}`.
    #[arg(long, value_name = "JSON", env = "CAP_ARGS")]
    capability_args: Option<String>,
}

#[derive(Args)]
pub struct GcArguments {
    #[command(flatten)]
    network: NetworkArguments,
    /// An attachment that stays: `CONTAINER/IFNAME`. May be given several times.
    #[arg(long = "keep", value_name = "ATTACHMENT")]
    keep: Vec<String>,
}

/// Carries out a command.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Add(arguments) => attach(&arguments, weir_cni::Command::Add),
        Command::Del(arguments) => attach(&arguments, weir_cni::Command::Del),
        Command::Check(arguments) => attach(&arguments, weir_cni::Command::Check),
        Command::Gc(arguments) => gc(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
    }
}

fn attach(arguments: &AttachmentArguments, command: weir_cni::Command) -> Result<()> {
    let Some(name) = &arguments.network else {
        return several::run(arguments, command);
    };
    let attachment = arguments.attachment(command)?;
    let capability_args = arguments.capability_args()?;
    let network = match command {
        weir_cni::Command::Del => {
            arguments
                .places
                .open_attached(name, capability_args, &attachment)?
        }
        _ => arguments.places.open(name, capability_args)?,
    };
    match command {
        weir_cni::Command::Del => network.del(&attachment).map_err(show),
        weir_cni::Command::Check => network.check(&attachment).map_err(show),
        _ => add(&network, &attachment),
    }
}

fn add(network: &Network, attachment: &Attachment) -> Result<()> {
    let result = network
        .add(attachment)
        .map_err(|failed| show(failed.error))?;
    let result = to_json(&result, network.list().cni_version).map_err(show)?;
    print_line!("{}", escape(format!("{result:#}")));
    Ok(())
}

fn gc(arguments: &GcArguments) -> Result<()> {
    let mut valid = Vec::new();
    for attachment in &arguments.keep {
        let (container, ifname) = attachment
            .split_once('/')
            .with_context(|| format!("--keep {attachment}: not of the form CONTAINER/IFNAME"))?;
        valid.push(weir_cni::Attachment::new(container, ifname));
    }
    arguments.network.open()?.gc(&valid).map_err(show)
}

impl NetworkArguments {
    fn open(&self) -> Result<Network> {
        self.places.open(&self.network, Map::new())
    }
}

impl Places {
    /// A network of the configurations' directory.
    fn open(&self, name: &str, capability_args: Map<String, Value>) -> Result<Network> {
        let paths = Paths::from_environment();
        let list = find(&self.configurations(&paths), name).map_err(show)?;
        self.with_args(paths, list, capability_args)
    }

    /// A network as the attachment was made, where its file is gone or cannot be read.
    fn open_attached(
        &self,
        name: &str,
        capability_args: Map<String, Value>,
        attachment: &Attachment,
    ) -> Result<Network> {
        let paths = Paths::from_environment();
        let list = match find(&self.configurations(&paths), name) {
            Ok(list) => list,
            Err(error) => {
                let used = attached_with(&paths, name, attachment).map_err(show)?;
                used.ok_or_else(|| show(error))?
            }
        };
        self.with_args(paths, list, capability_args)
    }

    fn with_args(
        &self,
        paths: Paths,
        list: NetworkConfigList,
        capability_args: Map<String, Value>,
    ) -> Result<Network> {
        let network = Network::new(&sandbox(paths)?, list, capability_args);
        Ok(network.with_native(self.bin_dir.clone()))
    }

    fn configurations(&self, paths: &Paths) -> PathBuf {
        self.conf_dir.clone().unwrap_or_else(|| paths.networks())
    }
}

/// The configuration that an attachment to one of the node's own networks was made with, as the result cache has it.
///
/// Errors: code 5 where somebody else could have written it; code 6 where it cannot be read.
fn attached_with(
    paths: &Paths,
    name: &str,
    attachment: &Attachment,
) -> Result<Option<NetworkConfigList>, weir_cni::Error> {
    let Some(cached) = Cache::new(paths).get(name, attachment)? else {
        return Ok(None);
    };
    let list = NetworkConfigList::parse(&cached.config()?)?;
    // A tenant's is cached by the name of its definition.
    Ok(Some(list).filter(|list| list.name == name))
}

fn sandbox(paths: Paths) -> Result<Arc<Sandbox>> {
    Sandbox::new(paths, false).map_err(show)
}

impl AttachmentArguments {
    fn capability_args(&self) -> Result<Map<String, Value>> {
        capability_args(self.capability_args.as_deref())
    }

    fn attachment(&self, command: weir_cni::Command) -> Result<Attachment> {
        weir_cni::validate_interface_name(&self.ifname).map_err(show)?;
        let container_id = self
            .container_id
            .clone()
            .unwrap_or_else(|| self.default_id());
        weir_cni::validate_container_id(&container_id).map_err(show)?;
        let args = self.args.parse().map_err(show)?;
        let netns = self.netns.to_string_lossy().into_owned();
        let ifname = self.ifname.clone();
        Attachment::open(command, container_id, ifname, netns, args).map_err(show)
    }

    /// The same for the same namespace, as cnitool does it.
    fn default_id(&self) -> String {
        let digest = weir_sandbox::digest(self.netns.as_os_str().as_encoded_bytes()).to_string();
        let hex = digest.trim_start_matches("sha256:");
        format!("weir-{}", &hex[..20])
    }
}
