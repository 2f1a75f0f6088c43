//! The networks of every pod: the cluster-wide default network, and the further ones of the configuration.

use std::path::Path;

use weir_cni::{Error, NetworkConfigList};
use weir_network::{self as network, Place};

use super::super::cluster::Pod;
use super::super::codes;
use super::super::configuration::{ClusterNetwork, Configuration};
use super::super::reference::Reference;
use super::definitions::Definitions;
use super::{Circumstances, Wanted, request};

/// The networks, the default one first.
pub(super) fn networks(
    of: Circumstances<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Vec<Wanted>, Error> {
    let mut networks = vec![default_network(of, definitions)?];
    let delegates = of.configuration.delegates.iter().cloned();
    networks.extend(delegates.map(Wanted::plain));
    if !is_of_the_system(of) {
        for name in &of.configuration.default_networks {
            let network = named(name, "defaultNetworks", of, definitions)?;
            networks.push(network);
        }
    }
    Ok(networks)
}

/// The cluster-wide default network alone, as STATUS asks for it.
pub(super) fn cluster_network(
    of: Circumstances<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    match &of.configuration.cluster_network {
        ClusterNetwork::Given(list) => Ok(Wanted::plain(list.clone())),
        ClusterNetwork::Named(name) => named(name, "clusterNetwork", of, definitions),
    }
}

/// The network in place of the default one that the pod names, or the default one.
fn default_network(
    of: Circumstances<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    let configuration = of.configuration;
    let instead = match of.pod {
        Some(pod) => request::default_network(pod, configuration)?,
        None => None,
    };
    match instead {
        Some(element) => definitions.of_element(element, of.conf_dir()),
        None => cluster_network(of, definitions),
    }
}

fn is_of_the_system(of: Circumstances<'_>) -> bool {
    let is_system = |pod: &Pod| of.configuration.system_namespaces.contains(&pod.namespace);
    of.pod.is_some_and(is_system)
}

/// A network as `clusterNetwork` and `defaultNetworks` name it: a path, a NetworkAttachmentDefinition in
/// `multusNamespace`, or a network of `confDir`.
fn named(
    name: &str,
    key: &str,
    of: Circumstances<'_>,
    definitions: &mut Definitions<'_>,
) -> Result<Wanted, Error> {
    let configuration = of.configuration;
    if Configuration::is_path(name) {
        let path = of.paths.resolve(Path::new(name));
        let list = at_path(Place::of_owner(&path, of.paths.root()), path.is_dir());
        return list.map(Wanted::plain).map_err(|e| within(e, key, name));
    }
    let reference = Reference::new(&configuration.namespace, name).ok();
    if let Some(reference) = &reference
        && let Some(found) = definitions.find(reference, of.conf_dir())?
    {
        return Ok(found);
    }
    let on_disk = network::find(of.conf_dir(), name);
    on_disk.map(Wanted::plain).map_err(|error| {
        let error = within(error, key, name);
        match (of.cluster, reference) {
            (Some(_), Some(reference)) => also_no_definition(error, &reference),
            _ => error,
        }
    })
}

/// The network of a file, or the first one of a directory.
fn at_path(place: Place<'_>, is_directory: bool) -> Result<NetworkConfigList, Error> {
    match is_directory {
        true => network::first(place),
        false => network::at(place),
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
    let details = match error.details.is_empty() {
        true => no_definition,
        false => format!("{}; {no_definition}", error.details),
    };
    error.with_details(details)
}
