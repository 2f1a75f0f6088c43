//! The node's own network configurations, as its commands look at them.

use std::path::PathBuf;

use ipnet::IpNet;
use serde_json::Value;
use weir_cni::NetworkConfigList;
use weir_files::{Paths, entries};
use weir_grant::Section;
use weir_grant::diagnostic::nearest;
use weir_network::{ConfigPath, Settings, at, is_configuration, with_names};
use weir_sandbox::Catalogue;

use super::output::complain;

/// Returns the configurations in the directory of network configurations, and those in weir's, with names in place of the URIs
/// of plugins. What cannot be read, or could have been written by others, is left out.
pub fn of_node(paths: &Paths) -> Vec<NetworkConfigList> {
    let files: Vec<PathBuf> = entries(&paths.networks()).unwrap_or_default();
    let files = files.iter().filter(|file| is_configuration(file));
    let read = files.filter_map(|file| at(ConfigPath::of_node(file, paths.root())).ok());
    let mut lists: Vec<NetworkConfigList> = read.collect();
    let settings = Settings::load(paths).unwrap_or_default();
    lists.extend(
        settings
            .pod_networks
            .into_iter()
            .map(|network| network.list),
    );
    let catalogue = Catalogue::new(paths);
    let named = lists.iter().map(|list| with_names(&catalogue, list));
    named.collect()
}

/// Says on standard error that the node has no network of this name; not of a NetworkAttachmentDefinition, which only the
/// cluster knows.
pub fn report_unknown(paths: &Paths, network: &str) {
    if Section::of(network) == Section::Tenants {
        return;
    }
    let lists = of_node(paths);
    let known: Vec<&str> = lists.iter().map(|list| list.name.as_str()).collect();
    if known.contains(&network) {
        return;
    }
    let directory = paths.networks();
    let meant = nearest(network, &known)
        .map(|meant| format!("; did you mean `{meant}`?"))
        .unwrap_or_default();
    complain(&format!(
        "no such network: no configuration in `{}` has the name `{network}`{meant}",
        directory.display()
    ));
}

/// Returns the subnets from which a network's IPAM plugin gives addresses: every `subnet` below `ipam`.
pub fn subnets(list: &NetworkConfigList) -> Vec<IpNet> {
    let mut found = Vec::new();
    for plugin in &list.plugins {
        if let Some(ipam) = plugin.get("ipam") {
            collect(ipam, &mut found);
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<IpNet>) {
    match value {
        Value::Object(members) => {
            let subnet = members.get("subnet").and_then(Value::as_str);
            found.extend(
                subnet
                    .and_then(|text| text.parse::<IpNet>().ok())
                    .map(|net| net.trunc()),
            );
            members.values().for_each(|member| collect(member, found));
        }
        Value::Array(list) => list.iter().for_each(|element| collect(element, found)),
        _ => {}
    }
}
