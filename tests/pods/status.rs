//! The status annotation and the events (section 5), as the cluster gets them.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{assert_contains, wait_for};

use crate::world::{STATUS, World, bridge, list, selection};

#[test]
fn npwg_5_the_status_of_each_attachment_is_published() -> Result<()> {
    let world = World::with_bridge("pub", "10.45.0.0/24")?;
    let keys = json!({ "mac": "02:45:00:00:00:01", "ips": ["10.45.0.9"] });
    let pod = world.attached("pub", &selection("pub", keys))?;
    let status = world.status(&pod)?;
    assert_eq!(status.len(), 2, "{status:#?}");
    let second = &status[1];
    assert_eq!(second["name"], format!("{}/pub", world.namespace));
    assert_eq!(second["interface"], "net1");
    assert_eq!(second["ips"], json!(["10.45.0.9"]));
    assert_eq!(second["mac"], "02:45:00:00:00:01");
    assert_eq!(second["mtu"], 1500);
    assert!(
        second
            .get("default")
            .is_none_or(|default| *default == false)
    );
    world.del(&pod)
}

/// A `prevResult` before 1.1.0 has no MTU that a later plugin could pass on.
#[test]
fn the_mtu_is_reported_whatever_the_version() -> Result<()> {
    let world = World::create()?;
    for (number, version) in ["0.4.0", "1.0.0", "1.1.0"].into_iter().enumerate() {
        let name = format!("mtu{}", version.replace('.', ""));
        let mut first = bridge(&format!("b{name}"), &format!("10.45.{}.0/24", 20 + number));
        first["mtu"] = json!(1400);
        let mut network = list(&name, &[first, json!({ "type": "tuning" })]);
        network["cniVersion"] = json!(version);
        world.define(&name, &network)?;
        let pod = world.attached(&name, &name)?;
        let status = world.status(&pod)?;
        assert_eq!(status[1]["mtu"], 1400, "{version}: {status:#?}");
        world.del(&pod)?;
    }
    Ok(())
}

#[test]
fn npwg_5_2_one_entry_is_the_default_network() -> Result<()> {
    let world = World::with_bridge("notdef", "10.45.1.0/24")?;
    let pod = world.attached("default", "notdef")?;
    let status = world.status(&pod)?;
    let defaults: Vec<&Value> = status.iter().filter(|s| s["default"] == true).collect();
    assert_eq!(defaults.len(), 1, "{status:#?}");
    assert_eq!(defaults[0]["name"], "default-net");
    assert_eq!(defaults[0]["interface"], "eth0");
    world.del(&pod)
}

/// What users of Multus report: `"gateway": ["<nil>"]`.
#[test]
fn a_gateway_that_is_none_is_not_in_the_status() -> Result<()> {
    let world = World::create()?;
    let mut plugin = bridge("bnil", "10.45.2.0/24");
    plugin["isGateway"] = json!(false);
    plugin["ipam"]["routes"] = json!([{ "dst": "198.51.100.0/24" }]);
    world.define("nil", &list("nil", &[plugin]))?;
    let layer2 = json!({ "type": "bridge", "bridge": "bl2" });
    world.define("layer2", &list("layer2", &[layer2]))?;
    let pod = world.attached("nil", "nil,layer2")?;
    let text = world
        .api
        .annotation(&world.namespace, "nil", STATUS)?
        .unwrap_or_default();
    assert!(!text.contains("nil>"), "{text}");
    let status = world.status(&pod)?;
    assert!(
        status[2].get("gateway").is_none() && status[2].get("ips").is_none(),
        "{status:#?}"
    );
    world.del(&pod)
}

/// What users of Multus report: status updates lost on conflict.
#[test]
fn other_writers_of_the_pod_lose_nothing_and_neither_does_weir() -> Result<()> {
    let world = World::create()?;
    let pods = (0..4).map(|n| world.pod_with(&format!("busy{n}"), &[]));
    let pods = pods.collect::<Result<Vec<_>>>()?;
    for pod in &pods {
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| -> Result<()> {
                for n in 0..20 {
                    let value = n.to_string();
                    let count = [("example.org/count", Some(value.as_str()))];
                    world
                        .api
                        .annotate_pod(&world.namespace, &pod.name, &count)?;
                }
                Ok(())
            });
            world.add(pod);
            writer.join().expect("the writer ends")
        })?;
        assert_eq!(world.status(pod)?.len(), 1);
        let object = world.api.pod(&world.namespace, &pod.name)?;
        assert_eq!(object["metadata"]["annotations"]["example.org/count"], "19");
        world.del(pod)?;
    }
    Ok(())
}

#[test]
fn an_event_tells_of_each_attachment() -> Result<()> {
    let world = World::with_bridge("ev", "10.45.3.0/24")?;
    let pod = world.attached("ev", "ev")?;
    let told = || -> Result<Vec<String>> {
        let events = world.api.events(&world.namespace)?;
        let of_pod = events
            .iter()
            .filter(|e| e["involvedObject"]["name"] == "ev");
        let added = of_pod.filter(|e| e["reason"] == "AddedInterface");
        Ok(added
            .map(|e| e["message"].as_str().unwrap_or_default().to_owned())
            .collect())
    };
    let told = wait_for("two events", || {
        Ok(Some(told()?).filter(|told| told.len() == 2))
    })?;
    assert_contains(&told[0], &["eth0", "default-net"]);
    let network = format!("{}/ev", world.namespace);
    assert_contains(&told[1], &["net1", "10.45.3.2", &network]);
    world.del(&pod)
}

#[test]
fn del_takes_the_status_away() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("away", &[("example.org/kept", "yes")])?;
    world.add(&pod);
    world.status(&pod)?;
    world.del(&pod)?;
    let object = world.api.pod(&world.namespace, "away")?;
    let annotations = &object["metadata"]["annotations"];
    assert!(annotations.get(STATUS).is_none(), "{annotations:#}");
    assert_eq!(annotations["example.org/kept"], "yes");
    Ok(())
}

#[test]
fn npwg_5_1_1_results_of_old_versions_have_a_status_too() -> Result<()> {
    let world = World::create()?;
    for (n, version) in [
        "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("v{n}");
        let mut config = list(
            &name,
            &[bridge(&format!("bv{n}"), &format!("10.45.{}.0/24", 10 + n))],
        );
        config["cniVersion"] = json!(version);
        world.define(&name, &config)?;
        let pod = world.attached(&name, &name)?;
        let status = world.status(&pod)?;
        assert_eq!(status[1]["interface"], "net1", "{version}: {status:#?}");
        assert_eq!(
            status[1]["ips"],
            json!([format!("10.45.{}.2", 10 + n)]),
            "{version}"
        );
        world.del(&pod)?;
    }
    Ok(())
}
