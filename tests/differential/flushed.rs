//! What an ADD finds flushed, it makes again: rules, chains and tables on which isolation, masquerade and mapped ports
//! rely, and which whoever is root can take away with one `nft flush`.

use std::collections::BTreeMap;
use std::thread;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::probe::{Origin, Probe, Protocol, Server};
use crate::side::{Side, Whose, with_previous};

/// Whose CHECK tells of a damage, and whose ADD repairs it.
const FIRST: usize = 0;
const NEXT: usize = 1;

/// A network whose plugins are all that rely on nftables, on a bridge.
fn bridged() -> Value {
    json!({"cniVersion": "1.0.0", "name": "net", "plugins": [
        {
            "type": "bridge", "bridge": "br", "isDefaultGateway": true, "ipMasq": true, "macspoofchk": true,
            "ipam": addresses(),
        },
        {"type": "portmap"},
        {"type": "firewall", "ingressPolicy": "isolated"},
    ]})
}

/// The same with what gives a table other chains and rules than most networks have.
fn of_its_own() -> Value {
    let mut config = bridged();
    config["plugins"][1]["markMasqBit"] = json!(3);
    config["plugins"][2]["iptablesAdminChainName"] = json!("MINE");
    config
}

fn routed() -> Value {
    json!({"cniVersion": "1.0.0", "name": "net", "plugins": [
        {"type": "ptp", "ipMasq": true, "ipam": addresses()},
    ]})
}

fn addresses() -> Value {
    json!({"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]})
}

/// Each container has a port of its own.
fn mapped(config: &Value, container: usize) -> Value {
    let mut config = config.clone();
    let plugins = config["plugins"].as_array_mut().into_iter().flatten();
    for plugin in plugins.filter(|plugin| plugin["type"] == "portmap") {
        plugin["runtimeConfig"] = json!({"portMappings": [
            {"hostPort": 8080 + container, "containerPort": 80, "protocol": "tcp"},
        ]});
    }
    config
}

fn attach(side: &Side, container: usize, config: &Value) -> Result<Value> {
    let config = mapped(config, container);
    let result = side.call("ADD", container, &config, None)?.result();
    Ok(with_previous(&config, Some(&result)))
}

/// Tables, chains, rules and sets, without elements: what does not depend on who is attached. Rules are in the order
/// that they have in their chains.
pub fn without_elements(side: &Side) -> Result<BTreeMap<String, Vec<Value>>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (kind, mut object) in objects(side)? {
        for key in ["handle", "elem"] {
            object.as_object_mut().context("an object")?.remove(key);
        }
        let word = |key: &str| object[key].as_str().unwrap_or_default();
        let (family, table, name) = (word("family"), word("table"), word("name"));
        let place = format!("{kind} {family} {table} {}{name}", word("chain"));
        found.entry(place).or_default().push(object);
    }
    Ok(found)
}

/// What nft(8) lists, each with its kind.
pub fn objects(side: &Side) -> Result<Vec<(String, Value)>> {
    let listed: Value = serde_json::from_str(&side.node.tool("nft", "--json list ruleset")?)?;
    let objects = listed["nftables"].as_array().context("a list")?.iter();
    let objects = objects.filter_map(Value::as_object).flatten();
    let known = objects.filter(|(kind, _)| *kind != "metainfo");
    Ok(known
        .map(|(kind, object)| (kind.clone(), object.clone()))
        .collect())
}

/// Each rule on the node, as nft(8) deletes it.
fn rules(side: &Side) -> Result<Vec<String>> {
    let objects = objects(side)?;
    let rules = objects.iter().filter(|(kind, _)| kind == "rule");
    let deletion = |(_, rule): &(String, Value)| {
        let word = |key: &str| rule[key].as_str().unwrap_or_default();
        let (family, table, chain) = (word("family"), word("table"), word("chain"));
        format!(
            "delete rule {family} {table} {chain} handle {}",
            rule["handle"]
        )
    };
    Ok(rules.map(deletion).collect())
}

/// Damages the node, and expects the next ADD to repair it. CHECK of the attachment before tells of it.
fn damage_and_mend(side: &Side, config: &Value, first: &Value, damage: &str) -> Result<()> {
    let before = without_elements(side)?;
    for line in damage.split("; ") {
        side.node.tool("nft", line)?;
    }
    let checked = side.call("CHECK", FIRST, first, None)?;
    ensure!(checked.code() == 106, "CHECK after `{damage}`: {checked:?}");
    let next = attach(side, NEXT, config)?;
    let after = without_elements(side)?;
    ensure!(
        before == after,
        "`{damage}`: before:\n{before:#?}\nafter:\n{after:#?}"
    );
    let checked = side.call("CHECK", NEXT, &next, None)?;
    ensure!(checked.succeeded(), "CHECK of the next: {checked:?}");
    let deleted = side.call("DEL", NEXT, &next, None)?;
    ensure!(deleted.succeeded(), "DEL after `{damage}`: {deleted:?}");
    Ok(())
}

fn mends(config: &Value, damages: &[&str]) -> Result<()> {
    let side = Side::create(Whose::Weir, 2)?;
    for damage in damages {
        let first = attach(&side, FIRST, config)?;
        damage_and_mend(&side, config, &first, damage)?;
        side.call("DEL", FIRST, &first, None)?;
    }
    Ok(())
}

#[test]
fn a_flushed_ruleset_comes_back() -> Result<()> {
    mends(&bridged(), &["flush ruleset"])?;
    mends(&routed(), &["flush ruleset"])
}

/// A verb of nft that damages a table is repaired, whichever table it is.
fn mends_each_table(verb: &str) -> Result<()> {
    let damages = [
        "inet weir_bridge",
        "bridge weir_bridge",
        "inet weir_portmap",
        "inet weir_firewall",
        "bridge weir_firewall",
    ]
    .map(|table| format!("{verb} table {table}"));
    mends(&bridged(), &damages.each_ref().map(String::as_str))?;
    mends(&routed(), &[&format!("{verb} table inet weir_ptp")])
}

#[test]
fn a_flushed_table_comes_back() -> Result<()> {
    mends_each_table("flush")
}

#[test]
fn a_deleted_table_comes_back() -> Result<()> {
    mends_each_table("delete")
}

#[test]
fn flushed_and_deleted_chains_come_back() -> Result<()> {
    mends(
        &bridged(),
        &[
            "flush chain inet weir_portmap output",
            "flush chain inet weir_firewall admins",
            "flush chain inet weir_bridge postrouting; delete chain inet weir_bridge postrouting",
            "flush chain bridge weir_bridge prerouting; delete chain bridge weir_bridge prerouting",
            "flush table inet weir_portmap; delete chain inet weir_portmap prerouting",
            "flush table inet weir_firewall; delete chain inet weir_firewall CNI-ADMIN",
            "flush table bridge weir_firewall; delete chain bridge weir_firewall forward",
        ],
    )
}

/// Wherever it stood: rules that come first decide.
#[test]
fn each_rule_that_is_deleted_comes_back_in_its_place() -> Result<()> {
    for config in [of_its_own(), routed()] {
        let side = Side::create(Whose::Weir, 2)?;
        let first = attach(&side, FIRST, &config)?;
        // The first of three, the second, the third.
        for start in 0..3 {
            let rules = rules(&side)?;
            let deletions: Vec<&str> = rules
                .iter()
                .skip(start)
                .step_by(3)
                .map(String::as_str)
                .collect();
            damage_and_mend(&side, &config, &first, &deletions.join("; "))?;
            let checked = side.call("CHECK", FIRST, &first, None)?;
            ensure!(
                checked.succeeded(),
                "CHECK after all is repaired: {checked:?}"
            );
        }
    }
    Ok(())
}

/// CHECK says which table's chain lacks which rules.
#[test]
fn check_names_what_is_missing() -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    for (damage, told) in [
        (
            "flush chain inet weir_bridge postrouting",
            "masquerading: chain `postrouting` lacks `local4`, `224.0.0.0/4`, `pods4`",
        ),
        (
            "delete table bridge weir_bridge",
            "the check of source MACs: chain `prerouting` is missing",
        ),
        (
            "flush chain inet weir_portmap output",
            "the mapped ports: chain `output` lacks `hostip4`, `ports4`",
        ),
        (
            "flush chain inet weir_firewall admins",
            "the filter: chain `admins` lacks `CNI-ADMIN`",
        ),
        // Whose elements they were, the CHECK of each attachment alone can tell.
        (
            "flush set inet weir_bridge pods4",
            " is missing in set `pods4`",
        ),
        (
            "flush map inet weir_portmap ports4",
            " is missing in set `ports4`",
        ),
    ] {
        let first = attach(&side, FIRST, &bridged())?;
        side.node.tool("nft", damage)?;
        // It ends at the first plugin that fails.
        let checked = side.call("CHECK", FIRST, &first, None)?;
        let told = json!(told).to_string();
        ensure!(
            checked.stdout.contains(told.trim_matches('"')),
            "{damage}: {checked:?}"
        );
        side.call("DEL", FIRST, &first, None)?;
    }
    Ok(())
}

/// What an administrator put into a chain stays, and so does the policy that he gave it.
#[test]
fn what_an_administrator_added_stays() -> Result<()> {
    let side = Side::create(Whose::Weir, 2)?;
    attach(&side, FIRST, &bridged())?;
    for line in [
        "add rule inet weir_firewall CNI-ADMIN ip daddr 169.254.169.254 drop",
        "insert rule inet weir_firewall forward meta nftrace set 1",
        "chain inet weir_firewall forward { policy drop ; }",
    ] {
        side.node.tool("nft", line)?;
    }
    let before = without_elements(&side)?;
    let deletions = rules(&side)?;
    let forward = deletions
        .iter()
        .filter(|d| d.contains("inet weir_firewall forward"));
    for deletion in forward.skip(1) {
        side.node.tool("nft", deletion)?;
    }
    attach(&side, NEXT, &bridged())?;
    let after = without_elements(&side)?;
    ensure!(before == after, "before:\n{before:#?}\nafter:\n{after:#?}");
    Ok(())
}

/// However many find it missing at once.
#[test]
fn no_rule_comes_twice_where_many_add_at_once() -> Result<()> {
    const CONTAINERS: usize = 8;
    let side = Side::create(Whose::Weir, CONTAINERS)?;
    attach(&side, FIRST, &of_its_own())?;
    let before = without_elements(&side)?;
    let deletions = rules(&side)?;
    let damages = [
        "flush table inet weir_bridge; flush table inet weir_portmap; flush table inet weir_firewall".to_owned(),
        deletions.iter().step_by(2).cloned().collect::<Vec<_>>().join("; "),
    ];
    for damage in damages {
        for line in damage.split("; ") {
            // After the first damage, others have the handles of the second.
            let _ = side.node.tool("nft", line);
        }
        let outcomes: Vec<Result<Value>> = thread::scope(|scope| {
            let side = &side;
            let add = |container| scope.spawn(move || attach(side, container, &of_its_own()));
            let calls: Vec<_> = (1..CONTAINERS).map(add).collect();
            calls
                .into_iter()
                .map(|call| call.join().expect("no panic"))
                .collect()
        });
        let after = without_elements(&side)?;
        ensure!(
            before == after,
            "`{damage}`: before:\n{before:#?}\nafter:\n{after:#?}"
        );
        for (container, attached) in (1..CONTAINERS).zip(outcomes) {
            side.call("DEL", container, &attached?, None)?;
        }
    }
    Ok(())
}

/// With the rules gone, containers that are isolated reach each other, and mapped ports are refused.
#[test]
fn isolation_and_ports_are_in_force_again_after_a_flush() -> Result<()> {
    let outside = 3;
    let side = Side::create(Whose::Weir, outside + 1)?;
    side.connect_outside()?;
    attach(&side, FIRST, &bridged())?;
    attach(&side, NEXT, &bridged())?;
    let _server = Server::start(&side.containers[FIRST], 80)?;
    let reached = || -> Result<[bool; 2]> {
        let neighbour = Probe::new(Origin::Container(NEXT), Protocol::Tcp, "10.1.0.2", 80);
        let port = Probe::new(Origin::Container(outside), Protocol::Tcp, "192.0.2.1", 8080);
        Ok([
            neighbour.answer(&side)?.is_some(),
            port.answer(&side)?.is_some(),
        ])
    };
    ensure!(reached()? == [false, true], "before: {:?}", reached()?);
    for table in [
        "inet weir_portmap",
        "inet weir_firewall",
        "bridge weir_firewall",
    ] {
        side.node.tool("nft", &format!("flush table {table}"))?;
    }
    ensure!(reached()? == [true, false], "flushed: {:?}", reached()?);
    attach(&side, 2, &bridged())?;
    ensure!(
        reached()? == [false, true],
        "after the next ADD: {:?}",
        reached()?
    );
    Ok(())
}
