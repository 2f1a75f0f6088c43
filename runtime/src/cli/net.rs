//! `weir net`: a network configuration list carried out by hand, for people and for tests.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use weir_cni::to_json;

use super::config::capability_args;
use crate::cli::output::{print_line, show};
use crate::gate::escape;
use crate::network::{Attachment, Network, find};
use crate::paths::Paths;
use crate::sandbox::Sandbox;

#[derive(Subcommand)]
pub enum Command {
    /// Attach a network namespace to a network, and print the result.
    Add(AttachmentArguments),
    /// Detach a network namespace from a network.
    Del(AttachmentArguments),
    /// Check that an attachment is as `add` left it.
    Check(AttachmentArguments),
    /// Remove what belongs to no valid attachment of a network.
    Gc(GcArguments),
    /// Tell whether a network can take attachments.
    Status(NetworkArguments),
}

#[derive(Args)]
pub struct NetworkArguments {
    /// The network's name.
    network: String,
    /// Where network configurations are [default: /etc/cni/net.d].
    #[arg(long, value_name = "DIR", env = "NETCONFPATH")]
    conf_dir: Option<PathBuf>,
}

#[derive(Args)]
pub struct AttachmentArguments {
    #[command(flatten)]
    network: NetworkArguments,
    /// The path of the network namespace, such as /run/netns/NAME.
    netns: PathBuf,
    /// The interface's name in the namespace.
    #[arg(long, value_name = "NAME", env = "CNI_IFNAME", default_value = "eth0")]
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
        Command::Add(arguments) => add(&arguments),
        Command::Del(arguments) => {
            let attachment = arguments.attachment(weir_cni::Command::Del)?;
            arguments.network()?.del(&attachment).map_err(show)
        }
        Command::Check(arguments) => {
            let attachment = arguments.attachment(weir_cni::Command::Check)?;
            arguments.network()?.check(&attachment).map_err(show)
        }
        Command::Gc(arguments) => gc(&arguments),
        Command::Status(arguments) => arguments.open(Map::new())?.status().map_err(show),
    }
}

fn add(arguments: &AttachmentArguments) -> Result<()> {
    let network = arguments.network()?;
    let result = network
        .add(&arguments.attachment(weir_cni::Command::Add)?)
        .map_err(show)?;
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
    arguments.network.open(Map::new())?.gc(&valid).map_err(show)
}

impl NetworkArguments {
    fn open(&self, capability_args: Map<String, Value>) -> Result<Network> {
        let paths = Paths::from_environment();
        let directory = self.conf_dir.clone().unwrap_or_else(|| paths.networks());
        let list = find(&directory, &self.network).map_err(show)?;
        let sandbox = Sandbox::new(paths, false).map_err(show)?;
        Ok(Network::new(&sandbox, list, capability_args))
    }
}

impl AttachmentArguments {
    fn network(&self) -> Result<Network> {
        let capability_args = capability_args(self.capability_args.as_deref())?;
        self.network.open(capability_args)
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
        let digest = crate::sandbox::digest(self.netns.as_os_str().as_encoded_bytes()).to_string();
        let hex = digest.trim_start_matches("sha256:");
        format!("weir-{}", &hex[..20])
    }
}
