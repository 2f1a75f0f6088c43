//! Names that are meant to be taken for others.

use anyhow::Result;
use serde_json::{Value, json};

use super::puppet::Puppet;

const OWN: &str = r#"{ link: [ { namespace: host, names: ["own*"] } ] }"#;

fn puppet() -> Result<Puppet> {
    let puppet = Puppet::under(OWN)?;
    puppet
        .fixture
        .node
        .ip("link add nic0 type veth peer name nic1")?;
    Ok(puppet)
}

/// Property: a grant matches the name that a link has, never an alternative name.
#[test]
fn an_alternative_name_opens_no_link() -> Result<()> {
    let puppet = puppet()?;
    puppet
        .fixture
        .node
        .ip("link property add dev nic0 altname own7")?;
    let before = puppet.whole()?;
    let orders: Vec<Value> = ["link.get", "link.update", "link.delete", "link.move"]
        .map(|function| json!({ "do": function, "link": "own7", "alias": "mine" }))
        .into();
    let answers = puppet.assert_each(orders, "not-found")?;
    // Whose it is, is not told.
    assert!(!answers[0].said.contains("nic0"), "{answers:#?}");
    assert_eq!(puppet.whole()?, before);
    Ok(())
}

/// Property: the name that was allowed is the name that the link gets: what the kernel would complete,
/// cut or read to a NUL only is refused.
#[test]
fn names_that_the_kernel_would_change_are_refused() -> Result<()> {
    let puppet = puppet()?;
    let before = puppet.whole()?;
    for name in [
        "own%d",
        "own%",
        "own0\0eth0",
        "own0\n",
        "own 0",
        "own/0",
        "own:0",
        "own0123456789abc", // 16 bytes
        "own\u{a0}",
        "own\u{9b}31m",
    ] {
        let orders = vec![
            json!({ "do": "link.create", "kind": "bridge", "name": name }),
            json!({ "do": "link.create", "name": name, "other": "own9" }),
            json!({ "do": "link.create", "name": "own9", "other": name }),
            json!({ "do": "link.get", "link": name }),
        ];
        puppet.assert_each(orders, "invalid")?;
    }
    assert_eq!(puppet.whole()?, before);
    Ok(())
}

/// Property: what the kernel takes is taken as it is written, to the last byte.
#[test]
fn names_of_15_bytes_and_with_braces_are_what_they_are() -> Result<()> {
    let puppet = puppet()?;
    for name in ["own0123456789ab", "own{ifname}", "own*", "own[a-z]", "ownü"] {
        let orders = vec![
            json!({ "do": "link.create", "kind": "bridge", "name": name }),
            json!({ "do": "link.get", "link": name }),
            json!({ "do": "link.delete", "link": name }),
        ];
        let answers = puppet.assert_each(orders, "ok")?;
        assert_eq!(answers[1].said, name);
    }
    Ok(())
}

/// Property: that a link does not exist is no answer to who may not know that it does: the refusal is the
/// same, to the word, and whatever else is wrong with the call.
#[test]
fn a_missing_link_is_denied_like_one_that_is_there() -> Result<()> {
    // Nothing at all; rules about other names; and about this name in the other namespace.
    let elsewhere = r#"{ link: [ { names: ["own*"] }, { namespace: container, names: ["nic*"] } ],
        address: [ { namespace: host, links: [own0] } ], neighbour: [ { links: [own0] } ],
        route: [ { links: [own0] } ], traffic: [ { links: [own0] } ],
        device: [ { links: [own0] } ], packet: [ { links: ["nic*"] } ] }"#;
    for grant in ["{}", OWN, elsewhere] {
        let puppet = Puppet::under(grant)?;
        puppet
            .fixture
            .node
            .ip("link add nic0 type veth peer name nic1")?;
        let told = |link: &str| -> Result<Vec<String>> {
            let answers = puppet.assert_denied(about(link))?;
            let told = answers.iter().map(|a| a.said.replace(link, "LINK"));
            Ok(told.collect())
        };
        let there = told("nic0")?;
        assert_eq!(there, told("nic9")?, "under {grant}");
        for text in there {
            assert!(!text.contains("nic") && !text.contains("veth"), "{text}");
        }
        // What is wrong besides is not told either, where there is such a link.
        let besides = |link: &str| {
            let orders = [
                json!({ "do": "link.update", "link": link, "master": "own9" }),
                json!({ "do": "link.update", "link": link, "master": "nic1" }),
                json!({ "do": "address.add", "link": link, "address": "192.0.2.1/99" }),
            ];
            // What is malformed is so whatever link there is.
            let answers = puppet.act(orders.into())?;
            let told = answers.iter().map(|a| a.said.replace(link, "LINK"));
            Ok::<Vec<String>, anyhow::Error>(told.collect())
        };
        assert_eq!(besides("nic0")?, besides("nic9")?, "under {grant}");
    }
    let puppet = puppet()?;
    let own = json!({ "do": "link.delete", "link": "own9" });
    puppet.assert_each(vec![own], "not-found").map(drop)
}

/// A call of each of these functions about a link, by its `link` or its `index`.
fn orders(functions: &[&str], key: &str, link: &Value) -> Vec<Value> {
    let order = |function: &&str| json!({ "do": function, key: link, "address": "192.0.2.0/24", "alias": "mine" });
    functions.iter().map(order).collect()
}

/// One call of each function that takes the name of a link of the host.
fn about(link: &str) -> Vec<Value> {
    let functions = [
        "link.get",
        "link.delete",
        "link.update",
        "link.update-port",
        "link.update-bridge",
        "link.add-vlans",
        "link.delete-vlans",
        "link.list-vlans",
        "link.move",
        "link.get-peer",
        "link.wait-up",
        "address.add",
        "address.delete",
        "address.list",
        "address.settle",
        "route.add",
        "route.replace",
        "route.delete",
        "neighbour.add",
        "neighbour.delete",
        "neighbour.list",
        "neighbour.announce",
        "traffic.add-qdisc",
        "traffic.delete-qdisc",
        "traffic.list-qdiscs",
        "traffic.add-class",
        "traffic.list-classes",
        "traffic.list-filters",
    ];
    let mut orders = orders(&functions, "link", &json!(link));
    orders.extend([
        json!({ "do": "link.create", "kind": "bridge", "name": "own8", "master": link }),
        json!({ "do": "link.create", "kind": "macvlan", "name": "own8", "other": link }),
        json!({ "do": "route.add", "link": link, "address": "192.0.2.0/24", "many": 2 }),
    ]);
    orders
}

/// Property: a refusal tells no more than the plugin knew: of a link that it named by its number neither
/// the name nor the kind. The audit log has both.
#[test]
fn a_link_named_by_its_number_stays_unknown() -> Result<()> {
    let puppet = puppet()?;
    let index = puppet.fixture.node.ip_json("link show nic0")?[0]["ifindex"].clone();
    let functions = [
        "link.get",
        "link.delete",
        "link.update",
        "link.move",
        "link.get-peer",
        "address.add",
        "neighbour.add",
        "traffic.add-qdisc",
        "route.add",
    ];
    for answer in puppet.assert_denied(orders(&functions, "index", &index))? {
        for secret in ["nic0", "veth"] {
            assert!(!answer.said.contains(secret), "{answer:#?}");
        }
    }
    let deletions = puppet.fixture.records("link.delete");
    assert_eq!(deletions[0]["arguments"]["link"]["name"], "nic0");
    Ok(())
}
