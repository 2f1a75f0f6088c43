//! The networks of every pod: the cluster-wide default network, and the further ones of the configuration.

use std::path::Path;

use weir_cni::{Error, NetworkConfigList};
use weir_network::{self as network, ConfigPath};

use super::super::cluster::Pod;
use super::super::codes;
use super::super::configuration::{ClusterNetwork, Configuration};
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

/// The cluster-wide default network alone, as STATUS asks for it.
pub(super) fn cluster_network(
    context: PlanContext<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    match &context.configuration.cluster_network {
        ClusterNetwork::Given(list) => Ok(Wanted::plain(list.clone())),
        ClusterNetwork::Named(name) => named(name, "clusterNetwork", context, definitions),
    }
}

/// The network in place of the default one that the pod names, or the default one.
fn default_network(
    context: PlanContext<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    let configuration = context.configuration;
    let instead = match context.pod {
        Some(pod) => request::default_network(pod, configuration)?,
        None => None,
    };
    match instead {
        Some(element) => definitions.of_element(element, context.conf_dir()),
        None => cluster_network(context, definitions),
    }
}

fn is_of_the_system(context: PlanContext<'_>) -> bool {
    let is_system = |pod: &Pod| {
        context
            .configuration
            .system_namespaces
            .contains(&pod.namespace)
    };
    context.pod.is_some_and(is_system)
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
    if Configuration::is_path(name) {
        let path = context.paths.resolve(Path::new(name));
        let list = at_path(
            ConfigPath::of_node(&path, context.paths.root()),
            path.is_dir(),
        );
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

/// The network of a file, or the first one of a directory.
fn at_path(place: ConfigPath<'_>, is_directory: bool) -> Result<NetworkConfigList, Error> {
    if is_directory {
        network::first(place)
    } else {
        network::at(place)
    }
}

fn within(error: Error, key: &str, name: &str) -> Error {
    Error {
        code: codes::NO_NETWORK.into(),
        ..error
    }
    .with_prefix(format_args!("{key}: `{name}`"))
}

fn also_no_definition(error: Error, reference: &Reference) -> Error {
    let no_definition = format!("nor is there a NetworkAttachmentDefinition `{reference}`");
    let details = if error.details.is_empty() {
        no_definition
    } else {
        format!("{}; {no_definition}", error.details)
    };
    error.with_details(details)
}
