//! `weir net add --networks a,b` and `--defaults`: networks of `podNetworks`.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use weir_cni::{Command, to_json};
use weir_gate::escape;
use weir_network::{Attached, Choice, PodNetworks};

use super::{AttachmentArguments, sandbox};
use crate::cli::config::capability_args;
use crate::cli::output::{print_line, show};

#[derive(Serialize)]
struct Shown {
    network: String,
    interface: String,
    result: Value,
}

/// Runs ADD, DEL or CHECK for the selected networks.
pub(super) fn run(arguments: &AttachmentArguments, command: Command) -> Result<()> {
    let sandbox = sandbox()?;
    let networks = PodNetworks::new(&sandbox, arguments.directories.bin_dir.clone());
    let choice = if arguments.defaults {
        Choice::Defaults
    } else {
        Choice::Named(arguments.networks.clone())
    };
    let container = arguments.attachment(command)?;
    match command {
        Command::Del => networks.del(&choice, &container).map_err(show),
        Command::Check => networks.check(&choice, &container).map_err(show),
        _ => {
            let args = capability_args(arguments.capability_args.as_deref())?;
            print(networks.add(&choice, &container, &args).map_err(show)?)
        }
    }
}

fn print(attached: Vec<Attached>) -> Result<()> {
    let shown: Vec<Shown> = attached.into_iter().map(shown).collect::<Result<_>>()?;
    print_line!("{}", escape(serde_json::to_string_pretty(&shown)?));
    Ok(())
}

fn shown(attached: Attached) -> Result<Shown> {
    Ok(Shown {
        result: to_json(&attached.result, attached.network.cni_version).map_err(show)?,
        network: attached.network.name,
        interface: attached.interface,
    })
}
