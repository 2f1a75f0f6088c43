//! Links that are not the plugin's: renamed, moved, enslaved, stood upon, and swapped for others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Result;
use serde_json::json;

use super::puppet::Puppet;

/// A host with a card `nic0` and a bridge `cni0` that are somebody else's.
pub(super) fn puppet(capabilities: &str) -> Result<Puppet> {
    Puppet::among(
        capabilities,
        &[
            "link add nic0 type veth peer name nic1",
            "link add cni0 type bridge",
        ],
    )
}

/// Property: a rename needs a rule for both names, so that no link is smuggled out of a grant or into
/// one.
#[test]
fn a_granted_link_is_not_renamed_into_a_protected_name_and_back() -> Result<()> {
    let puppet = puppet(r#"{ link: [ { namespace: host, names: ["own*"] } ] }"#)?;
    let own = json!({ "do": "link.create", "name": "own0", "other": "own1" });
    puppet.assert_each(vec![own], "ok")?;
    puppet.assert_denied(vec![
        json!({ "do": "link.update", "link": "own0", "newName": "eth9" }),
        json!({ "do": "link.update", "link": "eth9", "newName": "own0" }),
        json!({ "do": "link.update", "link": "nic0", "newName": "own7" }),
    ])?;
    let over = json!({ "do": "link.update", "link": "own0", "newName": "own1" });
    puppet.assert_each(vec![over], "exists").map(drop)
}

/// Property: what was judged is what is acted on. Another process gives the name to a bridge and to a
/// veth in turn, while the plugin, which may only change veths, writes to whatever has the name.
#[test]
fn a_link_that_changes_kind_is_judged_as_what_it_is() -> Result<()> {
    let grant = "{ link: [ { namespace: host, kinds: [veth], names: [swap0] } ] }";
    let puppet = puppet(grant)?;
    let node = &puppet.fixture.node;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let swapper = scope.spawn(|| -> Result<u32> {
            let mut swaps = 0;
            while !over.load(Ordering::Relaxed) {
                node.ip("link add swap0 type bridge")?;
                let bridge = node.ip("link show swap0")?;
                assert!(!bridge.contains("alias"), "it wrote to a bridge: {bridge}");
                node.ip("link delete swap0")?;
                node.ip("link add swap0 type veth peer name swap1")?;
                node.ip("link delete swap0")?;
                swaps += 1;
            }
            Ok(swaps)
        });
        let attempt =
            json!({ "do": "link.update", "link": "swap0", "alias": "mine", "times": 3000 });
        let acted = puppet.act(vec![attempt]);
        over.store(true, Ordering::Relaxed);
        assert!(swapper.join().expect("the other process")? > 0);
        let times: u64 = acted?.iter().map(|answer| answer.times).sum();
        assert_eq!(times, 3000);
        anyhow::Ok(())
    })?;
    for record in puppet.fixture.records("link.update") {
        let kind = &record["arguments"]["link"]["kind"];
        let expected = match kind.as_str() {
            // Its alias is not a plugin's to set.
            Some("veth") => "refused",
            // There was none at that moment.
            Some("") => "allowed",
            _ => "denied",
        };
        assert_eq!(record["verdict"], expected, "{record:#}");
    }
    Ok(())
}

/// Property: of several links that are to go in one step none goes where one of them is somebody else's, and what
/// may go leaves no trace but its records.
#[test]
fn of_links_that_go_together_each_is_judged() -> Result<()> {
    let puppet = puppet(r#"{ link: [ { namespace: host, names: ["own*"] } ] }"#)?;
    let create = |name: &str| json!({ "do": "link.create", "kind": "bridge", "name": name });
    puppet.assert_each(vec![create("own0"), create("own1")], "ok")?;
    let together =
        |link: &str, other: &str| json!({ "do": "link.delete-all", "link": link, "other": other });
    puppet.assert_denied(vec![together("own0", "nic0"), together("cni0", "own1")])?;

    let deleted = vec![together("own0", "own1"), together("own0", "own1")];
    puppet.assert_each(deleted, "ok")?;
    let left = puppet.fixture.node.ip("link")?;
    assert!(!left.contains("own") && left.contains("nic0"), "{left}");
    let records = puppet.fixture.records("link.delete");
    let done = records.iter().filter(|record| record["answer"] == "ok");
    let names: Vec<_> = done
        .map(|record| record["arguments"]["link"]["name"].clone())
        .collect();
    assert_eq!(names, ["own0", "own1"]);
    Ok(())
}

/// Property: what goes together is bounded in one call, and counted over all of them.
#[test]
fn links_that_go_together_are_counted() -> Result<()> {
    let capabilities = r#"{ link: [ { namespace: host, names: ["own*"] } ] }"#;
    let puppet = Puppet::limited(capabilities, "{ calls: 500 }")?;
    let absent = |many: usize| json!({ "do": "link.delete-all", "link": "own0", "many": many });
    puppet.assert_each(vec![absent(257)], "invalid")?;
    puppet.assert_each(vec![absent(256)], "ok")?;
    let outcome = puppet.run(vec![absent(256), absent(256)], "")?;
    let limit = "made more calls of host functions than `limits.calls: 500`";
    puppet.fixture.assert_ended(&outcome, 213, &[limit]);
    Ok(())
}

/// Property: each end of a pair needs a rule in the namespace that gets it.
#[test]
fn a_veth_has_no_end_where_none_is_granted() -> Result<()> {
    let puppet = puppet("{ link: [ { namespace: container, kinds: [veth] } ] }")?;
    puppet.assert_denied(vec![
        json!({ "do": "link.create", "inside": true, "name": "in0", "other": "out0" }),
        json!({ "do": "link.create", "inside": true, "name": "in0", "other": "" }),
        json!({ "do": "link.create", "name": "out0", "other": "in0", "otherInside": true }),
        json!({ "do": "link.create", "name": "out0", "other": "out1" }),
    ])?;
    // Where both are granted there is one.
    let inside = json!({
        "do": "link.create", "inside": true, "name": "in0", "other": "in1", "otherInside": true,
    });
    puppet.assert_each(vec![inside], "ok")?;
    let there = json!({ "do": "link.move", "inside": true, "link": "in0" });
    puppet.assert_denied(vec![there]).map(drop)
}

/// Property: a card of the host stays there: to move it needs a rule where it leaves, and one where it
/// comes.
#[test]
fn a_card_of_the_host_is_not_moved_into_the_container() -> Result<()> {
    let to_container = json!({ "do": "link.move", "link": "nic0", "otherInside": true });
    for grant in [
        "{ link: [ { namespace: container }, { namespace: host, kinds: [bridge] } ] }",
        "{ link: [ { namespace: host } ] }",
        "{ link: [ { namespace: host }, { namespace: container, verbs: [read, update, delete] } ] }",
        r#"{ link: [ { namespace: host }, { namespace: container, names: ["{ifname}"] } ] }"#,
    ] {
        puppet(grant)?.assert_denied(vec![to_container.clone()])?;
    }
    Ok(())
}

/// Property: a port needs a rule for itself and for its master, whichever of the two is the plugin's.
#[test]
fn neither_card_nor_bridge_of_the_host_is_tied_to_ones_own() -> Result<()> {
    let puppet = puppet(r#"{ link: [ { namespace: host, names: ["own*"] } ] }"#)?;
    let own = vec![
        json!({ "do": "link.create", "kind": "bridge", "name": "own0" }),
        json!({ "do": "link.create", "name": "own1", "other": "own2" }),
    ];
    puppet.assert_each(own, "ok")?;
    puppet.assert_denied(vec![
        json!({ "do": "link.update", "link": "nic0", "master": "own0" }),
        json!({ "do": "link.update", "link": "own1", "master": "cni0" }),
        json!({ "do": "link.create", "name": "own3", "other": "own4", "master": "cni0" }),
        json!({ "do": "link.create", "name": "own3", "other": "own4", "master": "nic0" }),
    ])?;
    let both = json!({ "do": "link.update", "link": "own1", "master": "own0" });
    puppet.assert_each(vec![both], "ok").map(drop)
}

/// Property: a link on top of another one needs a rule for that one, in the namespace where it is.
#[test]
fn a_new_link_does_not_stand_on_a_card_of_the_host() -> Result<()> {
    let grant = r#"{ link: [
        { namespace: host, names: ["own*"] }, { namespace: container } ] }"#;
    let puppet = puppet(grant)?;
    let kinds = ["macvlan", "ipvlan", "vlan"];
    let places = [false, true];
    let orders = kinds.iter().flat_map(|kind| {
        places.map(|inside| {
            json!({ "do": "link.create", "kind": kind, "inside": inside, "name": "own0", "other": "nic0" })
        })
    });
    puppet.assert_denied(orders.collect()).map(drop)
}
