//! The order of attachments, and what becomes of a failed one (sections 6 and 7).

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Grant, State, assert_contains};

use crate::world::{World, bridge, interfaces, list, names};

/// A network whose ADD fails: its gateway is outside its subnet.
fn failing(name: &str) -> Value {
    let mut plugin = bridge(&format!("b{name}"), "10.49.0.0/24");
    plugin["ipam"]["ranges"][0][0]["gateway"] = json!("192.0.2.1");
    list(name, &[plugin])
}

#[test]
fn npwg_6_every_pod_is_attached_to_the_default_network() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("alone", &[])?;
    let result = world.add(&pod);
    assert_eq!(names(&pod.container)?, ["eth0"]);
    let assigned = result["ips"][0]["address"].as_str().unwrap_or_default();
    assert!(assigned.starts_with("10.40.0."), "{result:#}");
    world.del(&pod)
}

#[test]
fn npwg_6_2_the_default_network_is_attached_first() -> Result<()> {
    let world = World::with_bridge("second", "10.41.0.0/24")?;
    let pod = world.pod("ordered", "second")?;
    let result = world.add(&pod);
    let index = |name: &str| -> Result<u64> {
        let link = pod.container.ip_json(&format!("link show {name}"))?;
        Ok(link[0]["ifindex"].as_u64().unwrap_or_default())
    };
    assert!(index("eth0")? < index("net1")?, "eth0 was made after net1");
    // The result is the default network's alone.
    let sandboxes = result["interfaces"].as_array().into_iter().flatten();
    let inside: Vec<&Value> = sandboxes
        .filter(|i| i["sandbox"].is_string())
        .map(|i| &i["name"])
        .collect();
    assert_eq!(inside, [&json!("eth0")]);
    world.del(&pod)
}

#[test]
fn npwg_7_2_a_failed_attachment_fails_the_pod_and_later_ones_are_not_tried() -> Result<()> {
    let world = World::create()?;
    let _warm = world.plain("warm")?;
    world.define_bridge("before", "10.41.1.0/24")?;
    world.define("bad", &failing("bad"))?;
    world.define_bridge("later", "10.41.2.0/24")?;
    let pod = world.pod("failing", "before,bad,later")?;
    let before = State::of(&world.node)?;
    let network = format!("network `{}/bad`", world.namespace);
    assert_contains(&world.run("ADD", &pod)?.message(), &[&network]);
    assert_eq!(
        names(&pod.container)?,
        Vec::<String>::new(),
        "what was attached before"
    );
    let after = State::of(&world.node)?;
    assert_eq!(after.files, before.files, "leases and cached results");
    assert!(
        after.links.contains(&"bbefore".to_owned()),
        "the first one was tried"
    );
    assert!(
        !after.links.contains(&"blater".to_owned()),
        "the last one was tried"
    );
    assert_eq!(world.records().len(), 1, "only the other pod's record");
    world.del(&pod)
}

#[test]
fn npwg_7_2_teardown_goes_on_past_failures_and_tells_of_them_at_the_end() -> Result<()> {
    let world = World::with_bridge("one", "10.41.3.0/24")?;
    world.define_bridge("two", "10.41.4.0/24")?;
    let pod = world.attached("teardown", "one,two")?;
    // Their grant does not let the plugins of the two run any more.
    let grant = world.narrow_bridge(&["default-net"])?;
    let networks = ["one", "two"].map(|name| format!("{}/{name}", world.namespace));
    assert_contains(
        &world.run("DEL", &pod)?.said(),
        &networks.each_ref().map(String::as_str),
    );
    assert_eq!(
        names(&pod.container)?,
        ["net1", "net2"],
        "the default network was detached"
    );
    assert_eq!(world.records().len(), 1, "what is left must be known");
    std::fs::remove_file(grant)?;
    world.del(&pod)?;
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    assert!(world.records().is_empty());
    Ok(())
}

#[test]
fn npwg_7_2_what_a_failed_attachment_leaves_is_known_to_the_next_del() -> Result<()> {
    let world = World::create()?;
    world
        .node
        .install_with(&Grant::nothing("puppet").for_tenants())?;
    let puppet = |mark: &str, only: &str| json!({ "type": "puppet", "mark": mark, "orders": [], "end": "broken", "only": only });
    let plugins = [
        bridge("bhalf", "10.41.7.0/24"),
        puppet("stays", "DEL"),
        puppet("", "ADD"),
    ];
    world.define("half", &list("half", &plugins))?;
    let pod = world.pod("half-made", "half")?;
    let network = format!("network `{}/half`", world.namespace);
    let error = world.run("ADD", &pod)?.error();
    let details = error["details"].as_str().unwrap_or_default();
    assert!(details.contains("and then DEL"), "{error:#}");
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    assert_eq!(world.records().len(), 1, "what is left must be known");
    assert_contains(&world.run("DEL", &pod)?.message(), &[&network, "broken"]);
    assert_eq!(world.records().len(), 1);
    Ok(())
}

#[test]
fn npwg_7_2_what_is_detached_goes_in_reverse_order() -> Result<()> {
    let world = World::with_bridge("one", "10.41.5.0/24")?;
    let pod = world.attached("reverse", "one")?;
    world.del(&pod)?;
    let deleted: Vec<String> = world
        .node
        .audit()
        .iter()
        .filter(|r| r["command"] == "DEL" && r["operation"] == "link.delete" && r["answer"] == "ok")
        .map(|r| r["ifname"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(deleted, ["net1", "eth0"]);
    Ok(())
}

#[test]
fn npwg_7_3_attachments_of_a_pod_are_made_one_at_a_time() -> Result<()> {
    let world = World::create()?;
    for (name, subnet) in [("a", "10.41.6.0/24"), ("b", "10.41.7.0/24")] {
        world.define_bridge(name, subnet)?;
    }
    let pod = world.attached("serial", "a,b")?;
    let order: Vec<String> = world
        .node
        .audit()
        .iter()
        .filter(|record| record["command"] == "ADD")
        .map(|record| record["ifname"].as_str().unwrap_or_default().to_owned())
        .collect();
    let mut runs = order.clone();
    runs.dedup();
    assert_eq!(
        runs,
        ["eth0", "net1", "net2"],
        "operations are mixed: {order:?}"
    );
    world.del(&pod)
}

#[test]
fn npwg_7_1_each_plugin_of_a_list_has_the_name_and_version_of_the_list() -> Result<()> {
    let world = World::create()?;
    let mut old = list(
        "old",
        &[
            bridge("bold", "10.41.8.0/24"),
            json!({ "type": "tuning", "mtu": 1400 }),
        ],
    );
    old["cniVersion"] = json!("0.3.1");
    world.define("old", &old)?;
    let pod = world.pod("versions", "old")?;
    let result = world.add(&pod);
    assert_eq!(result["cniVersion"], "1.1.0", "the runtime's version");
    let cached = world.node.root().join("var/lib/cni/results");
    let cached = cached.join(format!("{}@old-{}-net1", world.namespace, pod.container.id));
    let cached: Value = serde_json::from_slice(&std::fs::read(cached)?)?;
    assert_eq!(
        cached["result"]["cniVersion"], "0.3.1",
        "the network's version"
    );
    let link = pod.container.ip_json("link show net1")?;
    assert_eq!(
        link[0]["mtu"], 1400,
        "the second plugin ran with the first one's result"
    );
    world.del(&pod)
}

#[test]
fn npwg_4_2_the_same_network_twice_is_two_attachments() -> Result<()> {
    let world = World::with_bridge("twice", "10.41.9.0/24")?;
    let pod = world.attached_anew("twice", "twice,twice")?;
    let interfaces = interfaces(&pod.container)?;
    assert_eq!(interfaces.len(), 3, "{interfaces:?}");
    assert_ne!(interfaces["net1"], interfaces["net2"]);
    let status = world.status(&pod)?;
    assert_eq!(status.len(), 3, "{status:#?}");
    assert_eq!(status[1]["name"], status[2]["name"]);
    assert_ne!(status[1]["interface"], status[2]["interface"]);
    world.del(&pod)?;
    assert!(world.taken("twice").is_empty());
    Ok(())
}
