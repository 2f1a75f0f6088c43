//! Which plugins a network of a namespace can use (section 7.4): those whose grant names it.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::world::{World, bridge, list, names, selection};

#[test]
fn npwg_7_4_a_network_uses_only_plugins_whose_grant_names_it() -> Result<()> {
    let world = World::with_bridge("tenant", "10.50.0.0/24")?;
    let pod = world.pod("tenant", "tenant")?;
    world.narrow_bridge(&["other-namespace/*", "default-net"])?;
    let named = format!("{}/tenant", world.namespace);
    world.refused(&pod, 202, &[&named])?;
    world.narrow_bridge(&[&format!("{}/*", world.namespace), "default-net"])?;
    world.add(&pod);
    world.del(&pod)
}

/// Whoever may write a definition chooses the name in it, and must gain nothing by that.
#[test]
fn npwg_7_4_a_name_in_a_configuration_widens_nothing() -> Result<()> {
    let world = World::create()?;
    world.define_as("liar", "default-net", bridge("bliar", "10.50.1.0/24"))?;
    let pod = world.pod("liar", "liar")?;
    world.narrow_bridge(&["nobody/*", "default-net"])?;
    assert_eq!(world.run("ADD", &pod)?.code(), 202);
    Ok(())
}

#[test]
fn npwg_7_4_namespace_isolation_fails_the_pod() -> Result<()> {
    let world = World::create()?;
    let other = format!("{}-other", world.namespace);
    let config = list("theirs", &[bridge("btheirs", "10.50.2.0/24")]).to_string();
    world
        .api
        .create_definition(&other, "theirs", Some(&config), &[])?;
    let pod = world.pod("isolated", &format!("{other}/theirs"))?;
    let isolated = world.config_with(json!({ "namespaceIsolation": true }));
    assert_eq!(world.run_with("ADD", &pod, &isolated)?.code(), 233);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());

    let global = world.config_with(
        json!({ "namespaceIsolation": true, "globalNamespaces": format!("x,{other}") }),
    );
    world.run_with("ADD", &pod, &global)?.result();
    assert_eq!(names(&pod.container)?, ["eth0", "net1"]);
    world.del(&pod)?;
    world.run("ADD", &pod)?.result();
    world.del(&pod)
}

#[test]
fn the_audit_log_names_the_definition() -> Result<()> {
    let world = World::with_bridge("logged", "10.50.3.0/24")?;
    let pod = world.attached("logged", "logged")?;
    world.del(&pod)?;
    let audit = world.node.audit();
    let named = json!(format!("{}/logged", world.namespace));
    assert!(
        audit
            .iter()
            .any(|record| record["definition"] == named && record["network"] == "logged")
    );
    let of_default = |r: &&serde_json::Value| r["network"] == "default-net";
    assert!(
        audit
            .iter()
            .filter(of_default)
            .all(|record| record.get("definition").is_none())
    );
    Ok(())
}

/// Of the node's log, for the tenants' section as well.
#[test]
fn a_suggested_grant_runs_for_a_definition() -> Result<()> {
    let world = World::create()?;
    let portmap = json!({ "type": "portmap", "capabilities": { "portMappings": true } });
    let plugins = [bridge("bsuggest", "10.50.4.0/24"), portmap];
    world.define("suggested", &list("suggested", &plugins))?;
    let ports = json!([{ "hostPort": 18081, "containerPort": 80, "protocol": "udp" }]);
    let networks = selection("suggested", json!({ "portMappings": ports }));
    let attach = |name: &str| -> Result<()> {
        let pod = world.pod(name, &networks)?;
        for command in ["ADD", "DEL"] {
            let mut call = world.call(command, &pod, &world.config());
            let outcome = world.node.run(call.set("WEIR_AUDIT_READS", "0"))?;
            assert!(outcome.succeeded(), "{command} of {name}: {outcome:?}");
        }
        Ok(())
    };
    attach("first")?;
    let mut suggested = Vec::new();
    for plugin in ["bridge", "portmap", "host-local"] {
        let yaml = world.node.stdout(&["grants", "suggest", plugin], 0)?;
        assert!(yaml.starts_with("# Reads were not recorded"), "{yaml}");
        let file = world.node.write("suggested.yaml", &yaml)?;
        let file = file.to_str().context("a path is text")?;
        let difference = ["grants", "diff", plugin, file, "--output", "json"];
        let difference: Value = serde_json::from_str(&world.node.stdout(&difference, 4)?)?;
        assert_eq!(difference["possible"], json!([]), "{yaml}");
        suggested.push((plugin, yaml));
    }
    for (plugin, yaml) in suggested {
        world.node.put_grant(format!("{plugin}.yaml"), &yaml)?;
    }
    let before = world.node.audit().len();
    attach("second")?;
    let audit = world.node.audit();
    let mut again = audit[before..].iter();
    let denied = again.find(|record| record["verdict"] == "denied");
    assert_eq!(denied, None);
    Ok(())
}
