//! Many ADDs and DELs at the same time: no address twice, none lost, and nobody takes away what
//! others share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use weir_kit::{Container, Node, Outcome, State, guarded_bridge, weir};

const CONTAINERS: usize = 200;
const AT_A_TIME: usize = 20;

fn config() -> Value {
    guarded_bridge("many", &["10.40.0.0/23"])
}

/// Does `work` for each item, [`AT_A_TIME`] at a time, and returns the answers in order.
fn at_a_time<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return done;
            };
            done.push((index, work(item)));
        }
    };
    let mut answers = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(worker)).collect();
        let mut answers = Vec::new();
        for worker in workers {
            answers.extend(worker.join().map_err(|_| anyhow!("a worker panicked"))?);
        }
        Ok::<_, anyhow::Error>(answers)
    })?;
    answers.sort_by_key(|(index, _)| *index);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

fn containers(node: &Node, count: usize) -> Result<Vec<Container>> {
    (0..count).map(|_| node.container()).collect()
}

fn run(
    node: &Node,
    command: &str,
    containers: &[Container],
    config: &Value,
) -> Result<Vec<Outcome>> {
    let call = |container: &Container| node.run(&weir(node, "bridge", command, container, config));
    at_a_time(containers, call)?.into_iter().collect()
}

/// The addresses of results that must all be there and all be different.
#[track_caller]
fn distinct_addresses(outcomes: &[Outcome]) -> BTreeSet<String> {
    let mut addresses = BTreeSet::new();
    for outcome in outcomes {
        let result = outcome.result();
        let address = result["ips"][0]["address"]
            .as_str()
            .expect("an address")
            .to_owned();
        let (address, _) = address.split_once('/').expect("a prefix length");
        assert!(
            addresses.insert(address.to_owned()),
            "{address} was handed out twice"
        );
    }
    addresses
}

#[test]
fn two_hundred_adds_and_dels_twice_over() -> Result<()> {
    let node = Node::create()?;
    let containers = containers(&node, CONTAINERS)?;
    let mut after_dels: Option<State> = None;
    for round in 0..2 {
        let added = run(&node, "ADD", &containers, &config())?;
        let handed_out = distinct_addresses(&added);
        assert_eq!(handed_out.len(), CONTAINERS, "round {round}");
        let taken: BTreeSet<String> = node.taken("many").into_iter().collect();
        assert_eq!(taken, handed_out, "round {round}: leases and results");
        let ports = node.ip_json("link show master many0")?;
        assert_eq!(
            ports.as_array().map(Vec::len),
            Some(CONTAINERS),
            "round {round}: ports"
        );

        for outcome in run(&node, "DEL", &containers, &config())? {
            assert!(outcome.succeeded(), "round {round}: {outcome:?}");
        }
        assert!(
            node.taken("many").is_empty(),
            "round {round}: {:?}",
            node.taken("many")
        );
        let state = State::of(&node)?;
        assert!(
            !state.links.iter().any(|link| link.starts_with("veth")),
            "{:?}",
            state.links
        );
        if let Some(first) = after_dels.replace(state.clone()) {
            state.assert_same(&first);
        }
    }
    // All of them wrote to one log.
    node.weir(&["audit", "verify"])?;
    Ok(())
}

#[test]
fn the_first_adds_of_a_bridge_all_at_once() -> Result<()> {
    let (node, alone) = (Node::create()?, Node::create()?);
    let all = containers(&node, AT_A_TIME)?;
    let added = run(&node, "ADD", &all, &config())?;
    assert_eq!(distinct_addresses(&added).len(), AT_A_TIME);

    let one = containers(&alone, 1)?;
    run(&alone, "ADD", &one, &config())?[0].result();
    assert_eq!(
        shared(&node)?,
        shared(&alone)?,
        "chains and rules came more often than once"
    );
    let addresses = node.ip("-o -4 address show dev many0")?;
    assert_eq!(addresses.lines().count(), 1, "{addresses}");

    for (container, added) in all.iter().zip(&added) {
        let mut config = config();
        config["prevResult"] = added.result();
        let checked = node.run(&weir(&node, "bridge", "CHECK", container, &config))?;
        assert!(checked.succeeded(), "{checked:?}");
    }
    Ok(())
}

/// Chains and rules, which all attachments share.
fn shared(node: &Node) -> Result<Vec<Value>> {
    let mut objects = State::of(node)?.nftables;
    objects.retain(|object| object.get("chain").is_some() || object.get("rule").is_some());
    objects.sort_by_key(Value::to_string);
    Ok(objects)
}

#[test]
fn failing_adds_take_nothing_away_from_others() -> Result<()> {
    let node = Node::create()?;
    let all = containers(&node, 3 * AT_A_TIME)?;
    let good = config();
    let mut unroutable = config();
    unroutable["ipam"]["routes"] = json!([{ "dst": "192.0.2.0/24", "gw": "203.0.113.1" }]);
    let indexed: Vec<(usize, &Container)> = all.iter().enumerate().collect();
    let outcomes = at_a_time(&indexed, |(index, container)| {
        let config = if index % 2 == 0 { &good } else { &unroutable };
        node.run(&weir(&node, "bridge", "ADD", container, config))
    })?;
    let outcomes: Vec<Outcome> = outcomes.into_iter().collect::<Result<_>>()?;

    let (even, odd): (Vec<_>, Vec<_>) = outcomes.iter().enumerate().partition(|(i, _)| i % 2 == 0);
    let succeeded: Vec<Outcome> = even
        .into_iter()
        .map(|(_, outcome)| outcome.clone())
        .collect();
    let handed_out = distinct_addresses(&succeeded);
    for (_, failed) in odd {
        let message = failed.error()["msg"].to_string();
        assert!(message.contains("192.0.2.0/24"), "{message}");
    }
    let taken: BTreeSet<String> = node.taken("many").into_iter().collect();
    assert_eq!(taken, handed_out, "leases of the failed are given back");
    let ports = node.ip_json("link show master many0")?;
    assert_eq!(
        ports.as_array().map(Vec::len),
        Some(succeeded.len()),
        "ports of the bridge"
    );
    for (container, outcome) in all.iter().step_by(2).zip(&succeeded) {
        let mut config = config();
        config["prevResult"] = outcome.result();
        let checked = node.run(&weir(&node, "bridge", "CHECK", container, &config))?;
        assert!(checked.succeeded(), "{checked:?}");
    }
    Ok(())
}

#[test]
fn when_all_fail_the_bridge_is_gone() -> Result<()> {
    let node = Node::create()?;
    let before = State::of(&node)?;
    let all = containers(&node, AT_A_TIME)?;
    let mut unroutable = config();
    unroutable["ipam"]["routes"] = json!([{ "dst": "192.0.2.0/24", "gw": "203.0.113.1" }]);
    for outcome in run(&node, "ADD", &all, &unroutable)? {
        outcome.error();
    }
    let after = State::of(&node)?;
    // Others under way may have used the bridge, so that it may stay: without ports, and useful.
    let ports: Vec<&String> = after
        .links
        .iter()
        .filter(|link| link.starts_with("veth"))
        .collect();
    assert!(ports.is_empty(), "{ports:?}");
    assert_eq!(after.files, before.files, "leases");

    // Alone, a failing ADD leaves nothing that it made itself.
    let alone = Node::create()?;
    let before = State::of(&alone)?;
    let container = alone.container()?;
    alone
        .run(&weir(&alone, "bridge", "ADD", &container, &unroutable))?
        .error();
    State::of(&alone)?.assert_same(&before);
    Ok(())
}

/// Interfaces of one container whose `sbr` runs at the same time.
const INTERFACES: usize = 12;

/// A call for one of the interfaces of a container, each on a network of its own.
fn of_interface(
    node: &Node,
    command: &str,
    container: &Container,
    number: usize,
    plugin: &Value,
) -> Result<Outcome> {
    let mut config = plugin.clone();
    config["cniVersion"] = json!("1.1.0");
    config["name"] = json!(format!("net{number}"));
    let name = plugin["type"].as_str().expect("a plugin has a type");
    let mut call = weir(node, name, command, container, &config);
    call.set("CNI_IFNAME", format!("net{number}"));
    node.run(&call)
}

/// A container with a pair on each of so many networks, and the results.
fn with_pairs(node: &Node) -> Result<(Container, Vec<Value>)> {
    let container = node.container()?;
    let add = |number: usize| {
        let (address, gateway) = (format!("10.50.{number}.5/24"), format!("10.50.{number}.1"));
        let addresses = json!([{ "address": address, "gateway": gateway }]);
        let pair = json!({ "type": "ptp", "ipam": { "type": "static", "addresses": addresses } });
        Ok(of_interface(node, "ADD", &container, number, &pair)?.result())
    };
    let results = (0..INTERFACES).map(add).collect::<Result<_>>()?;
    Ok((container, results))
}

/// The kernel takes two rules for one table, and a process does not see what another one is about to do.
#[test]
fn interfaces_that_are_routed_at_the_same_time_have_tables_of_their_own() -> Result<()> {
    let node = Node::create()?;
    let numbers: Vec<usize> = (0..INTERFACES).collect();
    for round in 0..3 {
        let (container, results) = with_pairs(&node)?;
        let fresh = container.ip("rule show")?;
        let call = |command: &str, number: usize| {
            let routed = json!({ "type": "sbr", "prevResult": results[number] });
            of_interface(&node, command, &container, number, &routed)
        };
        let all = |command: &str| -> Result<Vec<Outcome>> {
            let outcomes = at_a_time(&numbers, |number| call(command, *number))?;
            outcomes.into_iter().collect()
        };
        all("ADD")?.iter().for_each(|added| drop(added.result()));
        let rules = container.ip_json("rule show")?;
        let own = rules.as_array().into_iter().flatten();
        let own = own.filter(|rule| rule["src"] != "all");
        let tables: BTreeSet<String> = own.map(|rule| rule["table"].to_string()).collect();
        assert_eq!(tables.len(), INTERFACES, "round {round}: {rules:#}");
        for command in ["CHECK", "DEL"] {
            for outcome in all(command)? {
                assert!(outcome.succeeded(), "round {round}: {command}: {outcome:?}");
            }
        }
        assert_eq!(container.ip("rule show")?, fresh, "round {round}");
    }
    Ok(())
}
