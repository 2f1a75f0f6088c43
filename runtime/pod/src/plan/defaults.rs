//! The networks of every pod: the cluster-wide default network, and the others of the configuration.

use std::path::Path;

use weir_cni::Error;
use weir_network::{self as network, ConfigPath};

use super::super::codes;
use super::super::configuration::ClusterNetwork;
use super::super::reference::Reference;
use super::definitions::Definitions;
use super::{PlanContext, Wanted, request};

/// The networks, the default one first.
pub(super) fn networks(
    context: PlanContext<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Vec<Wanted>, Error> {
    let mut networks = vec![default_network(context, definitions)?];
    let delegates = context.configuration.delegates.iter().cloned();
    networks.extend(delegates.map(Wanted::plain));
    if !is_of_the_system(context) {
        for name in &context.configuration.default_networks {
            let network = named(name, "defaultNetworks", context, definitions)?;
            networks.push(network);
        }
    }
    Ok(networks)
}

/// The cluster-wide default network alone, for STATUS.
pub(super) fn cluster_network(
    context: PlanContext<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    match &context.configuration.cluster_network {
        ClusterNetwork::Given(list) => Ok(Wanted::plain(list.clone())),
        ClusterNetwork::Named(name) => named(name, "clusterNetwork", context, definitions),
    }
}

/// The default network, or the one that the pod names in its place.
fn default_network(
    context: PlanContext<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    if let Some(pod) = context.pod
        && let Some(element) = request::default_network(pod, context.configuration)?
    {
        return definitions.of_element(element, context.conf_dir());
    }
    cluster_network(context, definitions)
}

fn is_of_the_system(context: PlanContext<'_>) -> bool {
    let namespaces = &context.configuration.system_namespaces;
    context
        .pod
        .is_some_and(|pod| namespaces.contains(&pod.namespace))
}

/// A network as `clusterNetwork` and `defaultNetworks` name it: a path, a NetworkAttachmentDefinition in
/// `multusNamespace`, or a network of `confDir`.
fn named(
    name: &str,
    key: &str,
    context: PlanContext<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    let configuration = context.configuration;
    if Path::new(name).is_absolute() {
        let path = context.paths.resolve(Path::new(name));
        let config_path = ConfigPath::of_node(&path, context.paths.root());
        let list = if path.is_dir() {
            network::first(config_path)
        } else {
            network::at(config_path)
        };
        return list.map(Wanted::plain).map_err(|e| within(e, key, name));
    }
    let reference = Reference::new(&configuration.namespace, name).ok();
    if let Some(reference) = &reference
        && let Some(found) = definitions.find(reference, context.conf_dir())?
    {
        return Ok(found);
    }
    let on_disk = network::find(context.conf_dir(), name);
    on_disk.map(Wanted::plain).map_err(|error| {
        let error = within(error, key, name);
        match (context.cluster, reference) {
            (Some(_), Some(reference)) => also_no_definition(error, &reference),
            _ => error,
        }
    })
}

fn within(error: Error, key: &str, name: &str) -> Error {
    Error {
        code: codes::NO_NETWORK.into(),
        ..error
    }
    .with_prefix(format_args!("{key}: `{name}`"))
}

fn also_no_definition(error: Error, reference: &Reference) -> Error {
    error.and_details([format!(
        "nor is there a NetworkAttachmentDefinition `{reference}`"
    )])
}
