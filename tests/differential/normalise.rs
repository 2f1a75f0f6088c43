//! What may differ between the two sides, each with the reason.
//!
//! First what chance decides: names of the host's ends, MACs, indices, timers, paths of sandboxes.
//! They are replaced by what they are, so that what they say is still compared. Then what weir does
//! otherwise on purpose, in the functions whose names begin with `intended`.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;

use anyhow::Result;
use serde_json::{Map, Value, json};
use weir_kit::Outcome;

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
            for interface in &container.shown.links {
                let is_port = |link: &&Value| {
                    interface["link_index"].is_u64() && link["ifindex"] == interface["link_index"]
                };
                let port = snapshot.host.shown.links.iter().find(is_port);
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
pub fn snapshot(snapshot: &Snapshot, requested: &str) -> Value {
    let roles = Roles::of(snapshot);
    let containers = snapshot.containers.iter().enumerate();
    let containers = containers.map(|(number, container)| {
        (
            format!("container {}", number + 1),
            space(container, &roles, requested),
        )
    });
    let files: Map<_, _> = snapshot.files.clone().into_iter().collect();
    object([
        ("host", space(&snapshot.host, &roles, requested)),
        ("containers", Value::Object(containers.collect())),
        ("files", Value::Object(files)),
    ])
}

/// `json!` would copy the values.
fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(key, value)| (key.to_owned(), value));
    Value::Object(entries.into_iter().collect())
}

fn space(space: &Space, roles: &Roles, requested: &str) -> Value {
    let links = space.shown.links.iter().map(|link| {
        let name = roles.of_name(link["ifname"].as_str().unwrap_or_default());
        let mut normal = without_chance(link, roles);
        normal["address"] = Value::String(mac_role(link, requested));
        chance_of_index(&mut normal);
        intended_queues(&mut normal);
        intended_header(&mut normal);
        intended_owner(&mut normal);
        intended_addresses(&mut normal);
        (name, normal)
    });
    // The kernel's order follows indices, and neighbours that the kernel learns by itself come and go.
    let permanent = space
        .shown
        .neighbours
        .iter()
        .filter(|neighbour| is_permanent(neighbour));
    let routes = space.shown.routes.iter();
    let rules = space.shown.rules.iter();
    object([
        ("links", Value::Object(links.collect())),
        (
            "routes",
            sorted(routes.map(|route| intended_on_link(without_chance(route, roles)))),
        ),
        (
            "rules",
            sorted(rules.map(|rule| without_chance(rule, roles))),
        ),
        (
            "neighbours",
            sorted(permanent.map(|neighbour| without_chance(neighbour, roles))),
        ),
        ("parameters", Value::Object(parameters(space, roles))),
    ])
}

fn without_chance(value: &Value, roles: &Roles) -> Value {
    match value {
        Value::Object(keys) => {
            let keys = keys
                .iter()
                .filter(|(key, _)| !OF_CHANCE.contains(&key.as_str()));
            keys.map(|(key, value)| (key.clone(), without_chance(value, roles)))
                .collect()
        }
        Value::Array(items) => items
            .iter()
            .map(|item| without_chance(item, roles))
            .collect(),
        Value::String(text) => Value::String(text_role(text, roles)),
        other => other.clone(),
    }
}

/// A link-local address follows from its link's MAC.
fn text_role(text: &str, roles: &Roles) -> String {
    if text.starts_with("fe80::") && !text.contains('/') {
        "{link-local}".to_owned()
    } else {
        roles.of_name(text)
    }
}

/// What a link's MAC is: one that was asked for, one of its own, or a bridge's. The reference's bridge
/// takes that of a port, and none without ports; weir's has one of its own from the start.
fn mac_role(link: &Value, requested: &str) -> String {
    let mac = link["address"].as_str().unwrap_or_default();
    let is_special = mac == "00:00:00:00:00:00" || requested.to_lowercase().contains(mac);
    match mac {
        _ if link["linkinfo"]["info_kind"] == "bridge" => "{of the bridge}".to_owned(),
        mac if is_special => mac.to_owned(),
        _ => "{own}".to_owned(),
    }
}

fn is_permanent(neighbour: &Value) -> bool {
    let states = neighbour["state"].as_array();
    states
        .into_iter()
        .flatten()
        .any(|state| state == "PERMANENT")
}

fn sorted(values: impl Iterator<Item = Value>) -> Value {
    let mut values: Vec<Value> = values.collect();
    values.sort_by_cached_key(Value::to_string);
    Value::Array(values)
}

fn parameters(space: &Space, roles: &Roles) -> Map<String, Value> {
    let directories = space.parameters.iter().map(|(directory, values)| {
        let parts: Vec<_> = directory
            .split('/')
            .map(|part| roles.of_name(part))
            .collect();
        let mut values = values.clone();
        values.retain(|name, _| !NEWER_PARAMETERS.contains(&name.as_str()));
        (parts.join("/"), values.into())
    });
    directories.collect()
}

/// What the reference sets of an interface since a later version, as weir does: `ndisc_notify` since 1.4.0, and
/// `keep_addr_on_down` since 1.7.0.
const NEWER_PARAMETERS: [&str; 2] = ["ndisc_notify", "keep_addr_on_down"];

/// To the kernel, a link whose peer has the same index in the other namespace is down where it would be `LOWERLAYERDOWN`.
fn chance_of_index(link: &mut Value) {
    if link["operstate"] == "LOWERLAYERDOWN" {
        link["operstate"] = json!("DOWN");
    }
}

/// weir leaves the kernel's queue length, 1000, as the reference does since 1.2.0 for a veth and since 1.6.0 for a
/// VRF and for links over others; before, it asked for none by an oversight of its netlink library. And weir has the
/// kernel keep no room for queues that a veth does not use.
fn intended_queues(link: &mut Value) {
    let kind = link["linkinfo"]["info_kind"].as_str().unwrap_or_default();
    let is_made = ["veth", "macvlan", "ipvlan", "vlan", "vrf"].contains(&kind);
    if let Some(keys) = link.as_object_mut().filter(|_| is_made) {
        for key in ["txqlen", "num_tx_queues", "num_rx_queues"] {
            keys.remove(key);
        }
    }
}

/// Whether packets of a TAP device have a header of offloads is for who opens it to say, each time. The reference asks
/// for one where the configuration names an owner and a group, and otherwise not.
fn intended_header(link: &mut Value) {
    let info = link.pointer_mut("/linkinfo/info_data");
    if let Some(keys) = info.and_then(Value::as_object_mut) {
        keys.remove("vnet_hdr");
    }
}

/// weir writes into the alias of each link of the host that it makes whose that is.
fn intended_owner(link: &mut Value) {
    if let Some(keys) = link.as_object_mut() {
        keys.remove("ifalias");
    }
}

/// weir's `ptp` says of a next hop that no route leads to that it is on the link; the reference adds
/// such a route before it deletes the one to the subnet.
fn intended_on_link(mut route: Value) -> Value {
    if let Some(flags) = route.get_mut("flags").and_then(Value::as_array_mut) {
        flags.retain(|flag| flag != "onlink");
    }
    route
}

/// weir's `ptp` adds addresses without the kernel's route and without detection of duplicates, where the
/// reference deletes the route afterwards and waits for the detection.
fn intended_addresses(link: &mut Value) {
    let addresses = link.get_mut("addr_info").and_then(Value::as_array_mut);
    for address in addresses
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        for key in ["nodad", "noprefixroute"] {
            address.remove(key);
        }
    }
}

/// The outcome of a call, as it is compared.
pub fn outcome(
    outcome: &Outcome,
    side: &Side,
    now: &Snapshot,
    config: &Value,
    requested: &str,
) -> Value {
    match outcome.status {
        Some(0) => {
            let mut result = result(outcome.document(), side, now, requested);
            intended_dns_of_ipam(&mut result, config);
            result
        }
        Some(1) => json!({ "error": intended_code(&outcome.error()) }),
        _ => panic!("{:?} did not end as a plugin does: {outcome:?}", side.whose),
    }
}

/// Both report a wrong version with the same code; for everything else the reference has 999.
fn intended_code(error: &Value) -> Value {
    match error["code"].as_u64() {
        Some(1) => error["code"].clone(),
        // `CNI_ARGS` that are wrong are 4 in weir, and a configuration 7, as the specification says.
        _ => json!("{of the plugin}"),
    }
}

fn result(mut result: Value, side: &Side, now: &Snapshot, requested: &str) -> Value {
    let roles = Roles::of(now);
    let interfaces = result.get_mut("interfaces").and_then(Value::as_array_mut);
    for interface in interfaces.into_iter().flatten() {
        intended_mtu(interface);
        normalise_interface(interface, side, now, &roles, requested);
    }
    intended_empty_keys(&mut result);
    result
}

/// weir names the MTU of each interface, from version 1.1.0 of the specification on, which has the key; most reference
/// plugins do not.
fn intended_mtu(interface: &mut Value) {
    if let Some(keys) = interface.as_object_mut() {
        keys.remove("mtu");
    }
}

/// An interface's MAC must be the one that it has in the kernel.
fn normalise_interface(
    interface: &mut Value,
    side: &Side,
    now: &Snapshot,
    roles: &Roles,
    requested: &str,
) {
    let name = interface["name"].as_str().unwrap_or_default().to_owned();
    let sandbox = interface["sandbox"].as_str().unwrap_or_default().to_owned();
    let container = side
        .containers
        .iter()
        .position(|c| c.netns().to_str() == Some(&*sandbox));
    let space = container.map_or(&now.host, |number| &now.containers[number]);
    if let Some(number) = container {
        interface["sandbox"] = json!(format!("{{sandbox {}}}", number + 1));
    }
    let kernels = space
        .link(&name)
        .filter(|link| link["address"] == interface["mac"]);
    if let Some(link) = kernels {
        interface["mac"] = json!(format!(
            "{{as in the kernel: {}}}",
            mac_role(link, requested)
        ));
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
/// reference's host-local and loopback do without.
pub fn intended_check_needs_previous_result(plugin: &str) -> bool {
    !["host-local", "loopback", "sbr"].contains(&plugin)
}

/// weir's CHECK looks for the route to an address's subnet in all tables. The reference's looks in the main one, where
/// it is not when the interface is in a VRF.
pub fn intended_check_of_subnet_in_vrf(reference: &Outcome) -> bool {
    reference.stdout.contains("Failed to find Gateway")
}

/// weir's CHECK of `tap` looks at the device. The reference's looks at addresses and routes only, and so finds nothing
/// wrong where there are none.
pub fn intended_check_of_tap(config: &Value, reference: &Outcome) -> bool {
    config["type"] == "tap" && config.get("ipam").is_none() && reference.succeeded()
}

/// weir's CHECK of a layer-2 network looks at its links. The reference's (up to 1.9.1 at least) runs
/// the IPAM plugin without asking whether there is one, so that it always fails.
pub fn intended_check_of_layer_2(config: &Value, reference: &Outcome) -> bool {
    config.get("ipam").is_none() && reference.stdout.contains("no plugin name provided")
}

/// weir's CHECK of an `ipvlan` whose configuration names no master does not ask for one. The reference's (up to 1.9.1 at
/// least) looks for an interface without a name, so that it always fails.
pub fn intended_check_without_master(reference: &Outcome) -> bool {
    reference
        .stdout
        .contains("failed to lookup master \\\"\\\"")
}

/// weir's DEL succeeds with a configuration that ADD refuses, since ADD has left nothing then. The
/// reference's host-local reads its configuration in the same way for both.
pub fn intended_del_of_refused_configuration(reference: &Outcome, weir: &Outcome) -> bool {
    !reference.succeeded() && weir.succeeded()
}

/// Both sides' CHECK compares the MAC of the bridge, and that of a bridge without gateway is the
/// lowest of its ports': chance decides whether the next container's port changes it.
pub fn chance_has_changed_the_bridge(side: &Side, previous: &Value) -> Result<bool> {
    let bridge = &previous["interfaces"][0];
    let name = bridge["name"].as_str().unwrap_or_default();
    let now = Snapshot::take(side)?;
    let link = now.host.link(name);
    Ok(link.is_some_and(|link| link["address"] != bridge["mac"]))
}

/// weir's ADD that fails leaves nothing. The reference's leaves the bridge, the container's interface
/// and the place in the round: here they are removed, so that everything else is compared.
pub fn intended_nothing_left_after_failure(sides: &[Side; 2], now: &[Snapshot; 2]) -> Result<()> {
    let [reference, weir] = now;
    let containers = sides[0]
        .containers
        .iter()
        .zip(&reference.containers)
        .zip(&weir.containers);
    for ((container, reference), weir) in containers {
        for name in only_of_the_first(reference, weir) {
            container.ip(&format!("link delete {name}"))?;
        }
    }
    for name in only_of_the_first(&reference.host, &weir.host) {
        // The hosts' ends are gone with the containers'.
        if reference
            .host
            .link(name)
            .is_some_and(|l| l["linkinfo"]["info_kind"] == "bridge")
        {
            sides[0].node.ip(&format!("link delete dev {name}"))?;
        }
    }
    for (name, of_reference) in &reference.files {
        let path = sides[0].node.root().join(name);
        match weir.files.get(name) {
            Some(of_weir) if of_weir == of_reference => {}
            Some(_) if name.contains("last_reserved_ip") => {
                fs::copy(sides[1].node.root().join(name), path)?;
            }
            None if name.contains("last_reserved_ip") => fs::remove_file(path)?,
            _ => {}
        }
    }
    intended_unused_store(sides, now)
}

/// The names of links that only the first has, whose names are not of chance.
fn only_of_the_first<'s>(first: &'s Space, second: &Space) -> Vec<&'s str> {
    let names = first
        .shown
        .links
        .iter()
        .filter_map(|link| link["ifname"].as_str());
    names.filter(|name| second.link(name).is_none()).collect()
}

/// Where nothing was ever reserved, one side may have made the lease directory and its lock and the
/// other not, since they look at the configuration and at the store in another order.
pub fn intended_unused_store(sides: &[Side; 2], [reference, weir]: &[Snapshot; 2]) -> Result<()> {
    let is_unused = |snapshot: &Snapshot| {
        let files = snapshot
            .files
            .iter()
            .filter(|(_, file)| file.get("content").is_some());
        files
            .into_iter()
            .all(|(name, _)| name.ends_with("/lock") || name.contains("last_reserved"))
    };
    if is_unused(reference) && is_unused(weir) && reference.files.len() != weir.files.len() {
        for side in sides {
            let store = side.node.root().join("var/lib/cni");
            if store.exists() {
                fs::remove_dir_all(store)?;
            }
        }
    }
    Ok(())
}

/// weir's CHECK takes any next hop for a route that the result gives none, since ADD chooses it. The
/// reference's looks for a route without next hop, which ADD never makes where there is a gateway.
pub fn intended_check_of_route_without_next_hop(reference: &Outcome) -> bool {
    let text = &reference.stdout;
    text.contains("Expected Route") && text.contains("GW:\\u003cnil\\u003e")
}

/// weir's CHECK finds a route in whichever table it is. That of the reference's main plugins looks in the main one, out of
/// which `sbr` has moved it.
pub fn intended_check_of_moved_route(chained: &[Value], reference: &Outcome) -> bool {
    let is_moved = chained.iter().any(|plugin| plugin["type"] == "sbr");
    let text = &reference.stdout;
    is_moved && (text.contains("Failed to find Gateway") || text.contains("Expected Route"))
}

/// weir's `sbr` succeeds in DEL without the interface, as the reference does since 1.3.0.
pub fn intended_del_of_gone_interface(chained: &[Value], reference: &Outcome) -> bool {
    let is_routed = chained.iter().any(|plugin| plugin["type"] == "sbr");
    is_routed
        && reference
            .stdout
            .contains("Failed to get link eth0: Link not found")
}

/// weir's `host-device` succeeds in DEL when the device is back already, and when it never left.
pub fn intended_del_of_gone_device(config: &Value, reference: &Outcome) -> bool {
    config["type"] == "host-device" && reference.stdout.contains("failed to find")
}

/// weir's bridge passes on the DNS settings of the IPAM plugin where it has none of its own, as the
/// reference does since 1.2.0; before, it forgot them. What they are is compared for host-local.
fn intended_dns_of_ipam(result: &mut Value, config: &Value) {
    let is_of_ipam = config["type"] == "bridge" && config.get("dns").is_none();
    if let Some(keys) = result.as_object_mut().filter(|_| is_of_ipam) {
        keys.remove("dns");
    }
}

/// What of a state plugins make: links, addresses, rules, leases. The rest follows from it, or stays
/// as what is shared: forwarding, an older bridge that is up now, the place in the round.
pub fn made(state: &Value) -> Value {
    let mut spaces = Map::new();
    spaces.insert("host".to_owned(), made_in(&state["host"]));
    for (name, space) in state["containers"].as_object().into_iter().flatten() {
        spaces.insert(name.clone(), made_in(space));
    }
    let mut files = state["files"].as_object().cloned().unwrap_or_default();
    files.retain(|name, _| {
        name.rsplit('/')
            .next()
            .is_some_and(|n| n.parse::<IpAddr>().is_ok())
    });
    json!({ "spaces": spaces, "leases": files })
}

fn made_in(space: &Value) -> Value {
    let links = space["links"].as_object().into_iter().flatten();
    let links = links.map(|(name, link)| {
        let addresses = link["addr_info"].as_array().into_iter().flatten();
        let addresses = addresses.filter(|address| address["scope"] != "link");
        (
            name.clone(),
            addresses.map(|address| address["local"].clone()).collect(),
        )
    });
    json!({ "links": links.collect::<Map<_, _>>(), "rules": space["rules"] })
}
