//! Section 3: execution of network configurations.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use weir_kit::{assert_contains, failure};

use super::*;

// Lifecycle and ordering.

#[test]
fn cni_3_1_different_containers_are_attached_in_parallel() -> Result<()> {
    let network = Network::of(&[bridge(json!([[{ "subnet": "10.61.1.0/24" }]]))])?;
    let containers: Vec<Container> = (0..6)
        .map(|_| network.node.container())
        .collect::<Result<_>>()?;
    let results: Vec<Result<String>> = thread::scope(|scope| {
        let network = &network;
        let add = |container| scope.spawn(move || network.run_for("add", container, &[]));
        let threads: Vec<_> = containers.iter().map(add).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    });
    let mut addresses = BTreeSet::new();
    for result in results {
        let result: Value = serde_json::from_str(&result?)?;
        addresses.insert(result["ips"][0]["address"].to_string());
    }
    assert_eq!(addresses.len(), containers.len(), "{addresses:?}");
    for container in &containers {
        network.run_for("del", container, &[])?;
    }
    assert!(network.node.taken(NETWORK).is_empty());
    Ok(())
}

#[test]
fn cni_3_1_a_delete_follows_an_add_that_failed() -> Result<()> {
    let ranges = json!([[{ "subnet": "10.61.2.0/24" }]]);
    let network = Network::of(&[bridge(ranges), failing("b", "ADD")])?;
    failure(network.run("add"))?;
    network.run("del")?;
    assert!(network.node.taken(NETWORK).is_empty());
    assert_eq!(network.run_on("DEL"), ["b"], "it was run for the delete");
    Ok(())
}

#[test]
fn cni_3_1_a_delete_may_be_followed_by_others() -> Result<()> {
    let network = Network::of(&[bridge(json!([[{ "subnet": "10.61.3.0/24" }]]))])?;
    network.add()?;
    for _ in 0..3 {
        network.run("del")?;
    }
    Ok(())
}

#[test]
fn cni_3_1_what_was_added_is_deleted_with_the_same_configuration() -> Result<()> {
    let network = Network::of(&[plugin("before")])?;
    network.add()?;
    network.write(json!({ "plugins": [plugin("after"), plugin("more")] }))?;
    network.run("check")?;
    network.run("del")?;
    assert_eq!(network.run_on("CHECK"), ["before"]);
    assert_eq!(network.run_on("DEL"), ["before"]);
    Ok(())
}

/// What libcni's cache has decides what a DEL runs: not what somebody else can have written.
#[test]
fn a_cached_result_that_others_can_write_is_not_used() -> Result<()> {
    let network = Network::of(&[plugin("own")])?;
    network.add()?;
    let results = network.node.root().join("var/lib/cni/results");
    let file = results.join(format!("{NETWORK}-{}-eth0", network.container.id));
    let mut cached: Value = serde_json::from_slice(&fs::read(&file)?)?;
    let planted = json!({ "cniVersion": "1.1.0", "name": NETWORK, "plugins": [plugin("planted")] });
    cached["config"] = json!(BASE64_STANDARD.encode(planted.to_string()));
    fs::write(&file, cached.to_string())?;
    for exposed in [&results, &file] {
        let mode = fs::metadata(exposed)?.permissions();
        fs::set_permissions(exposed, Permissions::from_mode(0o777))?;
        let remedy = format!("chmod go-w {}", exposed.display());
        for said in [failure(network.run("check"))?, failure(network.gc())?] {
            assert_contains(&said, &["is not trusted", &remedy]);
        }
        fs::set_permissions(exposed, mode)?;
    }
    fs::set_permissions(&file, Permissions::from_mode(0o666))?;
    network.run("del")?;
    assert_eq!(network.run_on("DEL"), ["own"]);
    assert!(network.run_on("CHECK").is_empty());
    let log = network.node.log()?;
    assert!(log.contains("is not trusted"), "{log}");
    assert!(!file.exists(), "it is done");
    Ok(())
}

// Attachment parameters.

#[test]
fn cni_3_2_plugins_are_told_the_parameters_of_the_attachment() -> Result<()> {
    let telling = json!({
        "type": PLUGIN, "mark": "a", "orders": [{ "do": "input.parameters" }]
    });
    let network = Network::of(&[telling.clone(), telling])?;
    let words = ["--ifname", "data7", "--args", "IgnoreUnknown=1;A=b"];
    for command in ["add", "check", "del"] {
        network.run_with(command, &words)?;
    }
    let expected = json!({
        "containerId": network.container.id,
        "ifname": "data7",
        "network": NETWORK,
        "args": [["IgnoreUnknown", "1"], ["A", "b"]],
        "sandbox": network.container.netns(),
        "hasContainer": true,
    });
    for command in ["ADD", "CHECK", "DEL"] {
        let told = network.answers(command, "input.parameters");
        assert_eq!(told.len(), 2, "{command}");
        for told in told {
            let told: Value = serde_json::from_str(&told)?;
            assert_eq!(told, expected, "{command}");
        }
    }
    Ok(())
}

#[test]
fn cni_3_2_parameters_that_are_none_are_refused() -> Result<()> {
    let network = Network::of(&[plugin("a")])?;
    let netns = network.container.netns();
    let netns = netns.to_str().context("text")?;
    for (words, expected) in [
        (["--container-id", "../x"], "CNI_CONTAINERID"),
        (["--container-id", ""], "CNI_CONTAINERID"),
        (["--container-id", "a/b"], "CNI_CONTAINERID"),
        (["--ifname", "a/b"], "CNI_IFNAME"),
        (["--ifname", "sixteen-letters-"], "CNI_IFNAME"),
        (["--args", "no pair"], "CNI_ARGS"),
    ] {
        let own = ["net", "add", NETWORK, netns];
        let error = failure(network.node.weir(&[&own[..], &words].concat()))?;
        assert!(error.contains(expected), "{words:?}: {error}");
    }
    assert!(network.said().is_empty(), "no plugin was run");
    Ok(())
}

// Adding an attachment.

#[test]
fn cni_3_3_plugins_run_in_order_with_the_result_of_the_one_before() -> Result<()> {
    let network = Network::of(&[plugin("a"), plugin("b"), plugin("c")])?;
    let result = network.add()?;
    assert_eq!(network.run_on("ADD"), ["a", "b", "c"]);
    assert_eq!(
        network.answers("ADD", "input.previous"),
        ["none", "a", "a b"]
    );
    assert_eq!(result["dns"]["search"], json!(["a", "b", "c"]));
    Ok(())
}

#[test]
fn cni_3_3_a_plugin_that_does_not_exist_is_an_error() -> Result<()> {
    let network = Network::of(&[plugin("a"), json!({ "type": "nowhere" })])?;
    let error = failure(network.add())?;
    assert!(error.contains("CNI error 200"), "{error}");
    assert!(error.contains("`nowhere`"), "{error}");
    Ok(())
}

#[test]
fn cni_3_3_an_error_halts_the_execution_and_is_returned() -> Result<()> {
    let network = Network::of(&[plugin("a"), failing("b", "ADD"), plugin("c")])?;
    let error = failure(network.add())?;
    assert!(error.contains("b is broken"), "{error}");
    assert_eq!(network.run_on("ADD"), ["a", "b"]);
    Ok(())
}

#[test]
fn cni_3_3_the_final_result_is_stored() -> Result<()> {
    let network = Network::of(&[plugin("a"), plugin("b")])?;
    let result = network.add()?;
    let name = format!("{NETWORK}-{}-eth0", network.container.id);
    let file = network.node.root().join("var/lib/cni/results").join(name);
    let stored: Value = serde_json::from_slice(&fs::read(&file)?)?;
    assert_eq!(stored["result"], result);
    network.run("del")?;
    assert!(!file.exists());
    Ok(())
}

// Deleting an attachment.

#[test]
fn cni_3_4_plugins_run_in_reverse_order() -> Result<()> {
    assert_eq!(Network::attached()?.then("del")?, ["c", "b", "a"]);
    Ok(())
}

#[test]
fn cni_3_4_each_plugin_has_the_final_result_of_the_add() -> Result<()> {
    let network = Network::of(&[plugin("a"), plugin("b")])?;
    network.add()?;
    network.run("del")?;
    assert_eq!(network.answers("DEL", "input.previous"), ["a b", "a b"]);
    Ok(())
}

#[test]
fn cni_3_4_an_error_is_returned() -> Result<()> {
    Network::broken("del").map(drop)
}

#[test]
fn cni_3_4_a_plugin_that_does_not_exist_is_an_error() -> Result<()> {
    let network = Network::of(&[json!({ "type": "nowhere" })])?;
    let error = failure(network.run("del"))?;
    assert!(error.contains("`nowhere`"), "{error}");
    Ok(())
}

// Checking an attachment.

#[test]
fn cni_3_5_plugins_run_in_order_with_the_final_result_of_the_add() -> Result<()> {
    let network = Network::attached()?;
    network.run("check")?;
    assert_eq!(network.run_on("CHECK"), ["a", "b", "c"]);
    assert_eq!(network.answers("CHECK", "input.previous"), ["a b c"; 3]);
    Ok(())
}

#[test]
fn cni_3_5_an_error_halts_the_execution_and_is_returned() -> Result<()> {
    let network = Network::broken("check")?;
    assert_eq!(network.run_on("CHECK"), ["a", "b"]);
    Ok(())
}

#[test]
fn cni_3_5_with_disable_check_success_is_returned() -> Result<()> {
    let network = Network::with(json!({
        "disableCheck": true, "plugins": [failing("a", "CHECK")]
    }))?;
    network.add()?;
    network.run("check")?;
    assert!(network.run_on("CHECK").is_empty(), "no plugin was run");
    Ok(())
}

#[test]
fn cni_3_5_what_was_not_added_is_not_checked() -> Result<()> {
    let network = Network::of(&[plugin("a")])?;
    let before = failure(network.run("check"))?;
    network.add()?;
    network.run("del")?;
    let after = failure(network.run("check"))?;
    for error in [before, after] {
        assert!(error.contains("CNI error 3"), "{error}");
    }
    assert!(network.run_on("CHECK").is_empty());
    Ok(())
}

// Deriving execution configuration from plugin configuration.

#[test]
fn cni_3_6_name_and_version_are_inserted_and_other_fields_pass_unaltered() -> Result<()> {
    let mut own = plugin("a");
    own["own"] = json!({ "deep": [1, null, { "a": "ä" }] });
    own["name"] = json!("not the network's");
    own["cniVersion"] = json!("0.1.0");
    own["capabilities"] = json!({ "mac": true });
    own["prevResult"] = json!({ "dns": { "search": ["forged"] } });
    let network = Network::of(&[own])?;
    network.add()?;
    assert_eq!(
        network.configs("ADD"),
        [json!({
            "cniVersion": "1.1.0", "name": NETWORK, "type": PLUGIN, "mark": "a",
            "own": { "deep": [1, null, { "a": "ä" }] },
        })]
    );
    assert_eq!(network.answers("ADD", "input.previous"), ["none"]);
    Ok(())
}

#[test]
fn cni_3_6_1_runtime_config_has_what_is_declared_and_provided() -> Result<()> {
    let with = |mark: &str, capabilities: Value| {
        let mut plugin = plugin(mark);
        plugin["capabilities"] = capabilities;
        plugin
    };
    let network = Network::of(&[
        with("a", json!({ "portMappings": true, "mac": false })),
        with("b", json!({ "mac": true, "bandwidth": true })),
        plugin("c"),
    ])?;
    let provided = json!({
        "mac": "02:00:00:00:00:01",
        "portMappings": [{ "hostPort": 8080, "containerPort": 80, "protocol": "tcp" }],
        "aliases": ["x"],
    });
    network.run_with("add", &["--capability-args", &provided.to_string()])?;
    let configs = network.configs("ADD");
    assert_eq!(
        configs[0]["runtimeConfig"],
        json!({ "portMappings": provided["portMappings"] })
    );
    assert_eq!(
        configs[1]["runtimeConfig"],
        json!({ "mac": provided["mac"] })
    );
    assert_eq!(configs[2].get("runtimeConfig"), None);
    Ok(())
}

// Garbage-collecting a network (1.1.0).

#[test]
fn cni_3_7_what_is_not_valid_is_deleted_and_plugins_collect_the_rest() -> Result<()> {
    let mut telling = plugin("a");
    telling["orders"] = json!([{ "do": "input.config" }, { "do": "input.parameters" }]);
    let network = Network::of(&[telling])?;
    network.add()?;
    let stale = network.node.container()?;
    network.run_for("add", &stale, &[])?;
    let valid = format!("{}/eth0", network.container.id);
    network
        .node
        .weir(&["net", "gc", NETWORK, "--keep", &valid])?;
    let deleted = network.answers("DEL", "input.parameters");
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    assert!(deleted[0].contains(&stale.id), "{deleted:?}");
    assert_eq!(network.answers("GC", "input.parameters"), [valid]);
    network.run("check").map(drop)
}

#[test]
fn cni_3_7_with_disable_gc_nothing_is_collected() -> Result<()> {
    let network = Network::with(json!({ "disableGC": true, "plugins": [plugin("a")] }))?;
    network.add()?;
    network.node.weir(&["net", "gc", NETWORK])?;
    assert!(network.run_on("GC").is_empty() && network.run_on("DEL").is_empty());
    Ok(())
}

#[test]
fn cni_3_7_before_1_1_0_plugins_have_no_gc() -> Result<()> {
    let network = Network::with(json!({ "cniVersion": "1.0.0", "plugins": [plugin("a")] }))?;
    network.add()?;
    network.node.weir(&["net", "gc", NETWORK])?;
    assert_eq!(network.run_on("DEL"), ["a"]);
    assert!(network.run_on("GC").is_empty());
    Ok(())
}
