//! GC of pods: recorded pods that are not valid attachments are detached.

use std::collections::BTreeMap;

use weir_cni::Error;
use weir_network::{Network, Record, Records, together};

use super::delegating_call::DelegatingCall;
use super::detach;
use super::kubernetes::Limits;

/// Detaches the recorded pods that are not valid attachments, and runs GC for every network of the others, and for the
/// default network. Continues after failures.
///
/// Errors: all failures, as one error.
pub(crate) fn collect(call: &DelegatingCall<'_>) -> Result<(), Error> {
    let valid = &call.configuration.valid_attachments;
    let mut failures = Vec::new();
    for record in call.records.all()? {
        if !record.is_of(valid) {
            failures.extend(detach_stale(call, &record).err());
        }
    }
    let mut networks = recorded(call)?;
    failures.extend(add_default(call, &mut networks).err());
    for attached in networks.values() {
        failures.extend(attached.network.gc(&valid_of(attached, &networks)).err());
    }
    together(failures)
}

fn detach_stale(call: &DelegatingCall<'_>, record: &Record) -> Result<(), Error> {
    let attachment = record.attachment()?;
    match call.records.take(&attachment)? {
        Some(held) => detach::recorded(call, &attachment, held),
        None => Ok(()),
    }
}

/// A network, and the attachments to it that stay.
struct Attached {
    network: Network,
    valid: Vec<weir_cni::Attachment>,
}

/// The attachments that a network must keep, with those of other networks of its name: plugins once knew a network only
/// by the name in its configuration.
fn valid_of(attached: &Attached, all: &Networks) -> Vec<weir_cni::Attachment> {
    let name = &attached.network.list().name;
    let of_name = all
        .values()
        .filter(|other| other.network.list().name == *name);
    of_name.flat_map(|other| other.valid.clone()).collect()
}

/// By their names for people.
type Networks = BTreeMap<String, Attached>;

/// The networks of all pods on this node, of every delegating plugin.
fn recorded(call: &DelegatingCall<'_>) -> Result<Networks, Error> {
    let mut networks = Networks::new();
    for records in Records::of_pods(call.sandbox.paths())? {
        for record in records.all()? {
            for recorded in &record.attachments {
                let network = call.network(recorded)?;
                let valid = weir_cni::Attachment::new(&record.container_id, &recorded.ifname);
                add(&mut networks, network, [valid]);
            }
        }
    }
    Ok(networks)
}

/// Adds the default network, whose valid attachments are the runtime's.
fn add_default(call: &DelegatingCall<'_>, networks: &mut Networks) -> Result<(), Error> {
    let cluster = call.cluster(Limits::default());
    let configuration = &call.configuration;
    let args = configuration.capability_args.clone();
    let network = call.default_network(cluster.as_ref(), args)?;
    add(networks, network, configuration.valid_attachments.clone());
    Ok(())
}

fn add(
    networks: &mut Networks,
    network: Network,
    valid: impl IntoIterator<Item = weir_cni::Attachment>,
) {
    let known_as = network.granted_as().to_owned();
    let new = || Attached {
        network,
        valid: Vec::new(),
    };
    networks
        .entry(known_as)
        .or_insert_with(new)
        .valid
        .extend(valid);
}
