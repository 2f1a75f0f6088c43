//! `weir net add --networks a,b` and `--defaults`: networks of `podNetworks`.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use weir_cni::{Command, to_json};
use weir_files::Paths;
use weir_gate::escape;
use weir_network::{Attached, Choice, PodNetworks};

use super::{AttachmentArguments, sandbox};
use crate::cli::output::{print_line, show};

/// One attachment, as it is printed.
#[derive(Serialize)]
struct Shown {
    network: String,
    interface: String,
    result: Value,
}

/// ADD, DEL or CHECK of the networks that are chosen.
pub(super) fn run(arguments: &AttachmentArguments, command: Command) -> Result<()> {
    let sandbox = sandbox(Paths::from_environment())?;
    let networks = PodNetworks::new(&sandbox, arguments.places.bin_dir.clone());
    let choice = choice(arguments);
    let container = arguments.attachment(command)?;
    match command {
        Command::Del => networks.del(&choice, &container).map_err(show),
        Command::Check => networks.check(&choice, &container).map_err(show),
        _ => {
            let attached = networks.add(&choice, &container, &arguments.capability_args()?);
            print(attached.map_err(show)?)
        }
    }
}

fn choice(arguments: &AttachmentArguments) -> Choice {
    if arguments.defaults {
        Choice::Defaults
    } else {
        Choice::Named(arguments.networks.clone())
    }
}

fn print(attached: Vec<Attached>) -> Result<()> {
    let shown = attached.into_iter().map(shown);
    let shown: Vec<Shown> = shown.collect::<Result<_>>()?;
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
