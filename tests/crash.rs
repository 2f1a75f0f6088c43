//! The process killed at many points of ADD: a DEL then leaves the node as it was, and nothing
//! keeps the next ADD from working.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::trace::{End, kill_at_points};
use weir_kit::{Call, Container, Node, State, guarded_bridge, weir};

#[path = "crash/container.rs"]
mod container;

/// How many points of one ADD are tried.
const POINTS: usize = 50;
/// How many points of an ADD over an interface of the host.
const LOWER_POINTS: usize = 30;
/// How many points of an ADD whose DEL has a result.
const WITH_RESULT_POINTS: usize = 10;
/// How many points of the first ADD of a node.
const FIRST_POINTS: usize = 20;

fn config() -> Value {
    let mut config = guarded_bridge("crash", &["10.30.0.0/24", "fd00:30::/64"]);
    config["ipam"]["routes"] = json!([{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }]);
    config
}

#[test]
fn a_del_after_a_kill_at_any_point_leaves_the_node_as_it_was() -> Result<()> {
    let node = Node::create()?;
    let other = node.container()?;
    node.run(&weir(&node, "bridge", "ADD", &other, &config()))?
        .result();
    let before = State::of(&node)?;

    kill_at_points(POINTS, |point| {
        let container = &node.container()?;
        let end = kill_and_delete(&node, &config(), point, container)?;
        is_as_before(&node, container, &before)?;
        make_and_delete(&node, &config(), container)?;
        is_as_before(&node, container, &before)?;
        Ok(end)
    })?;
    let checked = with_previous(&node, &other, "CHECK")?;
    node.run(&checked)?.result();
    Ok(())
}

/// One attachment, killed at `point` of its ADD, if any, and deleted.
fn kill_and_delete(
    node: &Node,
    config: &Value,
    point: Option<usize>,
    container: &Container,
) -> Result<End> {
    let plugin = config["type"].as_str().context("a type")?;
    let add = weir(node, plugin, "ADD", container, config);
    let end = node.inside(|| add.run_until(point))?;
    let deleted = node.run(&weir(node, plugin, "DEL", container, config))?;
    assert!(deleted.succeeded(), "DEL after the kill: {deleted:?}");
    assert_eq!(container.links()?, ["lo"], "links in the container");
    Ok(end)
}

/// Fails where anything is left on the node.
fn is_as_before(node: &Node, container: &Container, before: &State) -> Result<()> {
    State::of(node)?.assert_same(before);
    assert_eq!(container.links()?, ["lo"], "links in the container");
    verify_log(node)
}

/// The whole life of an attachment.
fn make_and_delete(node: &Node, config: &Value, container: &Container) -> Result<()> {
    let plugin = config["type"].as_str().context("a type")?;
    let result = node
        .run(&weir(node, plugin, "ADD", container, config))?
        .result();
    let mut with_result = config.clone();
    with_result["prevResult"] = result;
    for command in ["CHECK", "DEL"] {
        let call = weir(node, plugin, command, container, &with_result);
        node.run(&call)?.result();
    }
    Ok(())
}

/// A kill between two lines is not tampering, whether or not the log has been written since.
fn verify_log(node: &Node) -> Result<()> {
    let exists = node.audit_log().metadata().is_ok_and(|log| log.len() > 0);
    if exists {
        node.weir(&["audit", "verify"])?;
    }
    Ok(())
}

#[test]
fn nothing_is_left_of_a_killed_macvlan() -> Result<()> {
    kill_over_an_interface(&json!({ "type": "macvlan" }))
}

#[test]
#[ignore = "needs a kernel with ipvlan: `machine` runs it"]
fn nothing_is_left_of_a_killed_ipvlan() -> Result<()> {
    kill_over_an_interface(&json!({ "type": "ipvlan", "mode": "l3" }))
}

#[test]
#[ignore = "needs a kernel with VLANs: `machine` runs it"]
fn nothing_is_left_of_a_killed_vlan() -> Result<()> {
    kill_over_an_interface(&json!({ "type": "vlan", "vlanId": 7 }))
}

fn kill_over_an_interface(keys: &Value) -> Result<()> {
    let node = Node::create()?;
    node.tools(
        "ip",
        &["link add eth1 type veth peer name wire", "link set eth1 up"],
    )?;
    let mut config = json!({
        "cniVersion": "1.1.0", "name": "over", "master": "eth1",
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.30.0.0/24" }], [{ "subnet": "fd00:30::/64" }]] },
    });
    let keys = keys.as_object().context("keys")?.clone();
    config.as_object_mut().context("keys")?.extend(keys);
    let before = State::of(&node)?;
    // The rest is looked at once, since some of these run in an emulated machine.
    kill_at_points(LOWER_POINTS, |point| {
        let end = kill_and_delete(&node, &config, point, &node.container()?)?;
        assert_eq!(node.taken("over"), [""; 0], "leases");
        Ok(end)
    })?;
    let container = node.container()?;
    is_as_before(&node, &container, &before)?;
    make_and_delete(&node, &config, &container)?;
    is_as_before(&node, &container, &before)
}

#[test]
fn a_del_with_a_result_of_before_the_kill_also_leaves_nothing() -> Result<()> {
    let node = Node::create()?;
    let other = node.container()?;
    let of_other = node
        .run(&weir(&node, "bridge", "ADD", &other, &config()))?
        .result();
    let before = State::of(&node)?;
    kill_at_points(WITH_RESULT_POINTS, |point| {
        let container = node.container()?;
        let add = weir(&node, "bridge", "ADD", &container, &config());
        let end = node.inside(|| add.run_until(point))?;
        // Whatever the runtime remembers, here another attachment's: it must not be touched.
        let mut with_result = config();
        with_result["prevResult"] = of_other.clone();
        let deleted = node.run(&weir(&node, "bridge", "DEL", &container, &with_result))?;
        assert!(deleted.succeeded(), "DEL after the kill: {deleted:?}");
        State::of(&node)?.assert_same(&before);
        Ok(end)
    })
}

#[test]
fn a_kill_in_the_first_add_of_a_node_spoils_nothing_for_the_next() -> Result<()> {
    kill_at_points(FIRST_POINTS, first_add)
}

/// A node whose first ADD is killed must work as one whose first ADD is not.
fn first_add(point: Option<usize>) -> Result<End> {
    let (killed, unharmed) = (Node::create()?, Node::create()?);
    let victim = killed.container()?;
    let add = weir(&killed, "bridge", "ADD", &victim, &config());
    let end = killed.inside(|| add.run_until(point))?;
    verify_log(&killed)?;
    killed
        .run(&weir(&killed, "bridge", "DEL", &victim, &config()))?
        .result();
    assert!(
        killed.taken("crash").is_empty(),
        "leases: {:?}",
        killed.taken("crash")
    );

    // They live as long as the states are compared.
    let containers = [killed.container()?, unharmed.container()?];
    for (node, container) in [&killed, &unharmed].into_iter().zip(&containers) {
        let mut call = weir(node, "bridge", "ADD", container, &config());
        call.set("CNI_CONTAINERID", "the-next");
        node.run(&call)?.result();
        verify_log(node)?;
    }
    let (killed, unharmed) = (State::of(&killed)?, State::of(&unharmed)?);
    assert_eq!(killed.links, unharmed.links);
    assert_eq!(
        killed.addresses.len(),
        unharmed.addresses.len(),
        "{:?}",
        killed.addresses
    );
    assert_eq!(
        structure(&killed),
        structure(&unharmed),
        "tables, chains and rules"
    );
    Ok(end)
}

/// Tables, sets, chains and rules, without the elements, whose addresses may differ by one.
fn structure(state: &State) -> Vec<Value> {
    let mut objects = state.nftables.clone();
    for object in &mut objects {
        for key in ["map", "set"] {
            if let Some(set) = object.get_mut(key).and_then(Value::as_object_mut) {
                set.remove("elem");
            }
        }
    }
    objects
}

/// A call for an attachment with a result that is read from the cache of no runtime: ADD's own is
/// asked for again through CHECK's configuration.
fn with_previous(node: &Node, container: &Container, command: &str) -> Result<Call> {
    let addresses = container.ip_json("address show dev eth0")?;
    let link = &addresses[0];
    let bridge = node.ip_json("link show crash0")?;
    let ips: Vec<Value> = link["addr_info"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|address| address["scope"] == "global")
        .map(|address| {
            let text = |key: &str| address[key].to_string().trim_matches('"').to_owned();
            json!({ "interface": 2, "address": format!("{}/{}", text("local"), text("prefixlen")) })
        })
        .collect();
    let ports = node.ip_json("link show master crash0")?;
    let interface = |link: &Value| json!({ "name": link["ifname"], "mac": link["address"] });
    let mut inside = interface(link);
    inside["sandbox"] = json!(container.netns());
    let mut config = config();
    config["prevResult"] = json!({
        "cniVersion": "1.1.0",
        "interfaces": [interface(&bridge[0]), interface(&ports[0]), inside],
        "ips": ips,
    });
    Ok(weir(node, "bridge", command, container, &config))
}
