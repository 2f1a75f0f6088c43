//! A plugin that reaches for every operation outside its grant, and names that would widen one.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Grant, Node, State, weir};

use super::{AttackedNode, READ};

/// The operations that `examples/hostile` attempts, at least one of each capability.
const ATTEMPTED: [&str; 11] = [
    "address",
    "conntrack",
    "firewall",
    "firewalld",
    "ipam",
    "link",
    "neighbour",
    "route",
    "store",
    "sysctl",
    "traffic",
];

/// Property: default deny, beside a network that is in use.
#[test]
fn every_attempt_is_denied_and_recorded() -> Result<()> {
    let node = Node::create()?;
    let (container, other) = (node.container()?, node.container()?);
    let bridge = json!({
        "cniVersion": "1.1.0", "name": "demo", "type": "bridge", "bridge": "weir0",
        "isGateway": true, "ipMasq": true,
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.77.0.0/24" }]] },
    });
    for attached in [&container, &other] {
        node.run(&weir(&node, "bridge", "ADD", attached, &bridge))?
            .result();
    }
    node.install_with(&Grant {
        capabilities: READ,
        ..Grant::nothing("hostile")
    })?;
    let before = State::of(&node)?;
    let inside = container.addresses()?;
    let filter = node.inside(|| Ok(std::fs::read("/proc/sys/net/ipv4/conf/all/rp_filter")?))?;

    let config = json!({
        "cniVersion": "1.1.0", "name": "demo", "type": "hostile", "ipam": { "type": "host-local" },
    });
    node.run(&weir(&node, "hostile", "ADD", &container, &config))?
        .result();

    State::of(&node)?.assert_same(&before);
    assert_eq!(container.addresses()?, inside);
    let now = node.inside(|| Ok(std::fs::read("/proc/sys/net/ipv4/conf/all/rp_filter")?))?;
    assert_eq!(now, filter, "the reverse path filter");

    let log = node.audit();
    let own: Vec<&Value> = log
        .iter()
        .filter(|record| record["plugin"] == "hostile")
        .collect();
    for capability in ATTEMPTED {
        let denied = own
            .iter()
            .any(|r| r["capability"] == capability && r["verdict"] == "denied");
        assert!(denied, "no denial of {capability}: {own:#?}");
    }
    for record in own {
        assert_eq!(record["verdict"], "denied", "{record:#}");
        assert_eq!(record["network"], "demo");
        assert_eq!(record["container_id"], container.id.as_str());
        assert!(
            record["digest"].to_string().contains("sha256:"),
            "{record:#}"
        );
        assert!(
            record["answer"].to_string().contains("does not allow"),
            "{record:#}"
        );
    }
    for line in node.log()?.lines() {
        assert!(!line.contains("it worked"), "{line}");
    }
    Ok(())
}

/// Property: a name is a name, also where it replaces a placeholder.
#[test]
fn names_are_taken_literally() -> Result<()> {
    let fixture = AttackedNode::create(&Grant {
        capabilities: READ,
        ..Grant::nothing("misbehaving")
    })?;
    fixture.container.ip("link set lo name victim")?;
    // All are interface names that the kernel takes, and patterns that would match `victim`.
    for ifname in ["*", "v*", "[a-z]*", "?ictim", "{network}", "{ifname}", "**"] {
        let read = json!({ "act": "read", "target": "victim" });
        let outcome = fixture.run("ADD", read, &[("CNI_IFNAME", ifname)])?;
        assert_eq!(outcome.code(), 100, "{ifname}: {outcome:?}");
    }
    let network = json!({ "act": "read", "target": "victim", "name": "victim" });
    let outcome = fixture.run("ADD", network, &[("CNI_IFNAME", "{network}")])?;
    assert_eq!(outcome.code(), 100, "{outcome:?}");
    let denied = fixture.records("link.get");
    assert_eq!(denied.len(), 8, "{denied:#?}");
    assert!(
        denied.iter().all(|record| record["verdict"] == "denied"),
        "{denied:#?}"
    );

    let read = json!({ "act": "read", "target": "victim" });
    fixture
        .run("ADD", read, &[("CNI_IFNAME", "victim")])?
        .result();
    Ok(())
}

/// All operations on traffic control and on connections, by their names in the audit log.
const ON_TRAFFIC: [&str; 8] = [
    "conntrack.delete",
    "traffic.add-class",
    "traffic.add-filter",
    "traffic.add-qdisc",
    "traffic.delete-qdisc",
    "traffic.list-classes",
    "traffic.list-filters",
    "traffic.list-qdiscs",
];

/// Each rule misses what is tried by one field.
const NEAR_TRAFFIC: &str = r#"{
    traffic: [
      { namespace: container },
      { namespace: host, links: ["eth*"] },
      { namespace: host, kinds: [veth] } ],
    conntrack: [
      { namespace: container },
      { namespace: host, protocols: [tcp, sctp] },
      { namespace: host, protocols: [udp], ports: [53, 30000-32767] } ] }"#;

/// Property: default deny, of traffic control and connections.
#[test]
fn every_operation_on_traffic_is_denied() -> Result<()> {
    for capabilities in [READ, NEAR_TRAFFIC] {
        let fixture = AttackedNode::create(&Grant {
            capabilities,
            ..Grant::nothing("misbehaving")
        })?;
        fixture
            .add(json!({ "act": "reach for traffic", "target": "lo" }))?
            .result();
        for operation in ON_TRAFFIC {
            let records = fixture.records(operation);
            assert!(!records.is_empty(), "{operation} was not tried");
            for record in records {
                assert_eq!(record["verdict"], "denied", "{record:#}");
            }
        }
        fixture.assert_no_residue();
    }
    Ok(())
}

/// Property: both ends of a redirection need a rule.
///
/// A grant for the link that packets come from says nothing of the one that they would go to.
#[test]
fn a_redirect_needs_its_target() -> Result<()> {
    let fixture = AttackedNode::create(&Grant {
        capabilities: "{ traffic: [ { namespace: host, links: [reach0] } ] }",
        ..Grant::nothing("misbehaving")
    })?;
    fixture
        .node
        .ip("link add reach0 type veth peer name reach1")?;
    let outcome = fixture.add(json!({ "act": "reach for a redirect", "target": "reach0" }))?;
    outcome.told(100, &["create `mirred` on link `lo` in host"]);
    let denied = &fixture.records("traffic.add-filter")[0];
    assert!(
        denied["requirement"]
            .to_string()
            .contains("create `mirred` on loopback `lo` in host"),
        "{denied:#}"
    );
    // The discipline that it was allowed to make is gone again.
    assert_eq!(
        fixture.records("traffic.add-qdisc")[0]["verdict"],
        "allowed"
    );
    assert_eq!(
        fixture.records("traffic.delete-qdisc")[0]["verdict"],
        "undo"
    );
    let shown = fixture.node.tool("tc", "qdisc show dev reach0")?;
    assert!(!shown.contains("ingress"), "{shown}");
    Ok(())
}
