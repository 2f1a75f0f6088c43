//! `weir net`: attaches containers to networks by hand, for people and for tests.

mod attachments;
mod fetch;
mod list;
mod multi_network;
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
use crate::cli::output::{Answer, print_line, show};
use crate::protocol::records_reads;

#[derive(Subcommand)]
pub enum Command {
    /// Attach a network namespace to a network, or to several, and print the result.
    #[command(allow_missing_positional = true)]
    Add(AttachmentArguments),
    /// Detach a network namespace from a network, or from several.
    #[command(allow_missing_positional = true)]
    Del(AttachmentArguments),
    /// Check that an attachment, or several, are still as `add` made them.
    #[command(allow_missing_positional = true)]
    Check(AttachmentArguments),
    /// Remove everything on a network that does not belong to an attachment of `--keep`.
    ///
    /// Without `--keep`, no attachment is kept, and all containers are detached from the network.
    Gc(GcArguments),
    /// Check whether a network can take attachments.
    Status(NetworkArguments),
    /// Fetch and install the plugins that networks of this node name by URIs.
    ///
    /// A plugin that was fetched stays as it is until --update. What may be installed, the node's policy says, as for `weir plugin add`.
    Fetch(fetch::Arguments),
    /// List the networks of this node.
    List(list::Arguments),
    /// List what is attached: whose an address and a host port are, and the leases of no attachment.
    ///
    /// It shows what weir and libcni recorded, changes nothing, and waits for no lock.
    Attachments(attachments::Arguments),
}

#[derive(Args)]
pub struct NetworkArguments {
    /// The network's name.
    network: String,
    #[command(flatten)]
    directories: Directories,
}

#[derive(Args)]
pub struct Directories {
    /// The directory of network configurations [default: /etc/cni/net.d].
    #[arg(long, value_name = "DIR", env = "NETCONFPATH")]
    conf_dir: Option<PathBuf>,
    /// The directories of native plugins, which weir's configuration must list.
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
    /// The name of a network in the directory of configurations.
    network: Option<String>,
    /// The path of the network namespace, such as /run/netns/NAME.
    netns: PathBuf,
    /// Networks of `podNetworks` in weir's configuration, in this order.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    networks: Vec<String>,
    /// All default networks of `podNetworks`.
    #[arg(long)]
    defaults: bool,
    #[command(flatten)]
    directories: Directories,
    /// The interface's name in the namespace; those of `podNetworks` are in weir's configuration.
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
    /// An attachment to keep: `CONTAINER/IFNAME`. May be given several times.
    #[arg(long = "keep", value_name = "ATTACHMENT")]
    keep: Vec<String>,
}

pub fn run(command: Command) -> Result<Answer> {
    match command {
        Command::Add(arguments) => attach(&arguments, weir_cni::Command::Add),
        Command::Del(arguments) => attach(&arguments, weir_cni::Command::Del),
        Command::Check(arguments) => attach(&arguments, weir_cni::Command::Check),
        Command::Gc(arguments) => gc(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Fetch(arguments) => fetch::run(&*sandbox()?, &arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Attachments(arguments) => return attachments::run(&arguments),
    }?;
    Ok(Answer::Yes)
}

fn attach(arguments: &AttachmentArguments, command: weir_cni::Command) -> Result<()> {
    let Some(name) = &arguments.network else {
        return multi_network::run(arguments, command);
    };
    let attachment = arguments.attachment(command)?;
    let directories = &arguments.directories;
    let mut list = directories.find(name);
    if let (weir_cni::Command::Del, Err(_)) = (command, &list) {
        // Its file is missing, or cannot be read.
        let cached = attached_with(&Paths::from_environment(), name, &attachment);
        list = cached.and_then(|cached| cached.map_or(list, Ok));
    }
    let args = capability_args(arguments.capability_args.as_deref())?;
    let network = directories.open(list.map_err(show)?, args)?;
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
    let NetworkArguments {
        network,
        directories,
    } = &arguments.network;
    let list = directories.find(network).map_err(show)?;
    let network = directories.open(list, Map::new())?;
    network.gc(&valid).map_err(show)
}

impl Directories {
    fn find(&self, name: &str) -> Result<NetworkConfigList, weir_cni::Error> {
        find(&self.configurations(&Paths::from_environment()), name)
    }

    fn open(&self, list: NetworkConfigList, args: Map<String, Value>) -> Result<Network> {
        let network = Network::new(&sandbox()?, list, args);
        Ok(network.with_native(self.bin_dir.clone()))
    }

    fn configurations(&self, paths: &Paths) -> PathBuf {
        self.conf_dir.clone().unwrap_or_else(|| paths.networks())
    }
}

/// The configuration of an attachment to one of the node's own networks, from the result cache.
///
/// Errors: code 5 if someone other than root could have written it; code 6 if it cannot be read.
fn attached_with(
    paths: &Paths,
    name: &str,
    attachment: &Attachment,
) -> Result<Option<NetworkConfigList>, weir_cni::Error> {
    let Some(cached) = Cache::new(paths).get(name, attachment)? else {
        return Ok(None);
    };
    let list = NetworkConfigList::parse(&cached.config()?)?;
    // A tenant's network is cached under the name of its definition.
    Ok(Some(list).filter(|list| list.name == name))
}

fn sandbox() -> Result<Arc<Sandbox>> {
    Sandbox::new(Paths::from_environment(), records_reads()).map_err(show)
}

impl AttachmentArguments {
    fn attachment(&self, command: weir_cni::Command) -> Result<Attachment> {
        weir_cni::validate_interface_name(&self.ifname).map_err(show)?;
        let container_id = self.container_id.clone();
        let container_id = container_id.unwrap_or_else(|| self.default_id());
        weir_cni::validate_container_id(&container_id).map_err(show)?;
        let args = self.args.parse().map_err(show)?;
        let netns = self.netns.to_string_lossy().into_owned();
        let ifname = self.ifname.clone();
        Attachment::open(command, container_id, ifname, netns, args).map_err(show)
    }

    /// An id that depends only on the namespace, as with cnitool.
    fn default_id(&self) -> String {
        let digest = weir_sandbox::digest(self.netns.as_os_str().as_encoded_bytes()).to_string();
        let hex = digest.trim_start_matches("sha256:");
        format!("weir-{}", &hex[..20])
    }
}
