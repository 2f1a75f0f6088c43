//! A node whose `portmap` table has the set names of an earlier version: its containers are checked, detached and have
//! their ports moved to the present sets.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::flushed::{objects, without_elements};
use crate::side::{Side, Whose, with_previous};

/// What `nft list table inet weir_portmap` printed under the earlier version, with [`FIRST`] attached.
const FORMER: &str = include_str!("former/portmap.nft");

const FIRST: usize = 0;
const NEXT: usize = 1;

/// A network of which each container has a port of every address and one of a single address, next to those of the
/// container before.
fn config(container: usize) -> Value {
    let port = 8080 + 2 * container;
    json!({"cniVersion": "1.0.0", "name": "net", "plugins": [
        {
            "type": "bridge", "bridge": "br", "isGateway": true,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]},
        },
        {"type": "portmap", "runtimeConfig": {"portMappings": [
            {"hostPort": port, "containerPort": 80, "protocol": "tcp"},
            {"hostPort": port + 1, "containerPort": 80, "protocol": "tcp", "hostIP": "192.0.2.1"},
        ]}},
    ]})
}

fn attach(side: &Side, container: usize) -> Result<Value> {
    let config = config(container);
    let result = side.call("ADD", container, &config, None)?.result();
    Ok(with_previous(&config, Some(&result)))
}

/// A node with the first container attached, whose table is that of the earlier version.
fn upgraded() -> Result<(Side, Value)> {
    let side = Side::create(Whose::Weir, 2)?;
    let first = attach(&side, FIRST)?;
    let path = side.node.root().join("former.nft");
    fs::write(&path, FORMER)?;
    side.node.tool("nft", "delete table inet weir_portmap")?;
    side.node.tool("nft", &format!("-f {}", path.display()))?;
    Ok((side, first))
}

fn succeeds(side: &Side, command: &str, container: usize, config: &Value) -> Result<()> {
    let called = side.call(command, container, config, None)?;
    ensure!(called.succeeded(), "{command}: {called:?}");
    Ok(())
}

/// How many elements the sets have whose comments name the container.
fn elements(side: &Side, container: usize) -> Result<usize> {
    let comment = format!("net {} eth0", side.containers[container].id);
    let objects = objects(side)?;
    Ok(objects
        .iter()
        .map(|(_, object)| object["elem"].to_string().matches(&comment).count())
        .sum())
}

#[test]
fn a_container_from_before_is_checked_and_detached() -> Result<()> {
    let (side, first) = upgraded()?;
    succeeds(&side, "CHECK", FIRST, &first)?;
    side.node.tool(
        "nft",
        "delete element inet weir_portmap at4 { 192.0.2.1 . tcp . 8081 }",
    )?;
    let checked = side.call("CHECK", FIRST, &first, None)?;
    ensure!(checked.code() == 106, "{checked:?}");
    succeeds(&side, "DEL", FIRST, &first)?;
    ensure!(elements(&side, FIRST)? == 0);
    Ok(())
}

#[test]
fn the_next_add_moves_elements_and_removes_former_sets() -> Result<()> {
    let fresh = Side::create(Whose::Weir, 2)?;
    attach(&fresh, FIRST)?;
    attach(&fresh, NEXT)?;
    let (side, first) = upgraded()?;
    let mapped = elements(&side, FIRST)?;
    let next = attach(&side, NEXT)?;
    let (expected, found) = (without_elements(&fresh)?, without_elements(&side)?);
    let names = |tables: &std::collections::BTreeMap<String, Vec<Value>>| {
        let of_portmap = tables.keys().filter(|key| key.contains("weir_portmap"));
        of_portmap.cloned().collect::<Vec<_>>()
    };
    ensure!(
        names(&expected) == names(&found),
        "expected {expected:#?}, found {found:#?}"
    );
    ensure!(elements(&side, FIRST)? == mapped && mapped == 6);
    succeeds(&side, "CHECK", FIRST, &first)?;
    succeeds(&side, "CHECK", NEXT, &next)?;
    succeeds(&side, "DEL", FIRST, &first)?;
    ensure!(elements(&side, FIRST)? == 0 && elements(&side, NEXT)? == 6);
    Ok(())
}

/// As without a change of names, the container that comes last has the port.
#[test]
fn a_port_is_taken_from_a_container_from_before() -> Result<()> {
    let (side, first) = upgraded()?;
    let mut taking = config(NEXT);
    taking["plugins"][1]["runtimeConfig"]["portMappings"][1]["hostPort"] = json!(8081);
    succeeds(&side, "ADD", NEXT, &taking)?;
    let listed = side
        .node
        .tool("nft", "list map inet weir_portmap hostip4")?;
    ensure!(
        listed.contains("192.0.2.1 . tcp . 8081 comment \"net differential-2 eth0\""),
        "{listed}"
    );
    let checked = side.call("CHECK", FIRST, &first, None)?;
    ensure!(checked.code() == 106, "{checked:?}");
    Ok(())
}
