//! What is recorded, and what DEL, CHECK and GC do with it when everything else is gone.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Outcome, State, assert_contains};

use crate::world::{Pod, World, bridge, list, names};

#[test]
fn the_record_is_there_before_the_first_delegate_and_gone_after_the_last() -> Result<()> {
    let world = World::with_bridge("rec", "10.44.0.0/24")?;
    let pod = world.attached("rec", "rec")?;
    let records = world.records();
    assert_eq!(records.len(), 1);
    let record: Value = serde_json::from_slice(&fs::read(&records[0])?)?;
    assert_eq!(
        record["attachments"][1]["config"]["plugins"][0]["bridge"],
        "brec"
    );
    assert_eq!(record["pod"]["name"], "rec");
    world.del(&pod)?;
    assert!(world.records().is_empty());
    Ok(())
}

#[test]
fn del_works_when_pod_definition_and_api_server_are_gone() -> Result<()> {
    let world = World::with_bridge("gone", "10.44.1.0/24")?;
    let warm = world.attached("warm", "gone")?;
    let before = State::of(&world.node)?;

    let pod = world.attached("gone", "gone")?;
    world.api.delete_definition(&world.namespace, "gone")?;
    world.api.delete_pod(&world.namespace, "gone")?;
    world.del(&pod)?;
    State::of(&world.node)?.assert_same(&before);

    let config = world.config_with(json!({ "kubeconfig": "/nowhere/kubeconfig" }));
    world.del_with(&warm, &config)?;
    assert!(world.records().is_empty());
    assert!(world.taken("gone").is_empty());
    Ok(())
}

#[test]
fn del_uses_the_configuration_that_add_used() -> Result<()> {
    let world = World::with_bridge("changed", "10.44.2.0/24")?;
    let pod = world.attached("changed", "changed")?;
    world.api.delete_definition(&world.namespace, "changed")?;
    let other = list("other-name", &[bridge("bother", "10.44.3.0/24")]);
    world.define("changed", &other)?;
    world.del(&pod)?;
    assert!(world.taken("changed").is_empty());
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    Ok(())
}

#[test]
fn del_works_without_the_namespace_and_can_be_repeated() -> Result<()> {
    let world = World::with_bridge("nons", "10.44.4.0/24")?;
    let pod = world.attached("nons", "nons")?;
    let mut call = world.call("DEL", &pod, &world.config());
    call.unset("CNI_NETNS");
    for _ in 0..2 {
        let deleted = world.node.run(&call)?;
        assert!(deleted.succeeded(), "{deleted:?}");
    }
    world.no_lease_stays("nons");
    Ok(())
}

#[test]
fn a_second_add_is_refused_and_harms_nothing() -> Result<()> {
    let world = World::create()?;
    let pod = world.plain("again")?;
    assert_eq!(world.run("ADD", &pod)?.code(), 236);
    assert!(
        world.run("CHECK", &pod)?.succeeded(),
        "the first attachment stands"
    );
    world.del(&pod)
}

#[test]
fn check_is_about_every_network() -> Result<()> {
    let world = World::with_bridge("chk", "10.44.5.0/24")?;
    let pod = world.attached("chk", "chk")?;
    let checked = world.run("CHECK", &pod)?;
    assert!(checked.succeeded(), "{checked:?}");
    pod.container.ip("link delete net1")?;
    let named = format!("`{}/chk`", world.namespace);
    assert_contains(&world.run("CHECK", &pod)?.message(), &[&named]);
    world.del(&pod)?;
    assert_eq!(world.run("CHECK", &pod)?.code(), 3);
    Ok(())
}

#[test]
fn gc_removes_what_no_valid_attachment_owns_and_nothing_else() -> Result<()> {
    let world = World::with_bridge("gc", "10.44.6.0/24")?;
    let stays = world.pod("stays", "gc")?;
    let goes = world.pod("goes", "gc,gc")?;
    world.add(&stays);
    let before = State::of(&world.node)?;
    world.add(&goes);
    let mut config = world.config();
    config["cni.dev/valid-attachments"] =
        json!([{ "containerID": stays.container.id, "ifname": "eth0" }]);
    let collected = world.run_with("GC", &stays, &config)?;
    assert!(collected.succeeded(), "{collected:?}");
    State::of(&world.node)?.assert_same(&before);
    assert_eq!(names(&goes.container)?, Vec::<String>::new());
    assert_eq!(world.records().len(), 1);
    assert!(world.run("CHECK", &stays)?.succeeded());
    world.del(&stays)?;
    world.del(&goes)
}

#[test]
fn gc_takes_nobody_elses_namespace_for_the_one_that_is_gone() -> Result<()> {
    let world = World::create()?;
    let old = world.pod_with("old", &[])?;
    let other = world.pod_with("other", &[])?;
    world.add(&old);
    world.add(&other);
    // As after a reboot: the other pod's namespace is where the record says the old one's is.
    let mut records = world.records();
    records.retain(|path| path.to_string_lossy().contains(&old.container.id));
    let mut record: Value = serde_json::from_slice(&fs::read(&records[0])?)?;
    record["netns"] = json!(other.container.netns());
    fs::write(&records[0], record.to_string())?;
    let mut config = world.config();
    config["cni.dev/valid-attachments"] =
        json!([{ "containerID": other.container.id, "ifname": "eth0" }]);
    let collected = world.run_with("GC", &other, &config)?;
    assert!(collected.succeeded(), "{collected:?}");
    assert_eq!(
        names(&other.container)?,
        ["eth0"],
        "the other pod was detached"
    );
    assert_eq!(world.node.taken("default-net").len(), 1);
    world.del(&other)
}

/// STATUS, which is about no container.
fn status(world: &World, pod: &Pod, config: &Value) -> Result<Outcome> {
    let mut call = world.call("STATUS", pod, config);
    for variable in ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS"] {
        call.unset(variable);
    }
    world.node.run(&call)
}

#[test]
fn status_is_that_of_the_default_network() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("status", &[])?;
    let status = |config: &Value| status(&world, &pod, config);
    let good = status(&world.config())?;
    assert!(good.succeeded(), "{good:?}");
    for keys in [
        json!({ "clusterNetwork": "none", "delegates": null }),
        json!({ "readinessindicatorfile": "/run/not-there" }),
    ] {
        assert_eq!(status(&world.config_with(keys))?.code(), 50);
    }
    Ok(())
}

/// As far as an ADD would fail: a pod is asked for first.
#[test]
fn status_tells_that_the_api_server_cannot_be_reached() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("status", &[])?;
    let status = |config: &Value| status(&world, &pod, config);
    // Its server has ended, and nobody else has its port as fast.
    let gone = weir_kit::ApiServer::start()?.kubeconfig();
    let file = world.node.root().join("etc/gone.kubeconfig");
    fs::write(&file, gone)?;
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let away = world.config_with(json!({ "kubeconfig": "/etc/gone.kubeconfig" }));
    assert_eq!(status(&away)?.code(), 50);
    let before = std::time::Instant::now();
    assert!(status(&world.config())?.succeeded());
    // An answer counts for a while, and an ADD asks for itself.
    assert!(status(&world.config())?.succeeded());
    assert!(before.elapsed() < std::time::Duration::from_secs(20));
    Ok(())
}

#[test]
fn a_damaged_record_keeps_no_pod_from_being_deleted() -> Result<()> {
    let world = World::create()?;
    let pod = world.plain("damaged")?;
    fs::write(&world.records()[0], "{\"version\": 1, \"attach")?;
    world.del(&pod)?;
    assert!(
        world.node.taken("default-net").is_empty(),
        "the default network was detached"
    );
    let left = world.records();
    assert!(
        left.len() == 1 && left[0].extension().is_some_and(|e| e == "damaged"),
        "{left:?}"
    );
    assert!(world.log().iter().any(|line| line["level"] == "error"));
    Ok(())
}

#[test]
fn a_record_of_another_version_is_refused() -> Result<()> {
    let world = World::create()?;
    let pod = world.plain("newer")?;
    let path = world.records()[0].clone();
    let text = fs::read_to_string(&path)?;
    fs::write(&path, text.replace("\"version\":2", "\"version\":3"))?;
    assert_eq!(world.run("DEL", &pod)?.code(), 236);
    fs::write(&path, text)?;
    world.del(&pod)
}

/// Property: no DEL runs what someone other than root can have written: the record says what, and as which network.
#[test]
fn a_record_that_others_can_write_is_refused() -> Result<()> {
    let world = World::create()?;
    let pod = world.plain("exposed")?;
    let path = world.records()[0].clone();
    let directory = path.parent().expect("a directory").to_owned();
    for exposed in [path, directory] {
        let mode = fs::metadata(&exposed)?.permissions();
        fs::set_permissions(&exposed, Permissions::from_mode(0o777))?;
        let known = world.node.audit().len();
        let error = world.run("DEL", &pod)?.refused(236, &[]);
        let remedy = format!("chmod go-w {}", exposed.display());
        assert_contains(&error["details"].to_string(), &[&remedy]);
        assert_eq!(world.node.audit().len(), known, "nothing has run");
        fs::set_permissions(&exposed, mode)?;
    }
    world.del(&pod)
}

#[test]
fn npwg_4_2_1_every_command_has_the_same_tuple() -> Result<()> {
    let world = World::with_bridge("tuple", "10.44.7.0/24")?;
    let pod = world.attached("tuple", "tuple,tuple")?;
    assert!(world.run("CHECK", &pod)?.succeeded());
    world.del(&pod)?;
    let mut tuples: BTreeMap<String, Vec<(Value, Value, Value)>> = BTreeMap::new();
    for record in world.node.audit() {
        let command = record["command"].as_str().unwrap_or_default().to_owned();
        let tuple = (
            record["container_id"].clone(),
            record["network"].clone(),
            record["ifname"].clone(),
        );
        let seen = tuples.entry(command).or_default();
        if !seen.contains(&tuple) {
            seen.push(tuple);
        }
    }
    let mut deleted = tuples["DEL"].clone();
    deleted.reverse();
    assert_eq!(tuples["ADD"], deleted);
    assert_eq!(tuples["ADD"].len(), 3);
    Ok(())
}
