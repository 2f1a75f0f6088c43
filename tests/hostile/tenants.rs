//! What a tenant brings about who may write NetworkAttachmentDefinitions, under the grants that come with weir: the
//! definition of the worst tenant, and the plugin that does the worst with it.
//!
//! The node has a network of its own, with a pod on it. Another delegating plugin calls weir, so that what is in no
//! file of the node is a tenant's.

use std::fs;
use std::net::{TcpListener, UdpSocket};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Container, Grant, Node, Outcome, State, assert_contains, weir, with_keys};

use super::AttackedNode;
use super::puppet::{Answer, PLUGIN, Puppet};

/// The pod on the node's own network, and its address.
const POD: &str = "10.77.0.2";

pub(super) struct Cluster {
    pub node: Node,
    /// The tenant's.
    pub container: Container,
    /// Of the node's own network.
    pod: Container,
    /// What its ADD returned.
    result: Value,
    /// The host's end of the pod's interface.
    port: String,
}

fn own() -> Value {
    json!({
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": true,
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.77.0.0/24" }]] },
    })
}

/// As another delegating plugin hands it over.
fn called(plugin: &Value, name: &str) -> Value {
    let mut config = plugin.clone();
    config["cniVersion"] = json!("1.1.0");
    config["name"] = json!(name);
    config
}

fn configure(node: &Node) -> Result<()> {
    let directory = node.root().join("etc/cni/net.d");
    fs::create_dir_all(&directory)?;
    let portmap = json!({ "type": "portmap", "capabilities": { "portMappings": true } });
    let cbr0 = json!({ "cniVersion": "1.1.0", "name": "cbr0", "plugins": [own(), portmap] });
    fs::write(directory.join("10-cbr0.conflist"), cbr0.to_string())?;
    let multus = json!({ "cniVersion": "1.0.0", "name": "multus", "type": "multus",
        "clusterNetwork": "cbr0" });
    Ok(fs::write(
        directory.join("00-multus.conf"),
        multus.to_string(),
    )?)
}

impl Cluster {
    pub fn create() -> Result<Self> {
        let node = Node::create()?;
        configure(&node)?;
        // The network that the node itself is on.
        node.ip("link add nic0 type veth peer name nic1")?;
        node.ip("address add 192.168.50.2/24 dev nic0")?;
        node.ip("link set nic0 up")?;
        node.ip("link set nic1 up")?;
        node.ip("route add default via 192.168.50.1")?;
        let (pod, container) = (node.container()?, node.container()?);
        let added = node.run(&weir(&node, "bridge", "ADD", &pod, &called(&own(), "cbr0")))?;
        let result = added.result();
        ensure!(
            result["ips"][0]["address"] == format!("{POD}/24"),
            "{result:#}"
        );
        let port = result["interfaces"][1]["name"].as_str().context("a name")?;
        Ok(Self {
            port: port.to_owned(),
            container,
            pod,
            node,
            result,
        })
    }

    /// ADD of a plugin with a tenant's configuration, after the previous result.
    pub fn add(&self, plugin: &Value, previous: Option<&Value>) -> Result<Outcome> {
        let name = plugin["type"].as_str().context("a type")?;
        let mut config = called(plugin, "tenant");
        if let Some(previous) = previous {
            config["prevResult"] = previous.clone();
        }
        self.node
            .run(&weir(&self.node, name, "ADD", &self.container, &config))
    }

    /// The ADD is refused by the grant, which names what the tenant is after and the field that was in the way; the
    /// refusal is recorded; and all is as it was.
    #[track_caller]
    pub fn refuses(&self, plugin: &Value, previous: Option<&Value>, words: &[&str]) {
        let state = || State::of(&self.node).expect("the node's state");
        let (before, known) = (state(), self.node.audit().len());
        let error = self.add(plugin, previous).expect("weir runs").error();
        let text = format!("{} {}", error["msg"], error["details"]);
        for word in words.iter().chain(&["does not allow", "tenants."]) {
            assert!(text.contains(word), "`{word}` is not in {error:#}");
        }
        let records = self.node.audit().split_off(known);
        let denied = records.iter().find(|record| record["verdict"] == "denied");
        let denied = denied.expect("a record");
        assert_eq!(denied["definition"], "-/tenant", "{denied:#}");
        state().assert_same(&before);
    }
}

/// Property: a definition decides nothing about what a bridge of others forwards.
#[test]
fn a_definition_isolates_no_bridge_of_the_nodes() -> Result<()> {
    let cluster = Cluster::create()?;
    let before = State::of(&cluster.node)?;
    let lie = json!({
        "cniVersion": "1.1.0",
        "interfaces": [{ "name": "cni0" }, { "name": cluster.port }],
        "ips": [{ "address": "10.77.0.9/24" }],
    });
    for policy in ["isolated", "same-bridge"] {
        let firewall = json!({ "type": "firewall", "ingressPolicy": policy });
        let error = cluster.add(&firewall, Some(&lie))?.error();
        let text = error["msg"].as_str().unwrap_or_default();
        assert!(text.contains("needs a bridge"), "{error:#}");
        State::of(&cluster.node)?.assert_same(&before);
    }
    Ok(())
}

/// `portmap`, as a runtime calls it for a pod that maps this port.
fn mapping(network: &str, host_port: u16, protocol: &str, result: &Value) -> Value {
    let mapping = json!({ "hostPort": host_port, "containerPort": 80, "protocol": protocol });
    let mut config = called(&json!({ "type": "portmap" }), network);
    config["runtimeConfig"] = json!({ "portMappings": [mapping] });
    config["prevResult"] = result.clone();
    config
}

fn bridge(device: &str, address: &str, keys: Value) -> Value {
    let config = json!({
        "type": "bridge",
        "bridge": device,
        "ipam": { "type": "static", "addresses": [{ "address": address }] },
    });
    with_keys(config, keys)
}

fn gateway(address: &str, gateway: &str) -> Value {
    let addresses = json!([{ "address": address, "gateway": gateway }]);
    json!({ "isGateway": true, "ipam": { "type": "static", "addresses": addresses } })
}

/// Property: a definition has no part in the node's own bridge, whose pods' addresses and MACs it could take.
#[test]
fn a_definition_does_not_reach_the_nodes_bridge() -> Result<()> {
    let cluster = Cluster::create()?;
    let words = ["cni0", "owners"];
    for keys in [
        json!({}),
        json!({ "runtimeConfig": { "mac": "02:00:00:00:00:01" } }),
        json!({ "forceAddress": true, "isGateway": true }),
        json!({ "promiscMode": true }),
    ] {
        let taking = bridge("cni0", &format!("{POD}/24"), keys);
        cluster.refuses(&taking, None, &words);
    }
    Ok(())
}

/// Property: no address of a definition leads the node's traffic away, while it is there or afterwards.
#[test]
fn a_gateway_takes_no_traffic_of_the_nodes() -> Result<()> {
    let cluster = Cluster::create()?;
    let way = |to: &str| cluster.node.ip(&format!("route get {to}"));
    let before = way("8.8.8.8")?;
    for (address, via, word) in [
        // A public network, the half of the internet, the node's own network and its gateway, the pods'.
        ("8.8.8.9/5", "8.8.8.1", "addresses"),
        ("128.0.0.9/1", "128.0.0.1", "addresses"),
        ("192.168.50.9/24", "192.168.50.7", "overlaps"),
        ("192.168.0.9/16", "192.168.0.1", "overlaps"),
        ("192.168.50.1/32", "192.168.50.2", "overlaps"),
        ("10.77.0.9/25", "10.77.0.1", "overlaps"),
        ("10.0.0.9/8", "10.0.0.1", "overlaps"),
    ] {
        let leading = bridge("evil0", address, gateway(address, via));
        cluster.refuses(&leading, None, &["evil0", word]);
    }
    assert_eq!(way("8.8.8.8")?, before);
    // What nothing of the node overlaps is its own to give.
    let free = bridge(
        "free0",
        "10.99.0.9/24",
        gateway("10.99.0.9/24", "10.99.0.1"),
    );
    cluster.add(&free, None)?.result();
    Ok(())
}

/// Property: a definition's pair has no route to what is the node's, or another pod's.
#[test]
fn a_pair_leads_nothing_of_the_nodes_away() -> Result<()> {
    let cluster = Cluster::create()?;
    for (address, word) in [
        ("192.168.50.1/32", "overlaps"),
        (&format!("{POD}/32"), "overlaps"),
        ("8.8.8.8/32", "destinations"),
    ] {
        let addresses = json!([{ "address": address, "gateway": "10.98.0.1" }]);
        let pair = json!({ "type": "ptp", "ipam": { "type": "static", "addresses": addresses } });
        cluster.refuses(&pair, None, &[word]);
    }
    Ok(())
}

/// Property: on a bridge of its own a definition sets no promiscuous mode, nor on the container's interface.
#[test]
fn no_definition_sets_promiscuous_mode() -> Result<()> {
    let cluster = Cluster::create()?;
    let mode = bridge("evil1", "10.97.0.9/24", json!({ "promiscMode": true }));
    cluster.refuses(&mode, None, &["evil1", "attributes"]);
    let quiet = bridge("quiet0", "10.97.0.9/24", json!({}));
    let result = cluster.add(&quiet, None)?.result();
    let tuning = json!({ "type": "tuning", "promisc": true });
    cluster.refuses(&tuning, Some(&result), &["eth0", "attributes"]);
    Ok(())
}

/// Property: what a definition sets in the container's namespace is that namespace's.
#[test]
fn a_parameter_of_the_whole_node_is_not_a_definitions() -> Result<()> {
    let cluster = Cluster::create()?;
    let quiet = bridge("quiet1", "10.96.0.9/24", json!({}));
    let result = cluster.add(&quiet, None)?.result();
    let tuning = json!({ "type": "tuning", "sysctl": { "net.netfilter.nf_hooks_lwtunnel": "1" } });
    cluster.refuses(&tuning, Some(&result), &["nf_hooks_lwtunnel", "keys"]);
    Ok(())
}

/// Property: what a definition limits is its own attachment.
#[test]
fn a_definition_shapes_no_other_pods_traffic() -> Result<()> {
    let cluster = Cluster::create()?;
    // As the result of a plugin before that lies.
    let lie = json!({
        "cniVersion": "1.1.0",
        "interfaces": [{ "name": "cni0" }, { "name": cluster.port }],
        "ips": [{ "address": "10.77.0.9/24" }],
    });
    let slow = json!({ "type": "bandwidth", "ingressRate": 8, "ingressBurst": 8000,
        "egressRate": 8, "egressBurst": 8000 });
    let before = State::of(&cluster.node)?;
    let error = cluster.add(&slow, Some(&lie))?.error();
    State::of(&cluster.node)?.assert_same(&before);
    ensure!(!error["msg"].as_str().unwrap_or_default().is_empty());
    Ok(())
}

/// Property: neither a pod's own words nor a definition's take a port of the node's.
///
/// A pod gets neither the ports of the node's services, whether they run or not, nor a port at which
/// something listens.
#[test]
fn no_pod_takes_a_port_of_the_nodes() -> Result<()> {
    let cluster = Cluster::create()?;
    let node = &cluster.node;
    let sockets = node.inside(|| {
        Ok((
            TcpListener::bind("127.0.0.1:8099")?,
            UdpSocket::bind("127.0.0.1:8098")?,
        ))
    })?;
    let add = |network: &str, port: u16, protocol: &str, result: &Value, container: &Container| {
        let config = mapping(network, port, protocol, result);
        node.run(&weir(node, "portmap", "ADD", container, &config))
    };
    let quiet = bridge("quiet2", "10.95.0.9/24", json!({}));
    let theirs = cluster.add(&quiet, None)?.result();
    let before = State::of(node)?;
    for (port, protocol) in [
        (22, "tcp"),
        (10250, "tcp"),
        (2379, "tcp"),
        (6443, "tcp"),
        (10256, "tcp"),
        (8099, "tcp"),
        (8098, "udp"),
    ] {
        for (network, result, container) in [
            ("cbr0", &cluster.result, &cluster.pod),
            ("tenant", &theirs, &cluster.container),
        ] {
            let error = add(network, port, protocol, result, container)?.error();
            let text = error["msg"].as_str().unwrap_or_default();
            for word in [
                &*format!("port {port}"),
                "does not allow",
                "tenants.firewall[0]: ports",
            ] {
                assert!(text.contains(word), "`{word}` is not in {error:#}");
            }
        }
    }
    State::of(node)?.assert_same(&before);
    drop(sockets);
    for port in [8099, 80, 443, 31080] {
        add("cbr0", port, "tcp", &cluster.result, &cluster.pod)?.result();
    }
    add("tenant", 8097, "tcp", &theirs, &cluster.container)?.result();
    Ok(())
}

/// Property: a port that a pod of the node's own network has is not taken from it.
#[test]
fn a_definition_takes_no_port_from_another_network() -> Result<()> {
    let cluster = Cluster::create()?;
    let node = &cluster.node;
    let own = mapping("cbr0", 8500, "tcp", &cluster.result);
    node.run(&weir(node, "portmap", "ADD", &cluster.pod, &own))?
        .result();
    let quiet = bridge("quiet3", "10.94.0.9/24", json!({}));
    let theirs = cluster.add(&quiet, None)?.result();
    let before = State::of(node)?;
    let taking = mapping("tenant", 8500, "tcp", &theirs);
    let error = node
        .run(&weir(node, "portmap", "ADD", &cluster.container, &taking))?
        .error();
    let text = error["msg"].as_str().unwrap_or_default();
    assert!(text.contains("tenants.firewall[0]: owners"), "{error:#}");
    State::of(node)?.assert_same(&before);
    // A pod that comes again, whose DEL was lost, has its port back.
    let again = node.container()?;
    node.run(&weir(node, "portmap", "ADD", &again, &own))?
        .result();
    Ok(())
}

/// Property: mappings in sets by former names are not taken from another network either, and a tenant's ADD leaves these
/// sets to an ADD of the node's own network.
#[test]
fn a_definition_takes_no_port_in_a_former_set() -> Result<()> {
    let cluster = Cluster::create()?;
    let node = &cluster.node;
    let path = node.root().join("former.nft");
    fs::write(&path, include_str!("../differential/former/portmap.nft"))?;
    node.tool("nft", &format!("-f {}", path.display()))?;
    let quiet = bridge("quiet4", "10.93.0.9/24", json!({}));
    let theirs = cluster.add(&quiet, None)?.result();
    let at = |network: &str, port: u16, result: &Value| {
        let mut config = mapping(network, port, "tcp", result);
        config["runtimeConfig"]["portMappings"][0]["hostIP"] = json!("192.0.2.1");
        config
    };
    let add = |container: &Container, config: &Value| {
        node.run(&weir(node, "portmap", "ADD", container, config))
    };
    let before = State::of(node)?;
    let error = add(&cluster.container, &at("tenant", 8081, &theirs))?.error();
    let text = error["msg"].as_str().unwrap_or_default();
    assert!(text.contains("tenants.firewall[0]: owners"), "{error:#}");
    State::of(node)?.assert_same(&before);

    let elements = |set: &str| node.tool("nft", &format!("list map inet weir_portmap {set}"));
    add(&cluster.container, &at("tenant", 8082, &theirs))?.result();
    assert_contains(&elements("at4")?, &["8081"]);
    assert_contains(&elements("hostip4")?, &["8082"]);

    // A pod's request for ports is judged as a tenant's is.
    add(&cluster.pod, &at("cbr0", 8083, &cluster.result))?.result();
    assert_contains(&elements("at4")?, &["8081"]);
    let mut without_ports = called(&json!({ "type": "portmap" }), "cbr0");
    without_ports["prevResult"] = cluster.result.clone();
    add(&node.container()?, &without_ports)?.result();
    assert!(elements("at4").is_err(), "the former map is left");
    assert_contains(&elements("hostip4")?, &["8081", "8082", "8083"]);
    Ok(())
}

/// Property: the places that a definition names are those of the shipped grant, whatever its text says.
#[test]
fn a_definition_names_no_place_of_its_own() -> Result<()> {
    let cluster = Cluster::create()?;
    let node = &cluster.node;
    fs::create_dir(node.root().join("mnt"))?;
    fs::write(
        node.root().join("mnt/resolv.conf"),
        "nameserver 192.0.2.1\n",
    )?;
    for (key, value, rule) in [
        ("dataDir", "/mnt/leases", "tenants.store[0]: directories"),
        ("DATADIR", "/mnt/leases", "tenants.store[0]: directories"),
        ("resolvConf", "/mnt/resolv.conf", "tenants.store[1]: files"),
    ] {
        let mut quiet = bridge("quiet4", "10.94.1.1/24", json!({}));
        quiet["ipam"] = json!({ "type": "host-local", "subnet": "10.94.1.0/24" });
        quiet["ipam"][key] = json!(value);
        cluster.refuses(&quiet, None, &[value, rule]);
    }
    Ok(())
}

/// Property: a link that somebody else put into the directory of the node's own configuration leads to nothing of the
/// system's.
#[test]
fn a_configured_directory_leads_to_no_systems() -> Result<()> {
    let (node, container) = Node::with_container()?;
    fs::create_dir_all(node.root().join("srv"))?;
    fs::create_dir_all(node.root().join("etc/leases"))?;
    std::os::unix::fs::symlink("../etc", node.root().join("srv/link"))?;
    let mut config = called(&own(), "cbr0");
    config["ipam"]["dataDir"] = json!("/srv/link/leases");
    assert_contains(
        &node
            .run(&weir(&node, "bridge", "ADD", &container, &config))?
            .message(),
        &["a system directory"],
    );
    assert_eq!(fs::read_dir(node.root().join("etc/leases"))?.count(), 0);
    Ok(())
}

/// The capabilities that a shipped grant has for tenants, as a grant of the puppet's.
fn shipped(node: &Node, plugin: &str) -> Result<String> {
    let shown = node.weir(&["grants", "show", plugin, "--output", "json"])?;
    let shown: Value = serde_json::from_str(&shown)?;
    Ok(shown[0]["document"]["spec"]["tenants"]["capabilities"].to_string())
}

/// A puppet with all that a shipped plugin may do for tenants, on a node with a network of its own.
fn puppet_of(plugin: &str) -> Result<(Puppet, String)> {
    let capabilities = shipped(&Node::create()?, plugin)?;
    let grant = Grant {
        capabilities: &capabilities,
        ..Grant::nothing(PLUGIN)
    };
    let fixture = AttackedNode::create(&grant.for_tenants())?;
    let node = &fixture.node;
    configure(node)?;
    let pod = node.container()?;
    let added = node.run(&weir(node, "bridge", "ADD", &pod, &called(&own(), "cbr0")))?;
    let port = added.result()["interfaces"][1]["name"].clone();
    let port = port.as_str().context("a name")?.to_owned();
    // The pod stays until the process ends, so that its interface does.
    std::mem::forget(pod);
    Ok((Puppet { fixture }, port))
}

fn denied(puppet: &Puppet, orders: Vec<Value>) -> Result<Vec<Answer>> {
    puppet.assert_denied(orders)
}

/// Property: the worst plugin under `bridge`'s grant, run for a tenant, changes no link that is not its network's.
#[test]
fn the_worst_bridge_changes_no_link_of_others() -> Result<()> {
    let (puppet, port) = puppet_of("bridge")?;
    let orders = [
        json!({ "do": "link.update", "link": port, "master": "cni0" }),
        json!({ "do": "link.update", "link": "cni0", "size": 1400 }),
        json!({ "do": "link.update", "link": port, "size": 1400 }),
        json!({ "do": "link.update", "link": "cni0", "promiscuous": true }),
        json!({ "do": "link.update-port", "link": port }),
        json!({ "do": "link.update-bridge", "link": "cni0" }),
        json!({ "do": "link.get", "link": "cni0" }),
        json!({ "do": "address.add", "link": "cni0", "address": "10.66.0.1/24" }),
        json!({ "do": "address.delete", "link": "cni0", "address": "10.77.0.1/24" }),
        json!({ "do": "link.create", "kind": "veth", "name": "evil0", "other": "eth0", "otherInside": true,
            "master": "cni0" }),
    ];
    denied(&puppet, orders.into())?;
    Ok(())
}

/// Property: the same for `ptp`, which puts routes on the host, and of `bandwidth`, which shapes there.
#[test]
fn the_worst_ptp_and_bandwidth_reach_no_link_of_others() -> Result<()> {
    let (puppet, port) = puppet_of("ptp")?;
    let orders = [
        json!({ "do": "route.add", "link": port, "address": "10.66.0.0/24" }),
        json!({ "do": "route.add", "link": "cni0", "address": "10.66.0.0/24" }),
        json!({ "do": "route.add", "address": "10.66.0.0/24", "kind": "blackhole" }),
        json!({ "do": "address.add", "link": port, "address": "10.66.0.1/24" }),
        json!({ "do": "sysctl.write", "key": format!("net.ipv6.conf.{port}.accept_ra"), "value": "0" }),
        json!({ "do": "sysctl.write", "key": "net.ipv4.ip_forward", "value": "1" }),
    ];
    denied(&puppet, orders.into())?;
    let (puppet, port) = puppet_of("bandwidth")?;
    let orders = [
        json!({ "do": "traffic.add-qdisc", "link": port, "kind": "tbf" }),
        json!({ "do": "traffic.add-qdisc", "link": port, "kind": "ingress" }),
        json!({ "do": "link.get", "link": port }),
    ];
    denied(&puppet, orders.into())?;
    Ok(())
}

/// Property: the same for plugins whose links are in the container alone: nothing of the host, no other kind of link, and
/// only the attachment's name.
#[test]
fn the_worst_dummy_tap_and_vrf_stay_in_the_container() -> Result<()> {
    let kinds = ["dummy", "tun", "vrf", "ifb", "bridge", "veth"];
    for (plugin, own) in [("dummy", "dummy"), ("tap", "tun"), ("vrf", "vrf")] {
        let (puppet, port) = puppet_of(plugin)?;
        let created = |kind: &&str, inside: bool| {
            json!({ "do": "link.create", "kind": kind, "name": "evil0", "other": "evil1",
                "inside": inside, "otherInside": inside })
        };
        // A VRF has a name of the configuration's.
        let denied_inside = kinds.iter().filter(|kind| **kind != own || own != "vrf");
        let mut orders: Vec<Value> = denied_inside.map(|kind| created(kind, true)).collect();
        orders.extend(kinds.iter().map(|kind| created(kind, false)));
        orders.extend([
            json!({ "do": "link.get", "link": "cni0" }),
            json!({ "do": "link.update", "link": port, "master": "cni0" }),
            json!({ "do": "link.delete", "link": port }),
            json!({ "do": "address.add", "link": "cni0", "address": "10.66.0.1/24" }),
            json!({ "do": "route.add", "link": "cni0", "address": "10.66.0.0/24" }),
            json!({ "do": "sysctl.write", "key": "net.ipv4.ip_forward", "value": "1" }),
        ]);
        denied(&puppet, orders).with_context(|| plugin)?;
    }
    Ok(())
}

/// Property: only weir says whose a link is.
#[test]
fn no_plugin_writes_a_mark() -> Result<()> {
    let puppet = Puppet::under("{ link: [{}] }")?;
    puppet.fixture.node.ip("link add theirs0 type bridge")?;
    let mark = "-/hostile";
    let orders = [
        json!({ "do": "link.update", "link": "theirs0", "alias": mark }),
        json!({ "do": "link.create", "kind": "bridge", "name": "mine0", "alias": "-/other" }),
    ];
    puppet.assert_each(orders.into(), "invalid")?;
    let made = json!({ "do": "link.create", "kind": "bridge", "name": "mine1" });
    puppet.assert_each(vec![made], "ok")?;
    let link = puppet.fixture.node.ip_json("link show mine1")?;
    assert_eq!(link[0]["ifalias"], "hostile", "{link:#}");
    let link = puppet.fixture.node.ip_json("link show theirs0")?;
    assert_eq!(link[0].get("ifalias"), None, "{link:#}");
    Ok(())
}
