//! What stays: nothing of an attachment after DEL, nothing of an ADD that fails, everything of others.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Outcome, weir};

use super::{
    Attached, alone, bandwidth, both_directions, bridge, must_succeed, nothing_is_shaped, traffic,
};
use crate::side::{Side, Whose};

use Whose::{Reference, Weir};

fn for_some() -> Value {
    let mut keys = both_directions();
    keys["unshapedSubnets"] = json!(["10.2.0.0/16"]);
    keys
}

/// A kind of DEL: with the previous result or not, and with the namespace or not.
fn del(attached: &Attached, has_result: bool, has_namespace: bool) -> Result<()> {
    let config = bandwidth(&attached.keys, has_result.then_some(&attached.result));
    let mut call = attached.weir("DEL", &config);
    if !has_namespace {
        call.unset("CNI_NETNS");
    }
    must_succeed(&attached.node().run(&call)?)
}

/// Shapes an interface. Returns what was there before.
fn add(attached: &mut Attached) -> Result<Value> {
    let before = attached.traffic()?;
    attached.result = attached.call("ADD")?.result();
    Ok(before)
}

/// DEL of this plugin alone, which comes before that of `bridge`.
#[test]
fn del_leaves_the_port_as_bridge_made_it() -> Result<()> {
    for keys in [both_directions(), for_some()] {
        for (has_result, has_namespace) in [(true, true), (false, true), (true, false)] {
            let mut attached = Attached::to_bridge(Weir, keys.clone())?;
            let before = add(&mut attached)?;
            ensure!(attached.traffic()? != before, "nothing was shaped");
            for _ in 0..2 {
                del(&attached, has_result, has_namespace)?;
                assert_eq!(attached.traffic()?, before, "{has_result} {has_namespace}");
            }
        }
    }
    Ok(())
}

/// Nobody tells the host's end; what shapes it goes with it.
#[test]
fn del_without_anything_removes_the_ifb() -> Result<()> {
    let attached = Attached::create(Weir, both_directions())?;
    del(&attached, false, false)?;
    assert_eq!(attached.traffic()?["ifbs"], json!([]));
    attached.side.containers[0].ip("link delete eth0")?;
    for has_namespace in [true, false] {
        del(&attached, true, has_namespace)?;
    }
    assert_eq!(traffic(attached.node(), &[])?["filters"], json!([]));
    Ok(())
}

/// What somebody has removed already.
#[test]
fn del_of_the_rest() -> Result<()> {
    for gone in [
        "ip link delete {ifb}",
        "tc qdisc delete dev {port} ingress",
        "tc filter delete dev {port} ingress",
        "tc qdisc delete dev {port} root",
        "ip link delete {port}",
    ] {
        let mut attached = Attached::to_bridge(Weir, both_directions())?;
        let before = add(&mut attached)?;
        attached.tool(gone)?;
        must_succeed(&attached.call("DEL")?)?;
        let after = attached.traffic()?;
        if gone.contains("link delete {port}") {
            assert_eq!(after["ifbs"], json!([]))
        } else {
            assert_eq!(after, before, "{gone}")
        }
    }
    Ok(())
}

/// Disciplines that an administrator has put on the port.
#[test]
fn del_leaves_what_is_somebody_elses() -> Result<()> {
    let ingress = json!({"ingressRate": 8_000_000, "ingressBurst": 800_000});
    let egress = json!({"egressRate": 8_000_000, "egressBurst": 800_000});
    let theirs_of_ingress: &[&str] = &[
        "ip link add theirs type ifb",
        "tc qdisc add dev {port} ingress",
        "tc filter add dev {port} parent ffff: protocol all prio 5 u32 match u32 0 0 \
            action mirred egress redirect dev theirs",
    ];
    let theirs_of_root: &[&str] =
        &["tc qdisc add dev {port} root handle 5: tbf rate 1mbit burst 10000 latency 25ms"];
    for (keys, theirs) in [(ingress, theirs_of_ingress), (egress, theirs_of_root)] {
        let mut attached = Attached::to_bridge(Weir, keys)?;
        for line in theirs {
            attached.tool(line)?;
        }
        let before = add(&mut attached)?;
        must_succeed(&attached.call("CHECK")?)?;
        must_succeed(&attached.call("DEL")?)?;
        assert_eq!(attached.traffic()?, before);
    }
    Ok(())
}

/// Something is in the way of the second or third step of ADD.
#[test]
fn add_that_fails_leaves_nothing() -> Result<()> {
    for in_the_way in [
        "tc qdisc add dev {port} ingress",
        "tc qdisc add dev {port} root handle 5: tbf rate 1mbit burst 10000 latency 25ms",
    ] {
        for keys in [both_directions(), for_some()] {
            let attached = Attached::to_bridge(Weir, keys)?;
            attached.tool(in_the_way)?;
            let before = attached.traffic()?;
            let failed = attached.call("ADD")?;
            assert_eq!(failed.code(), 102, "{in_the_way}: {failed:?}");
            assert_eq!(attached.traffic()?, before, "{in_the_way}");
        }
    }
    Ok(())
}

/// A second ADD without a DEL is refused, and the attachment is as it was.
#[test]
fn add_again_changes_nothing() -> Result<()> {
    let attached = Attached::create(Weir, both_directions())?;
    let before = attached.traffic()?;
    assert_eq!(attached.call("ADD")?.code(), 102);
    assert_eq!(attached.traffic()?, before);
    must_succeed(&attached.call("CHECK")?)
}

/// A container with two interfaces on one network: both are shaped, and each DEL is about its own.
#[test]
fn two_attachments_of_one_container() -> Result<()> {
    let side = Side::create(Weir, 1)?;
    let (node, container) = (&side.node, &side.containers[0]);
    let call = |plugin: &str, command: &str, ifname: &str, config: &Value| {
        let mut call = weir(node, plugin, command, container, config);
        call.set("CNI_IFNAME", ifname);
        node.run(&call)
    };
    let mut results = Vec::new();
    for ifname in ["eth0", "net1"] {
        let bridged = call("bridge", "ADD", ifname, &alone(bridge(), None))?.result();
        let config = bandwidth(&both_directions(), Some(&bridged));
        results.push((ifname, call("bandwidth", "ADD", ifname, &config)?.result()));
    }
    let ifbs = || Ok::<_, anyhow::Error>(traffic(node, &[])?["ifbs"].clone());
    let count = |ifbs: Value| ifbs.as_array().map(Vec::len);
    assert_eq!(count(ifbs()?), Some(2));
    // The first one last, so that its name is not free before.
    for (left, (ifname, result)) in results.iter().enumerate().rev() {
        let config = bandwidth(&both_directions(), Some(result));
        must_succeed(&call("bandwidth", "CHECK", ifname, &config)?)?;
        for _ in 0..2 {
            let without = bandwidth(&both_directions(), None);
            must_succeed(&call("bandwidth", "DEL", ifname, &without)?)?;
            assert_eq!(count(ifbs()?), Some(left));
        }
        for (ifname, result) in &results[..left] {
            let config = bandwidth(&both_directions(), Some(result));
            must_succeed(&call("bandwidth", "CHECK", ifname, &config)?)?;
        }
    }
    Ok(())
}

/// GC of a network, on whose node there are ifbs of an attachment that lives, of one that does not, of
/// another network, of the reference, and of an administrator.
#[test]
fn gc_removes_what_is_surely_of_a_dead_attachment() -> Result<()> {
    let side = Side::create(Weir, 3)?;
    let mut names = Vec::new();
    for (container, (whose, network)) in [(Weir, "net"), (Weir, "net"), (Weir, "other")]
        .into_iter()
        .enumerate()
    {
        names.push(attach(&side, whose, container, network)?);
    }
    side.node.ip("link add bwp000000000000 type ifb")?;
    side.node.ip("link add theirs type ifb alias theirs")?;
    let mut config = bandwidth(&both_directions(), None);
    config["cniVersion"] = json!("1.1.0");
    let id = &side.containers[0].id;
    config["cni.dev/valid-attachments"] = json!([{"containerID": id, "ifname": "eth0"}]);
    for _ in 0..2 {
        must_succeed(&side.call("GC", 0, &config, None)?)?;
        for (name, stays) in [
            (&*names[0], true),
            (&*names[1], false),
            (&*names[2], true),
            ("bwp000000000000", true),
            ("theirs", true),
        ] {
            let found = side.node.ip(&format!("link show dev {name}")).is_ok();
            assert_eq!(found, stays, "{name} of {names:?}");
        }
    }
    Ok(())
}

/// Attaches a container to a network by both plugins; the name of its ifb.
fn attach(side: &Side, whose: Whose, container: usize, network: &str) -> Result<String> {
    let on_network = |mut config: Value| {
        config["name"] = json!(network);
        config
    };
    let call = |config| side.call_of(whose, "ADD", container, &on_network(config), None);
    let bridged = call(alone(bridge(), None))?.result();
    let result = call(bandwidth(&both_directions(), Some(&bridged)))?.result();
    let name = result["interfaces"][3]["name"].as_str();
    Ok(name.context("the ifb")?.to_owned())
}

/// A node changes sides while a container runs.
fn hand_over(from: Whose, to: Whose, has_result: bool) -> Result<()> {
    let attached = Attached::create(from, both_directions())?;
    must_succeed(&attached.call_of(to, "CHECK")?)?;
    let previous = has_result.then_some(&attached.result);
    let call = |plugin: Value| -> Result<Outcome> {
        attached
            .side
            .call_of(to, "DEL", 0, &alone(plugin, previous), None)
    };
    for _ in 0..2 {
        must_succeed(&call(bandwidth(&attached.keys, None))?)?;
        must_succeed(&call(bridge())?)?;
    }
    let left = attached.traffic()?;
    nothing_is_shaped(&left)?;
    ensure!(!left.to_string().contains("{port}"), "{left:#}");
    Ok(())
}

#[test]
fn weir_checks_and_deletes_what_the_reference_shaped() -> Result<()> {
    hand_over(Reference, Weir, true)?;
    hand_over(Reference, Weir, false)
}

#[test]
fn the_reference_checks_and_deletes_what_weir_shaped() -> Result<()> {
    hand_over(Weir, Reference, true)?;
    hand_over(Weir, Reference, false)
}

/// weir's DEL of what the reference made leaves the port as it was, too.
#[test]
fn del_of_the_references_leaves_the_port_as_bridge_made_it() -> Result<()> {
    let mut attached = Attached::to_bridge(Reference, both_directions())?;
    let before = attached.traffic()?;
    attached.result = attached.call("ADD")?.result();
    must_succeed(&attached.call_of(Weir, "DEL")?)?;
    assert_eq!(attached.traffic()?, before);
    // Half of it is gone with the ifb, which the reference's DEL removes.
    attached.result = attached.call("ADD")?.result();
    must_succeed(&attached.call_of(Reference, "DEL")?)?;
    must_succeed(&attached.call_of(Weir, "DEL")?)?;
    assert_eq!(attached.traffic()?, before);
    Ok(())
}
