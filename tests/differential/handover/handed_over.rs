//! What is handed over: the reference's rules are there before weir's go, wherever a kill comes between.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::firewalld::Firewalld;
use weir_kit::{assert_contains, binary, trace, weir};

use super::{Switch, with_address};
use crate::probe::Server;
use crate::side::Whose::{Reference, Weir};
use crate::side::{execution, with_previous};
use crate::stale::{
    COMES, CONTAINER_PORT, GOES, OTHER_PORT, OUTSIDE, PORT, STAYS, VARIANTS, Variant, attach,
    bridged, reached, routed,
};
use crate::traffic::{ip, source_seen};

/// How many of the points at which it may be killed are tried.
const POINTS: usize = 12;

fn go_back(variant: Variant, config: fn(u16) -> Value) -> Result<()> {
    let switch = Switch::create(variant)?;
    let side = &switch.side;
    attach(side, Reference, STAYS, &config(OTHER_PORT))?;
    let before = switch.rules()?;
    let goes = switch.attach(GOES, &config(PORT))?;
    ensure!(switch.rules()? == before, "weir made rules of iptables");
    let server = Server::start(&side.containers[GOES], CONTAINER_PORT)?;
    reached(side, PORT)?.context("what weir mapped is not reached")?;

    // Not one connection fails while the rules change hands.
    let is_over = AtomicBool::new(false);
    let (said, asked) = thread::scope(|scope| -> Result<(String, usize)> {
        let asking = scope.spawn(|| -> Result<usize> {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                reached(side, PORT)?.with_context(|| format!("after {count} connections"))?;
                count += 1;
            }
            Ok(count)
        });
        let said = switch.uninstall("");
        is_over.store(true, Ordering::Relaxed);
        let asked = asking.join().expect("a client")?;
        Ok((said?, asked))
    })?;
    ensure!(asked > 3, "{asked} connections");
    assert_contains(&said, &["handed net differential-2 eth0 over"]);
    ensure!(
        switch.own_tables()?.is_empty(),
        "{:?}",
        switch.own_tables()?
    );
    ensure!(switch.rules()? != before, "the reference made no rules");

    reached(side, PORT)?.context("the port is not reached after weir is gone")?;
    let outside = &side.containers[OUTSIDE];
    for (to, host) in [("192.0.2.2", "192.0.2.1"), ("2001:db8::2", "2001:db8::1")] {
        let seen = source_seen(&side.containers[GOES], outside, ip(to))?;
        ensure!(seen == ip(host), "not masqueraded: {seen}");
    }
    drop(server);

    let deleted = side.call_as(Reference, "DEL", GOES, &goes)?;
    ensure!(deleted.succeeded(), "DEL: {deleted:?}");
    ensure!(
        switch.rules()? == before,
        "before:\n{before:#?}\nafter:\n{:#?}",
        switch.rules()?
    );
    // The next one has the address, and no port.
    let mut next = with_address(&config(PORT), &goes)?;
    next["plugins"] = json!([next["plugins"][0]]);
    attach(side, Reference, COMES, &next)?;
    let _server = Server::start(&side.containers[COMES], CONTAINER_PORT)?;
    ensure!(
        reached(side, PORT)?.is_none(),
        "the port leads to a container that did not ask for it"
    );
    Ok(())
}

#[test]
fn a_bridges_rules_change_hands() -> Result<()> {
    VARIANTS
        .into_iter()
        .try_for_each(|variant| go_back(variant, bridged).with_context(|| format!("{variant:?}")))
}

#[test]
fn those_of_ptp_change_hands() -> Result<()> {
    VARIANTS
        .into_iter()
        .try_for_each(|variant| go_back(variant, routed).with_context(|| format!("{variant:?}")))
}

/// Wherever it was killed, the next one finishes it.
#[test]
fn a_kill_can_be_repeated() -> Result<()> {
    let prepared = || -> Result<(Switch, Vec<String>, Value)> {
        let switch = Switch::create(Variant::Nftables)?;
        attach(&switch.side, Reference, STAYS, &bridged(OTHER_PORT))?;
        let before = switch.rules()?;
        let known = switch.attach(GOES, &bridged(PORT))?;
        Ok((switch, before, known))
    };
    trace::kill_at_points(POINTS, |point| {
        let (switch, before, known) = prepared()?;
        let run = || trace::run(&mut switch.command(""), b"", point);
        let end = switch.side.node.inside(run)?;
        let side = &switch.side;
        {
            let _server = Server::start(&side.containers[GOES], CONTAINER_PORT)?;
            reached(side, PORT)?.context("not reached")?;
        }
        switch.uninstall("")?;
        ensure!(
            switch.own_tables()?.is_empty(),
            "{:?}",
            switch.own_tables()?
        );
        let deleted = side.call_as(Reference, "DEL", GOES, &known)?;
        ensure!(deleted.succeeded(), "{deleted:?}");
        switch.has_rules(&before)?;
        Ok(end)
    })
}

/// As a container runtime does it, with the plugins that are there at the moment. No container has the id of one before:
/// what one left may still be taken back.
fn come_and_go(switch: &Switch, config: &Value, round: usize) -> Result<()> {
    let node = &switch.side.node;
    let container = &switch.side.containers[COMES];
    let id = format!("{}-{round}", container.id);
    let plugins = config["plugins"].as_array().context("plugins")?;
    let call = |command: &str, plugin: &Value, previous: Option<&Value>| {
        let config = execution(config, plugin, previous);
        let name = plugin["type"].as_str().context("a type")?;
        let mut call = weir(node, name, command, container, &config);
        call.set("DBUS_SYSTEM_BUS_ADDRESS", node.system_bus_address());
        call.set("CNI_CONTAINERID", &id);
        node.run(&call)
    };
    let mut previous = None;
    for plugin in plugins {
        previous = Some(call("ADD", plugin, previous.as_ref())?.result());
    }
    let known = with_previous(config, previous.as_ref());
    switch.cache_as(&id, COMES, &known)?;
    // It lives for a moment, which grows: an ADD under way, which is not in the cache, is not handed over, and on a busy
    // machine weir has to find the moment in between.
    thread::sleep(Duration::from_millis(50 + 5 * round as u64));
    for plugin in plugins.iter().rev() {
        // The reference's fails once where its own chain is not there, and a runtime repeats it.
        let mut deletions = (0..3).map(|_| call("DEL", plugin, previous.as_ref()));
        let is_done = deletions.any(|done| done.is_ok_and(|done| done.succeeded()));
        ensure!(is_done, "DEL of {plugin}");
    }
    fs::remove_file(switch.cached_as(&id)).context("the cache")
}

/// Whatever was under way when weir went leaves nothing, of either.
#[test]
fn containers_come_and_go_meanwhile() -> Result<()> {
    let switch = Switch::used()?;
    let before = switch.rules()?;
    let mut config = bridged(PORT);
    config["plugins"][0]["ipam"] = json!({
        "type": "static", "addresses": [{"address": "10.1.0.50/24"}], "routes": [{"dst": "0.0.0.0/0"}],
    });
    let is_over = AtomicBool::new(false);
    let (tries, rounds) = thread::scope(|scope| -> Result<(Vec<String>, usize)> {
        let others = scope.spawn(|| -> Result<usize> {
            let mut rounds = 0;
            while !is_over.load(Ordering::Relaxed) {
                come_and_go(&switch, &config, rounds).with_context(|| format!("round {rounds}"))?;
                rounds += 1;
            }
            come_and_go(&switch, &config, rounds).context("the last round")?;
            Ok(rounds)
        });
        let mut tries = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let tried = switch.run("")?;
            tries.push(String::from_utf8_lossy(&tried.stderr).into_owned());
            if tried.status.success() || Instant::now() > deadline {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        Ok((tries, others.join().expect("a runtime")?))
    })?;
    let context = || format!("after {rounds} rounds and the tries {tries:#?}");
    // Before its links are removed it may find an ADD under way, later it waits for the end. The reference's DEL, which knows of no lock,
    // may remove a chain that is being filled.
    let refused = |said: &String| {
        let to_go_on = "run `weir uninstall` again to continue";
        said.is_empty() || said.contains("nothing is uninstalled") || said.contains(to_go_on)
    };
    ensure!(tries.iter().all(refused), context());
    ensure!(!switch.side.node.bin_dir().join("weir").exists(), context());
    ensure!(
        switch.own_tables()?.is_empty(),
        "{}: {:#?}",
        context(),
        switch.own_tables()?
    );
    ensure!(
        switch.rules()? == before,
        "{}: before:\n{before:#?}\nafter:\n{:#?}",
        context(),
        switch.rules()?
    );
    Ok(())
}

/// There and back: the container is the reference's by then, also in weir's eyes.
#[test]
fn weir_deletes_what_it_has_handed_over() -> Result<()> {
    let switch = Switch::used()?;
    let before = switch.rules()?;
    let known = switch.attach(GOES, &bridged(PORT))?;
    switch.uninstall("")?;
    ensure!(switch.rules()? != before, "the reference made no rules");
    let installed = Command::new(binary())
        .arg("install")
        .env("WEIR_ROOT", switch.side.node.root())
        .env("WEIR_INSTALL_BIN_DIR", switch.side.node.bin_dir())
        .output()?;
    ensure!(installed.status.success(), "weir install: {installed:?}");
    let deleted = switch.side.call_as(Weir, "DEL", GOES, &known)?;
    ensure!(deleted.succeeded(), "DEL: {deleted:?}");
    switch.has_rules(&before)
}

/// Where firewalld runs, the addresses are in its zone all the time, and the reference takes them out.
#[test]
fn the_zone_of_firewalld_changes_hands() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    let firewalld = Firewalld::start(&switch.side.node)?;
    let known = switch.attach(GOES, &bridged(PORT))?;
    let bound = firewalld.sources("trusted")?;
    ensure!(bound.len() == 2, "{bound:?}");
    switch.uninstall("")?;
    ensure!(
        switch.own_tables()?.is_empty(),
        "{:?}",
        switch.own_tables()?
    );
    ensure!(firewalld.sources("trusted")? == bound);
    let deleted = switch.side.call_as(Reference, "DEL", GOES, &known)?;
    ensure!(deleted.succeeded(), "DEL: {deleted:?}");
    ensure!(firewalld.sources("trusted")?.is_empty());
    Ok(())
}

#[test]
fn what_was_made_for_a_container_that_is_gone_goes() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    let known = switch.attach(GOES, &bridged(PORT))?;
    let before = switch.rules()?;
    // A namespace that is not visible, and a link that proves that it exists.
    let text = fs::read_to_string(switch.cached(GOES))?;
    let mut cached: Value = serde_json::from_str(&text)?;
    cached["netns"] = json!("/run/netns/nowhere");
    fs::write(switch.cached(GOES), cached.to_string())?;
    let said = switch.refusal()?;
    ensure!(said.contains("is not visible from here"), "{said}");

    let link = known["prevResult"]["interfaces"][1]["name"].as_str();
    let link = link.context("the host's link")?;
    switch.side.node.ip(&format!("link delete {link}"))?;
    let said = switch.uninstall("")?;
    ensure!(said.contains("whose container is gone"), "{said}");
    ensure!(switch.own_tables()?.is_empty() && switch.rules()? == before);
    Ok(())
}

/// An ADD began with weir's plugins, and the returning ones have deleted the container: before it was ever in the cache, or
/// between two looks at it.
#[test]
fn what_the_returning_plugins_have_deleted_goes() -> Result<()> {
    let switch = Switch::used()?;
    let before = switch.rules()?;
    let known = attach(&switch.side, Weir, GOES, &bridged(PORT))?;
    let said = switch.refusal()?;
    assert_contains(&said, &["has no entry for it", "its ADD has not ended"]);
    switch.delete_again(GOES, &known)?;
    ensure!(!switch.own_tables()?.is_empty(), "nothing is left of weir");
    let said = switch.uninstall("")?;
    for plugin in ["bridge", "firewall", "portmap"] {
        let removed = format!("the rules of {plugin} for net differential-2 eth0, whose container");
        assert_contains(&said, &[&removed]);
    }
    switch.has_no_table()?;
    switch.has_rules(&before)
}

#[test]
fn tables_without_an_attachment_go() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    let known = switch.attach(GOES, &bridged(PORT))?;
    let deleted = switch.side.call_as(Weir, "DEL", GOES, &known)?;
    ensure!(deleted.succeeded(), "{deleted:?}");
    ensure!(!switch.own_tables()?.is_empty());
    let said = switch.uninstall("")?;
    ensure!(said.contains("removed table inet weir_portmap"), "{said}");
    switch.has_no_table()
}
