//! What may differ between the two sides, each with the reason.
//!
//! First what chance decides: names of the host's ends, MACs, indices, timers, paths of sandboxes.
//! They are replaced by what they are, so that what they say is still compared. Then what weir does
//! otherwise on purpose, in the functions whose names begin with `intended`.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value, json};
use weir_tests::Outcome;

use crate::side::Side;
use crate::snapshot::{Snapshot, Space};

/// Keys of `ip -j -d` whose values are numbers of this boot, or times.
const OF_CHANCE: [&str; 16] = [
    "bridge_id",
    "designated_bridge",
    "forward_delay_timer",
    "gc_timer",
    "hello_timer",
    "hold_timer",
    "ifindex",
    "link",
    "link_index",
    "link_netnsid",
    "message_age_timer",
    "root_id",
    "tcn_timer",
    "topology_change",
    "topology_change_detected",
    "topology_change_timer",
];

/// The roles of a node's links, by name: `port of container 1` for `veth5f3c0a12`.
struct Roles(BTreeMap<String, String>);

impl Roles {
    /// A host's link is the port of the container whose interface says that it is its peer.
    fn of(snapshot: &Snapshot) -> Self {
        let mut roles = BTreeMap::new();
        for (number, container) in snapshot.containers.iter().enumerate() {
            for interface in &container.links {
                let is_port = |link: &&Value| {
                    interface["link_index"].is_u64() && link["ifindex"] == interface["link_index"]
                };
                let port = snapshot.host.links.iter().find(is_port);
                if let Some(name) = port.and_then(|port| port["ifname"].as_str()) {
                    let interface = interface["ifname"].as_str().unwrap_or_default();
                    let role = format!("{{port of {interface} of container {}}}", number + 1);
                    roles.insert(name.to_owned(), role);
                }
            }
        }
        Self(roles)
    }

    fn of_name(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

/// A snapshot as it is compared. MACs that `asked` names are kept.
pub fn snapshot(snapshot: &Snapshot, asked: &str) -> Value {
    let roles = Roles::of(snapshot);
    let containers = snapshot.containers.iter().enumerate();
    let containers = containers.map(|(number, container)| {
        (format!("container {}", number + 1), space(container, &roles, asked))
    });
    json!({
        "host": space(&snapshot.host, &roles, asked),
        "containers": containers.collect::<Map<_, _>>(),
        "files": snapshot.files,
    })
}

fn space(space: &Space, roles: &Roles, asked: &str) -> Value {
    let links = space.links.iter().map(|link| {
        let name = roles.of_name(link["ifname"].as_str().unwrap_or_default());
        let mut normal = without_chance(link, roles);
        normal["address"] = json!(mac_role(link, space, asked));
        intended_queue_length(&mut normal);
        (name, normal)
    });
    // The kernel's order follows indices, and neighbours that are no one's doing come and go.
    let permanent = space.neighbours.iter().filter(|neighbour| is_permanent(neighbour));
    json!({
        "links": links.collect::<Map<_, _>>(),
        "routes": sorted(space.routes.iter().map(|route| without_chance(route, roles))),
        "rules": sorted(space.rules.iter().map(|rule| without_chance(rule, roles))),
        "neighbours": sorted(permanent.map(|neighbour| without_chance(neighbour, roles))),
        "parameters": parameters(space, roles),
    })
}

fn without_chance(value: &Value, roles: &Roles) -> Value {
    match value {
        Value::Object(keys) => {
            let keys = keys.iter().filter(|(key, _)| !OF_CHANCE.contains(&key.as_str()));
            keys.map(|(key, value)| (key.clone(), without_chance(value, roles))).collect()
        }
        Value::Array(items) => items.iter().map(|item| without_chance(item, roles)).collect(),
        Value::String(text) => json!(text_role(text, roles)),
        other => other.clone(),
    }
}

/// A link-local address follows from its link's MAC.
fn text_role(text: &str, roles: &Roles) -> String {
    match text.starts_with("fe80::") && !text.contains('/') {
        true => "{link-local}".to_owned(),
        false => roles.of_name(text),
    }
}

/// What a link's MAC is: one that was asked for, one of its own, or for a bridge that of a port.
fn mac_role(link: &Value, space: &Space, asked: &str) -> String {
    let mac = link["address"].as_str().unwrap_or_default();
    let is_special = mac == "00:00:00:00:00:00" || asked.to_lowercase().contains(mac);
    let is_of_port = |port: &Value| port["master"] == link["ifname"] && port["address"] == mac;
    match mac {
        mac if is_special => mac.to_owned(),
        _ if space.links.iter().any(is_of_port) => "{of a port}".to_owned(),
        _ => "{own}".to_owned(),
    }
}

fn is_permanent(neighbour: &Value) -> bool {
    let states = neighbour["state"].as_array();
    states.into_iter().flatten().any(|state| state == "PERMANENT")
}

fn sorted(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut values: Vec<Value> = values.collect();
    values.sort_by_key(Value::to_string);
    values
}

fn parameters(space: &Space, roles: &Roles) -> Map<String, Value> {
    let named = space.parameters.iter().map(|(path, value)| {
        let parts = path.split('/').map(|part| roles.of_name(part));
        (parts.collect::<Vec<_>>().join("/"), json!(value))
    });
    named.collect()
}

/// weir leaves the kernel's queue length of a veth, 1000, as the reference does since 1.2.0; before,
/// it asked for none by an oversight of its netlink library.
fn intended_queue_length(link: &mut Value) {
    let is_veth = link["linkinfo"]["info_kind"] == "veth";
    if let Some(keys) = link.as_object_mut().filter(|_| is_veth) {
        keys.remove("txqlen");
    }
}

/// What came of a call, as it is compared.
pub fn outcome(outcome: &Outcome, side: &Side, now: &Snapshot, asked: &str) -> Value {
    match outcome.status {
        Some(0) => result(outcome.document(), side, now, asked),
        Some(1) => json!({ "error": intended_code(&outcome.error()) }),
        _ => panic!("{:?} did not end as a plugin does: {outcome:?}", side.whose),
    }
}

/// Codes of plugins are their own, and the reference has nearly always 999; those that the
/// specification defines say the same on both sides.
fn intended_code(error: &Value) -> Value {
    match error["code"].as_u64() {
        Some(1 | 2 | 3 | 4 | 5 | 11) => error["code"].clone(),
        // A configuration that is wrong is 7 in weir, and mostly 999 in the reference.
        _ => json!("{of the plugin}"),
    }
}

fn result(mut result: Value, side: &Side, now: &Snapshot, asked: &str) -> Value {
    let roles = Roles::of(now);
    let interfaces = result.get_mut("interfaces").and_then(Value::as_array_mut);
    for interface in interfaces.into_iter().flatten() {
        normalise_interface(interface, side, now, &roles, asked);
    }
    intended_empty_keys(&mut result);
    result
}

/// An interface's MAC must be the one that it has in the kernel.
fn normalise_interface(
    interface: &mut Value,
    side: &Side,
    now: &Snapshot,
    roles: &Roles,
    asked: &str,
) {
    let name = interface["name"].as_str().unwrap_or_default().to_owned();
    let sandbox = interface["sandbox"].as_str().unwrap_or_default().to_owned();
    let container = side.containers.iter().position(|c| c.netns().to_str() == Some(&*sandbox));
    let space = container.map_or(&now.host, |number| &now.containers[number]);
    if let Some(number) = container {
        interface["sandbox"] = json!(format!("{{sandbox {}}}", number + 1));
    }
    let kernels = space.link(&name).filter(|link| link["address"] == interface["mac"]);
    if let Some(link) = kernels {
        interface["mac"] = json!(format!("{{as in the kernel: {}}}", mac_role(link, space, asked)));
    }
    interface["name"] = json!(roles.of_name(&name));
}

/// weir leaves an empty `dns` out, as the specification's optional keys are and as the reference
/// does since CNI's library 1.2; before, Go's encoder could not.
fn intended_empty_keys(result: &mut Value) {
    if let Some(keys) = result.as_object_mut() {
        keys.retain(|key, value| !(key == "dns" && value.as_object().is_some_and(Map::is_empty)));
    }
}

/// The specification has `prevResult` in every CHECK. weir insists on it for every plugin, where the
/// reference's host-local does without.
pub fn intended_check_needs_previous_result(plugin: &str) -> bool {
    plugin != "host-local"
}

/// weir's CHECK of a layer-2 network looks at its links. The reference's (up to 1.9.1 at least) runs
/// the IPAM plugin without asking whether there is one, so that it always fails.
pub fn intended_check_of_layer_2(config: &Value, reference: &Outcome) -> bool {
    config.get("ipam").is_none() && reference.stdout.contains("no plugin name provided")
}

/// weir's DEL succeeds with a configuration that ADD refuses, since ADD has left nothing then. The
/// reference's host-local reads its configuration in the same way for both.
pub fn intended_del_of_refused_configuration(reference: &Outcome, weir: &Outcome) -> bool {
    !reference.succeeded() && weir.succeeded()
}

/// weir's ADD that fails takes back the bridge that it created. The reference leaves it: here it is
/// removed, so that everything else is compared.
pub fn intended_no_bridge_after_failure(sides: &[Side; 2], config: &Value) -> Result<()> {
    let bridge = config["bridge"].as_str().unwrap_or("cni0");
    let [reference, weir] = sides.each_ref().map(Snapshot::take);
    let (reference, weir) = (reference?, weir?);
    let is_port = |link: &Value| link["master"] == bridge;
    let is_left = weir.host.link(bridge).is_none() && !reference.host.links.iter().any(is_port);
    if is_left && reference.host.link(bridge).is_some() {
        sides[0].node.ip(&format!("link delete {bridge}"))?;
    }
    Ok(())
}
