//! `weir net list`: the networks in the directory of configurations, and those in weir's configuration.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use weir_files::Paths;
use weir_network::{Interface, PodNetwork, Settings, list_names};

use crate::cli::output::{Format, print_line, say, show};

#[derive(Args)]
pub struct Arguments {
    /// The directory of network configurations [default: /etc/cni/net.d].
    #[arg(long, value_name = "DIR", env = "NETCONFPATH")]
    conf_dir: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Shown {
    directory: PathBuf,
    /// Those in the directory.
    networks: Vec<String>,
    configuration: PathBuf,
    /// Those in weir's configuration.
    pod_networks: Vec<PodNetworkSummary>,
}

#[derive(Serialize)]
struct PodNetworkSummary {
    name: String,
    default: bool,
    interface: String,
    plugins: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let paths = Paths::from_environment();
    let directory = arguments
        .conf_dir
        .clone()
        .unwrap_or_else(|| paths.networks());
    let mut networks = list_names(&directory).map_err(show)?;
    networks.sort();
    let settings = Settings::load(&paths).map_err(show)?;
    let shown = Shown {
        directory,
        networks,
        configuration: paths.configuration(),
        pod_networks: settings.pod_networks.iter().map(summary).collect(),
    };
    arguments.format.print(&shown, print)
}

fn summary(network: &PodNetwork) -> PodNetworkSummary {
    let plugins = network.list.plugins.iter();
    PodNetworkSummary {
        name: network.name().to_owned(),
        default: network.is_default,
        interface: match &network.interface {
            Interface::Loopback => "lo".to_owned(),
            Interface::New(template) => template.to_string(),
        },
        plugins: plugins.map(|p| p.plugin_type().to_owned()).collect(),
    }
}

fn print(shown: &Shown) {
    say!("networks of {}:", shown.directory.display());
    if shown.networks.is_empty() {
        print_line!("  none");
    }
    for name in &shown.networks {
        say!("  {name}");
    }
    say!("podNetworks of {}:", shown.configuration.display());
    if shown.pod_networks.is_empty() {
        print_line!("  none");
    }
    for network in &shown.pod_networks {
        let default = if network.default { "  default" } else { "" };
        say!(
            "  {:<16} {:<15} {}{default}",
            network.name,
            network.interface,
            network.plugins.join(", ")
        );
    }
}
