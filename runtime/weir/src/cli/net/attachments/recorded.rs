//! Attachments by the records: libcni's cache, in which weir keeps its own results too, and weir's records of pods and of
//! networks attached by name.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use weir_cni::{Execution, NetworkConfigList};
use weir_files::Paths;
use weir_grant::section::in_one_part;
use weir_network::{Cache, Cached, PodName, Record, RecordedAttachment, Records};

use super::{Address, HostPort, Shown, State};
use crate::OWN_NAME;
use crate::cli::output::show;

/// What the records say.
#[derive(Default)]
pub(super) struct Recorded {
    pub attachments: Vec<Shown>,
    /// The network configuration lists of these.
    pub lists: Vec<NetworkConfigList>,
    /// Why some records are not used.
    pub unused: Vec<String>,
}

/// A network in one part, the container id and the interface.
type Key = (String, String, String);

/// Reads the records, without a lock: each file is replaced as a whole.
///
/// Errors: a directory cannot be read.
pub(super) fn recorded(paths: &Paths) -> Result<Recorded> {
    let mut recorded = Recorded::default();
    let mut found: BTreeMap<Key, Shown> = BTreeMap::new();
    // An ADD writes a record before the result, and a DEL removes the result first.
    let records = records(paths, &mut recorded.unused)?;
    let (cached, unused) = Cache::new(paths).all().map_err(show)?;
    recorded
        .unused
        .extend(unused.iter().map(ToString::to_string));
    for cached in &cached {
        let list = cached
            .config()
            .and_then(|config| NetworkConfigList::parse(&config));
        if let Err(error) = &list {
            let Cached {
                container_id,
                network_name,
                ..
            } = cached;
            recorded.unused.push(format!(
                "the cached configuration of container `{container_id}` on network `{network_name}`: {error}"
            ));
        }
        let list = list.ok();
        if !(list.as_ref().is_some_and(is_delegating) && has_delegates(cached, &records)) {
            let key = (
                cached.network_name.clone(),
                cached.container_id.clone(),
                cached.if_name.clone(),
            );
            found.insert(key, of_cached(cached, list.as_ref()));
        }
        recorded.lists.extend(list);
    }
    for record in &records {
        for attachment in &record.attachments {
            let list = attachment.list().ok();
            let shown = of_record(record, attachment, list.as_ref());
            let key = (
                in_one_part(&shown.network),
                record.container_id.clone(),
                attachment.ifname.clone(),
            );
            let known = found.entry(key).or_insert(shown);
            known.pod = known.pod.take().or_else(|| record.pod.clone());
            recorded.lists.extend(list);
        }
    }
    recorded.attachments = found.into_values().collect();
    Ok(recorded)
}

fn records(paths: &Paths, unused: &mut Vec<String>) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    let mut directories = Records::of_pods(paths).map_err(show)?;
    directories.push(Records::of_named(paths));
    for records in directories {
        let (found, why) = records.all_or_why().map_err(show)?;
        all.extend(found);
        unused.extend(why.iter().map(ToString::to_string));
    }
    Ok(all)
}

/// Whether a network is weir's own as the delegating plugin.
fn is_delegating(list: &NetworkConfigList) -> bool {
    list.plugins
        .iter()
        .any(|plugin| plugin.plugin_type() == OWN_NAME)
}

/// Whether the networks that the delegating plugin has attached are recorded, each by itself.
fn has_delegates(cached: &Cached, records: &[Record]) -> bool {
    records
        .iter()
        .any(|record| record.container_id == cached.container_id && record.ifname == cached.if_name)
}

/// `namespace/name` of a definition's network, which is `namespace@name` in the cache and in the names of stores.
pub(super) fn network(in_one_part: &str) -> String {
    in_one_part.replacen('@', "/", 1)
}

fn of_cached(cached: &Cached, list: Option<&NetworkConfigList>) -> Shown {
    let result = list.and_then(|list| cached.result_of(list));
    let addresses = result.map_or_else(Vec::new, |result| result.ips);
    Shown {
        network: network(&cached.network_name),
        container_id: cached.container_id.clone(),
        pod: cached.args().as_ref().and_then(PodName::of),
        interface: Some(cached.if_name.clone()),
        addresses: addresses
            .iter()
            .map(|ip| Address::OfInterface(ip.address))
            .collect(),
        host_ports: list.map_or_else(Vec::new, |list| {
            host_ports(list, &cached.capability_args.clone().unwrap_or_default())
        }),
        since: cached.written,
        state: State::Attached,
        file: None,
    }
}

fn of_record(
    record: &Record,
    attachment: &RecordedAttachment,
    list: Option<&NetworkConfigList>,
) -> Shown {
    let name = list.map_or(&attachment.network, |list| &list.name);
    Shown {
        network: attachment.source().granted_as(name).to_owned(),
        container_id: record.container_id.clone(),
        pod: record.pod.clone(),
        interface: Some(attachment.ifname.clone()),
        addresses: Vec::new(),
        host_ports: list.map_or_else(Vec::new, |list| {
            host_ports(list, &attachment.capability_args)
        }),
        since: None,
        state: State::Incomplete,
        file: None,
    }
}

/// An element of `portMappings`, as runtimes write it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mapping {
    #[serde(default)]
    host_port: u16,
    #[serde(default)]
    container_port: Option<u16>,
    #[serde(default)]
    protocol: String,
    #[serde(default, rename = "hostIP")]
    host_ip: String,
}

/// The ports that a plugin of the list was asked to map.
fn host_ports(
    list: &NetworkConfigList,
    capability_args: &serde_json::Map<String, Value>,
) -> Vec<HostPort> {
    let mut ports: Vec<HostPort> = Vec::new();
    for plugin in &list.plugins {
        let execution = Execution::Del { prev_result: None };
        // Only of the capabilities that the plugin has.
        let Ok(config) = list.execution_config(plugin, capability_args, execution) else {
            continue;
        };
        let mappings = config
            .runtime_config()
            .and_then(|args| args.get("portMappings"));
        for mapping in mappings.and_then(Value::as_array).into_iter().flatten() {
            ports.extend(host_port(mapping).filter(|port| !ports.contains(port)));
        }
    }
    ports
}

fn host_port(mapping: &Value) -> Option<HostPort> {
    let mapping = Mapping::deserialize(mapping).ok()?;
    let protocol = match mapping.protocol.to_lowercase() {
        none if none.is_empty() => "tcp".to_owned(),
        protocol => protocol,
    };
    // Port 0 is not mapped.
    Some(HostPort {
        host_port: mapping.host_port,
        container_port: mapping.container_port,
        protocol,
        host_ip: Some(mapping.host_ip).filter(|ip| !ip.is_empty()),
        taken_by: None,
    })
    .filter(|port| port.host_port != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use tempfile::TempDir;
    use weir_cni::{Args, Command};
    use weir_network::Attachment;

    use super::*;

    /// Caches a result of one plugin with an address, as a runtime does.
    fn cache(paths: &Paths, network: &str, plugin: &str) {
        let config =
            json!({ "cniVersion": "1.1.0", "name": network, "plugins": [{ "type": plugin }] });
        let result = json!({ "cniVersion": "1.1.0", "ips": [{ "address": "10.1.0.7/16" }] });
        let [id, ifname, netns] = ["c1", "eth0", ""].map(str::to_owned);
        let attachment = Attachment::open(Command::Del, id, ifname, netns, Args::default());
        let attachment = attachment.expect("an attachment without a namespace");
        let none = serde_json::Map::new();
        let cached = Cached::new(network, &attachment, &config.to_string(), &none, result);
        Cache::new(paths)
            .put(&attachment, &cached)
            .expect("written");
    }

    /// The runtime's entry of the delegating plugin has the same addresses as the networks that it attached.
    #[test]
    fn an_address_is_listed_once() {
        let root = TempDir::new().expect("a directory");
        let paths = Paths::below(root.path());
        cache(&paths, "outer", "weir");
        let networks = || -> Vec<String> {
            let found = recorded(&paths).expect("readable").attachments;
            found
                .iter()
                .map(|one| format!("{} {:?}", one.network, one.state))
                .collect()
        };
        // Of a pod that another program attached, there is nothing else.
        assert_eq!(networks(), ["outer Attached"]);
        let record = json!({ "version": 2, "network": "outer", "containerId": "c1", "ifname": "eth0",
            "pod": { "namespace": "default", "name": "web" }, "attachments": [
            { "network": "inner", "isDefault": true, "ifname": "eth0",
                "config": { "cniVersion": "1.1.0", "name": "inner", "type": "bridge" } },
        ] });
        let directory = paths.pods().join("outer");
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("c1:eth0.json"), record.to_string()).expect("written");
        assert_eq!(networks(), ["inner Incomplete"]);
        cache(&paths, "inner", "bridge");
        assert_eq!(networks(), ["inner Attached"]);
        let found = recorded(&paths).expect("readable").attachments;
        assert_eq!(found[0].pod.as_ref().map(|pod| &*pod.name), Some("web"));
        assert!(found[0].addresses[0].is([10, 1, 0, 7].into()));
        assert!(found[0].since.is_some());
    }

    #[test]
    fn ports_are_those_of_plugins_that_map_them() {
        let list = |capabilities: Value| {
            let list = json!({ "cniVersion": "1.1.0", "name": "pods", "plugins": [
                { "type": "bridge" }, { "type": "portmap", "capabilities": capabilities },
            ] });
            NetworkConfigList::from_value(list).expect("a list")
        };
        let args = json!({ "portMappings": [
            { "hostPort": 8080, "containerPort": 80, "protocol": "TCP" },
            { "hostPort": 53, "containerPort": 53, "protocol": "udp", "hostIP": "192.0.2.1" },
            { "hostPort": 0, "containerPort": 9 }, { "hostPort": 99999 }, "8081", null,
        ] });
        let args = args.as_object().expect("an object");
        let texts = |capabilities| -> Vec<String> {
            let ports = host_ports(&list(capabilities), args);
            ports.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            texts(json!({ "portMappings": true })),
            ["8080/tcp", "192.0.2.1:53/udp"]
        );
        assert!(texts(json!({ "portMappings": false })).is_empty());
    }
}
