//! `examples/stable-addresses`, an IPAM plugin, on a node: `ptp` runs it, as a container runtime runs `ptp`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Call, Container, Grant, Node, Outcome, State, addresses_in, assert_contains, weir};

use crate::granted;

const EXAMPLE: &str = "stable-addresses";

/// A node with the example installed and granted.
struct StableAddressesNode {
    node: Node,
    before: State,
}

impl StableAddressesNode {
    fn create() -> Result<Self> {
        let node = Node::create()?;
        let digest = node.install_plugin(EXAMPLE)?;
        node.put_grant("stable-addresses.yaml", &granted(EXAMPLE, &digest)?)?;
        node.let_run_ipam("ptp", EXAMPLE)?;
        let before = State::of(&node)?;
        Ok(Self { node, before })
    }

    fn call(&self, command: &str, container: &Container, config: &Value) -> Call {
        weir(&self.node, "ptp", command, container, config)
    }

    /// Runs a command for a container of the pod `default/web-0`.
    fn run(&self, command: &str, container: &Container, config: &Value) -> Result<Outcome> {
        self.run_for("web-0", command, container, config)
    }

    fn run_for(
        &self,
        pod: &str,
        command: &str,
        container: &Container,
        config: &Value,
    ) -> Result<Outcome> {
        let mut call = self.call(command, container, config);
        let args = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod}");
        call.set("CNI_ARGS", args);
        self.node.run(&call)
    }

    /// The plugin's store for a network.
    fn leases(&self, network: &str) -> PathBuf {
        let stores = self.node.root().join("var/lib/weir/stores");
        stores.join(EXAMPLE).join(network.replace('/', "@"))
    }
}

/// A network of `ptp` with one range set for each subnet.
fn network(name: &str, subnets: [&str; 2]) -> Value {
    let ranges = subnets.map(|subnet| json!([{ "subnet": subnet }]));
    json!({
        "cniVersion": "1.1.0",
        "name": name,
        "type": "ptp",
        "ipam": {
            "type": EXAMPLE,
            "ranges": ranges,
            "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }],
        },
    })
}

fn wide() -> Value {
    network("wide", ["10.97.0.0/24", "fd97::/64"])
}

/// IPv6 addresses for two containers.
fn small() -> Value {
    network("small", ["10.98.0.0/24", "fd98::/126"])
}

fn with(config: &Value, key: &str, value: Value) -> Value {
    let mut config = config.clone();
    config[key] = value;
    config
}

/// The addresses of a result, with their prefix lengths.
fn addresses(result: &Value) -> Vec<String> {
    let ips = result["ips"].as_array().expect("a list").iter();
    ips.map(|ip| ip["address"].as_str().expect("text").to_owned())
        .collect()
}

/// The addresses of the container's interface, without the link-local one.
fn inside(container: &Container) -> Result<Vec<String>> {
    let shown = container.ip_json("address show dev eth0 scope global")?;
    let infos = shown[0]["addr_info"].as_array().context("a list")?.iter();
    // ip leaves an empty object for an address that it does not show.
    let address = |info: &Value| Some(format!("{}/{}", info["local"].as_str()?, info["prefixlen"]));
    Ok(infos.filter_map(address).collect())
}

fn without_prefix(address: &str) -> &str {
    address.split('/').next().expect("a part")
}

#[test]
fn a_pod_gets_the_same_addresses_again() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let containers = [(); 4].map(|()| fixture.node.container());
    let [first, second, third, other] = containers;
    let (first, second, third, other) = (first?, second?, third?, other?);

    let result = fixture.run("ADD", &first, &wide())?.result();
    let own = addresses(&result);
    // They follow from the name alone, whichever version of the plugin assigns them.
    assert_eq!(own, ["10.97.0.52/24", "fd97::86e1:39ea:f861:6340/64"]);
    assert_eq!(inside(&first)?, own);
    let routes = first.ip("route show default")? + &first.ip("-6 route show default")?;
    assert_contains(&routes, &["via 10.97.0.1", "via fd97::1"]);
    fixture
        .run("CHECK", &first, &with(&wide(), "prevResult", result))?
        .result();

    // Another container of the pod is there before the first is removed: it gets the next addresses.
    let next = addresses(&fixture.run("ADD", &second, &wide())?.result());
    assert!(
        own.iter().all(|address| !next.contains(address)),
        "{next:?}"
    );
    let others = fixture.run_for("web-1", "ADD", &other, &wide())?.result();
    let others = addresses(&others);
    assert!(
        others.iter().all(|a| !own.contains(a) && !next.contains(a)),
        "{others:?}"
    );

    for container in [&first, &first, &second] {
        fixture.run("DEL", container, &wide())?.result();
    }
    assert_eq!(
        addresses(&fixture.run("ADD", &third, &wide())?.result()),
        own
    );
    for container in [&third, &other] {
        fixture.run("DEL", container, &wide())?.result();
    }
    State::of(&fixture.node)?.assert_same(&fixture.before);
    Ok(())
}

#[test]
fn without_a_pod_the_container_id_decides() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let (container, other) = (fixture.node.container()?, fixture.node.container()?);
    let add = |container: &Container| -> Result<Vec<String>> {
        let call = fixture.call("ADD", container, &wide());
        Ok(addresses(&fixture.node.run(&call)?.result()))
    };
    let own = add(&container)?;
    assert_ne!(add(&other)?, own);
    fixture
        .node
        .run(&fixture.call("DEL", &container, &wide()))?
        .result();
    assert_eq!(add(&container)?, own);
    // Nothing changes for a container that has its addresses already.
    let before = State::of(&fixture.node)?;
    let again = fixture
        .node
        .run(&fixture.call("ADD", &container, &wide()))?;
    again.refused(112, &["allocated to interface `eth0` of container"]);
    State::of(&fixture.node)?.assert_same(&before);
    Ok(())
}

#[test]
fn a_full_range_set_takes_no_address_of_another() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let (first, second) = (fixture.node.container()?, fixture.node.container()?);
    let third = fixture.node.container()?;
    for container in [&first, &second] {
        fixture.run("STATUS", container, &small())?.result();
        fixture.run("ADD", container, &small())?.result();
    }
    let full = State::of(&fixture.node)?;
    let words = ["no IP addresses available", "fd98::1-fd98::3"];
    fixture.run("ADD", &third, &small())?.refused(110, &words);
    State::of(&fixture.node)?.assert_same(&full);
    fixture.run("STATUS", &third, &small())?.refused(50, &words);

    fixture.run("DEL", &first, &small())?.result();
    fixture.run("STATUS", &third, &small())?.result();
    fixture.run("ADD", &third, &small())?.result();
    Ok(())
}

#[test]
fn gc_releases_what_no_valid_attachment_holds() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let (kept, lost) = (fixture.node.container()?, fixture.node.container()?);
    let result = fixture.run("ADD", &kept, &wide())?.result();
    fixture.run("ADD", &lost, &wide())?.result();
    assert_eq!(addresses_in(&fixture.leases("wide")).len(), 4);

    let valid = json!([{ "containerID": kept.id, "ifname": "eth0" }]);
    let gc = with(&wide(), "cni.dev/valid-attachments", valid);
    fixture.run("GC", &kept, &gc)?.result();
    let mut expected: Vec<String> = addresses(&result)
        .iter()
        .map(|address| without_prefix(address).to_owned())
        .collect();
    expected.sort();
    assert_eq!(addresses_in(&fixture.leases("wide")), expected);
    fixture
        .run("CHECK", &kept, &with(&wide(), "prevResult", result))?
        .result();
    Ok(())
}

/// Whatever is in a lease's file, its address is taken until GC.
#[test]
fn damaged_leases_are_nobodys() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let container = fixture.node.container()?;
    let own = addresses(&fixture.run("ADD", &container, &wide())?.result());
    fixture.run("DEL", &container, &wide())?.result();
    let leases = fixture.leases("wide");
    let file = |address: &String| leases.join(without_prefix(address));
    fs::write(file(&own[0]), "")?;
    fs::write(file(&own[1]), b"\xff\x00half-a-contai\r\n\r\n")?;
    fs::write(leases.join("not an address"), "")?;
    let damaged = State::of(&fixture.node)?;

    fixture.run("STATUS", &container, &wide())?.result();
    let result = fixture.run("ADD", &container, &wide())?.result();
    let next = addresses(&result);
    assert!(
        own.iter().all(|address| !next.contains(address)),
        "{next:?}"
    );
    let checked = with(&wide(), "prevResult", result);
    fixture.run("CHECK", &container, &checked)?.result();
    fixture.run("DEL", &container, &checked)?.result();
    State::of(&fixture.node)?.assert_same(&damaged);

    let gc = with(&wide(), "cni.dev/valid-attachments", json!([]));
    fixture.run("GC", &container, &gc)?.result();
    assert!(addresses_in(&leases).is_empty());
    assert_eq!(
        addresses(&fixture.run("ADD", &container, &wide())?.result()),
        own
    );
    Ok(())
}

/// An address that another container holds by now is not released, and CHECK tells.
#[test]
fn a_lease_that_another_took_stays_theirs() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let container = fixture.node.container()?;
    let result = fixture.run("ADD", &container, &wide())?.result();
    let own = addresses(&result);
    let lease = fixture.leases("wide").join(without_prefix(&own[1]));
    fs::remove_file(&lease)?;
    fs::write(&lease, "another\r\neth0")?;
    let checked = with(&wide(), "prevResult", result);
    fixture
        .run("CHECK", &container, &checked)?
        .refused(113, &[without_prefix(&own[1]), "is not allocated to"]);
    fixture.run("DEL", &container, &checked)?.result();
    assert_eq!(fs::read_to_string(&lease)?, "another\r\neth0");
    assert_eq!(addresses_in(&fixture.leases("wide")).len(), 1);
    Ok(())
}

/// Property: a tenant's definition with the ranges of the node's own network neither takes nor releases its addresses.
#[test]
fn a_tenants_overlapping_range_reaches_no_lease_of_the_nodes() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let node = &fixture.node;
    let list = json!({ "cniVersion": "1.1.0", "name": "wide", "plugins": [wide()] });
    node.put_network("10-wide.conflist", &list)?;
    // From now on, what is in no file of the node is a tenant's.
    let multus = json!({ "cniVersion": "1.1.0", "name": "multus", "type": "multus",
        "clusterNetwork": "wide" });
    node.put_network("00-multus.conf", &multus)?;
    let (pod, tenants) = (node.container()?, node.container()?);
    let own = addresses(&fixture.run("ADD", &pod, &wide())?.result());
    let before = State::of(node)?;

    // The same ranges, and the name of the node's pod, whose digest says with which address to begin.
    let tenant = with(&wide(), "name", json!("tenant"));
    let refusal = fixture.run("ADD", &tenants, &tenant)?;
    assert_contains(&refusal.said(), &["does not allow", "tenants.", "overlaps"]);
    State::of(node)?.assert_same(&before);

    // For the node's container: DEL and GC reach the tenant's leases alone.
    let gc = with(&tenant, "cni.dev/valid-attachments", json!([]));
    fixture.run("GC", &pod, &gc)?.result();
    fixture.run("DEL", &tenants, &tenant)?.result();
    State::of(node)?.assert_same(&before);

    let free = network("tenant", ["10.99.0.0/24", "fd99::/64"]);
    let result = fixture.run("ADD", &tenants, &free)?.result();
    assert_eq!(inside(&tenants)?, addresses(&result));
    assert_eq!(inside(&pod)?, own);
    assert_eq!(addresses_in(&fixture.leases("wide")).len(), 2);
    assert_eq!(addresses_in(&fixture.leases("-/tenant")).len(), 2);
    Ok(())
}

#[test]
fn ranges_that_cannot_be_used_are_refused_with_their_key() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let container = fixture.node.container()?;
    for (ranges, words) in [
        (json!([]), &["ipam.ranges"][..]),
        (
            json!([[{ "subnet": "10.97.0.0/31" }]]),
            &["ipam.ranges[0][0]", "too small"],
        ),
        (
            json!([[{ "subnet": "10.97.0.0/24" }], [{ "subnet": "10.97.0.128/25" }]]),
            &["ipam.ranges[1]", "overlaps"],
        ),
    ] {
        let mut config = wide();
        config["ipam"]["ranges"] = ranges;
        for command in ["ADD", "STATUS"] {
            fixture.run(command, &container, &config)?.refused(7, words);
        }
        // What an earlier configuration made can be removed.
        fixture.run("DEL", &container, &config)?.result();
    }
    State::of(&fixture.node)?.assert_same(&fixture.before);
    Ok(())
}

#[test]
fn it_is_denied_without_its_grant() -> Result<()> {
    let fixture = StableAddressesNode::create()?;
    let container = fixture.node.container()?;
    let grant = Grant::nothing(EXAMPLE).document(&fixture.node.digest(EXAMPLE)?);
    fixture.node.put_grant("stable-addresses.yaml", &grant)?;
    fixture
        .run("ADD", &container, &wide())?
        .refused(100, &["does not allow", "store"]);
    let audit = fixture.node.audit();
    let is_denied = |record: &Value| record["plugin"] == EXAMPLE && record["verdict"] == "denied";
    assert!(
        audit.iter().any(is_denied),
        "the denial is in the audit log"
    );
    fs::remove_file(fixture.node.grants().join("stable-addresses.yaml"))?;
    fixture
        .run("ADD", &container, &wide())?
        .refused(202, &[EXAMPLE]);
    State::of(&fixture.node)?.assert_same(&fixture.before);
    Ok(())
}
