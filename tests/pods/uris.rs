//! A tenant names a plugin by a URI: an error, and no request leaves the node.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Web, component};

use crate::world::{World, bridge, list};

/// A node whose owner has fetched `labels` from a server, and the URI of it.
fn fetched() -> Result<(World, Web, String)> {
    let world = World::create()?;
    let web = Web::on(&world.node)?;
    web.put("/labels.wasm", &fs::read(component("labels"))?);
    let uri = web.url("/labels.wasm");
    let own = list(
        "own",
        &[bridge("bown", "10.44.0.0/24"), json!({ "type": uri })],
    );
    world.node.put_network("50-own.conflist", &own)?;
    world.node.weir(&["net", "fetch", "own"])?;
    assert!(!web.requested_paths().is_empty());
    Ok((world, web, uri))
}

#[test]
fn a_definition_names_no_plugin_by_a_uri() -> Result<()> {
    let (world, web, known) = fetched()?;
    let unknown = web.url("/other.wasm");
    for (place, uri) in [
        &known,
        &unknown,
        "file:///etc/shadow",
        "https://u:hunter2@x.example/y",
    ]
    .into_iter()
    .enumerate()
    {
        let with = |plugin: Value| list("theirs", &[plugin]);
        let mut addressed = bridge("btheirs", "10.44.1.0/24");
        addressed["ipam"] = json!({ "type": uri });
        for (key, config) in [
            ("type", with(json!({ "type": uri }))),
            ("ipam.type", with(addressed)),
            ("type", json!({ "cniVersion": "1.1.0", "type": uri })),
        ] {
            let name = format!("theirs-{place}");
            world.define(&name, &config)?;
            let pod = world.pod(&name, &name)?;
            let error =
                world.refused(&pod, 205, &[&name, &format!("{key}: "), "a cluster object"])?;
            assert!(!error.to_string().contains("hunter2"), "{error:#}");
            // What was never attached can be detached.
            world.del(&pod)?;
            world.api.delete_definition(&world.namespace, &name)?;
            world.api.delete_pod(&world.namespace, &name)?;
        }
    }
    // Nor does the command, which reads the node's own files.
    world.node.weir(&["net", "fetch"])?;
    assert!(web.requested_paths().is_empty(), "no request left the node");
    Ok(())
}

/// Another delegating plugin calls weir with a tenant's text, which the caller does not say.
#[test]
fn a_plugin_that_another_delegating_plugin_calls_takes_no_uri_of_a_tenant() -> Result<()> {
    let (world, web, uri) = fetched()?;
    let multus =
        json!({ "cniVersion": "1.0.0", "name": "multus", "type": "multus", "delegates": [] });
    world.node.put_network("00-multus.conf", &multus)?;
    let mut theirs = bridge("btheirs", "10.44.1.0/24");
    theirs["ipam"] = json!({ "type": uri });
    theirs["name"] = json!("theirs");
    theirs["cniVersion"] = json!("1.1.0");
    let pod = world.pod_with("theirs", &[])?;
    let mut call = weir_kit::weir(&world.node, "bridge", "ADD", &pod.container, &theirs);
    call.set(
        "CNI_ARGS",
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b",
    );
    world
        .node
        .run(&call)?
        .refused(205, &["ipam.type", "a cluster object"]);
    assert!(web.requested_paths().is_empty());
    Ok(())
}

/// The file that an object without a configuration selects is the node's own.
#[test]
fn a_definition_selects_a_network_of_the_node_that_has_a_uri() -> Result<()> {
    let (world, web, uri) = fetched()?;
    let directory = "etc/cni/multus/net.d/60-later.conflist";
    let later = web.url("/later.wasm");
    let own = list(
        "later",
        &[bridge("blater", "10.44.2.0/24"), json!({ "type": later })],
    );
    world.node.write(directory, own.to_string())?;
    world.define_empty("later")?;
    let pod = world.pod("later", "later")?;
    let error = world.run("ADD", &pod)?;
    error.refused(204, &[&later, "`weir net fetch later`"]);
    world
        .node
        .write(directory, own.to_string().replace(&later, &uri))?;
    // It is fetched, and has no grant.
    world.run("ADD", &pod)?.refused(202, &["labels"]);
    assert!(web.requested_paths().is_empty());
    Ok(())
}
