//! A node that goes back from weir to the reference with containers running: `weir uninstall` has the reference make its
//! rules before weir's go, so that no connection fails meanwhile, and the reference's DEL leaves nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use weir_kit::firewalld::Firewalld;
use weir_kit::plugin::REFERENCE;
use weir_kit::{assert_contains, assert_lacks, binary, trace, weir};

use crate::probe::Server;
use crate::side::{Side, Whose, execution, with_previous};
use crate::stale::{
    COMES, CONTAINER_PORT, GOES, OTHER_PORT, OUTSIDE, PORT, STAYS, VARIANTS, Variant, attach,
    bridged, reached, routed,
};
use crate::traffic::{ip, source_seen};

use Whose::{Reference, Weir};

/// What weir's links have taken the place of.
const REPLACED: [&str; 6] = [
    "bridge",
    "firewall",
    "host-local",
    "portmap",
    "ptp",
    "static",
];

/// Puts something in the place of a plugin that comes back.
type Put = fn(&PathBuf) -> Result<()>;

/// How many of the points at which it may be killed are tried.
const POINTS: usize = 12;

/// A node on which weir has taken the place of the reference plugins.
struct Switch {
    side: Side,
    variant: Variant,
}

impl Switch {
    /// One with a container that weir has attached, with a port.
    fn attached() -> Result<Self> {
        let switch = Self::create(Variant::Nftables)?;
        switch.attach(GOES, &bridged(PORT))?;
        Ok(switch)
    }

    fn create(variant: Variant) -> Result<Self> {
        let mut side = Side::create(Weir, 4)?;
        variant.choose(&mut side)?;
        side.connect_outside()?;
        let switch = Self { side, variant };
        for name in REPLACED {
            symlink(format!("{REFERENCE}/{name}"), switch.replaced(name))?;
        }
        fs::create_dir_all(switch.results())?;
        Ok(switch)
    }

    /// With the chains that the reference leaves for ever.
    fn used() -> Result<Self> {
        let switch = Self::create(Variant::Nftables)?;
        let known = attach(&switch.side, Reference, COMES, &bridged(PORT))?;
        let deleted = switch.side.call_as(Reference, "DEL", COMES, &known)?;
        ensure!(deleted.succeeded(), "DEL: {deleted:?}");
        Ok(switch)
    }

    fn replaced(&self, plugin: &str) -> PathBuf {
        let bin_dir = self.side.node.bin_dir();
        bin_dir.join(format!("{plugin}.weir-replaced"))
    }

    fn results(&self) -> PathBuf {
        self.side.node.root().join("var/lib/cni/results")
    }

    fn cached(&self, container: usize) -> PathBuf {
        self.cached_as(&self.side.containers[container].id)
    }

    fn cached_as(&self, id: &str) -> PathBuf {
        self.results().join(format!("net-{id}-eth0"))
    }

    /// ADD by weir, and what libcni keeps of it.
    fn attach(&self, container: usize, config: &Value) -> Result<Value> {
        let known = attach(&self.side, Weir, container, config)?;
        self.cache(container, &known)?;
        Ok(known)
    }

    fn cache(&self, container: usize, known: &Value) -> Result<()> {
        self.cache_as(&self.side.containers[container].id, container, known)
    }

    fn cache_as(&self, id: &str, container: usize, known: &Value) -> Result<()> {
        let Self { side, .. } = self;
        let mut list = known.clone();
        list.as_object_mut().context("a list")?.remove("prevResult");
        let mut args = json!({});
        for plugin in list["plugins"].as_array_mut().context("plugins")? {
            let plugin = plugin.as_object_mut().context("a plugin")?;
            if let Some(config) = plugin.remove("runtimeConfig") {
                args["portMappings"] = config["portMappings"].clone();
                plugin.insert("capabilities".to_owned(), json!({"portMappings": true}));
            }
        }
        let document = json!({
            "kind": "cniCacheV1", "containerId": id, "ifName": "eth0",
            "networkName": "net", "netns": side.containers[container].netns(),
            "config": BASE64_STANDARD.encode(list.to_string()), "capabilityArgs": args,
            "result": known["prevResult"],
        });
        fs::write(self.cached_as(id), document.to_string()).context("the cache")
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(binary());
        let path = std::env::var("PATH").unwrap_or_default();
        let first = self.side.first_in_path.clone().unwrap_or_default();
        command
            .arg("uninstall")
            .args(words.split_whitespace())
            .env("WEIR_ROOT", self.side.node.root())
            .env("WEIR_INSTALL_BIN_DIR", self.side.node.bin_dir())
            .env(
                "DBUS_SYSTEM_BUS_ADDRESS",
                self.side.node.system_bus_address(),
            )
            .env("PATH", format!("{}:{path}", first.display()));
        command
    }

    fn run(&self, words: &str) -> Result<Output> {
        self.side.node.inside(|| Ok(self.command(words).output()?))
    }

    /// DEL by the reference, as a runtime repeats it: it fails once where its own chain is not there.
    fn delete_again(&self, container: usize, known: &Value) -> Result<()> {
        let mut failed = Vec::new();
        for _ in 0..3 {
            let deleted = self.side.call_as(Reference, "DEL", container, known)?;
            if deleted.succeeded() {
                return Ok(());
            }
            failed.push(deleted);
        }
        bail!("DEL: {failed:?}")
    }

    fn uninstall(&self, words: &str) -> Result<String> {
        let output = self.run(words)?;
        ensure!(output.status.success(), "weir uninstall: {output:?}");
        Ok(String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?)
    }

    /// What it says; nothing may have changed.
    fn refusal(&self) -> Result<String> {
        let before = self.state()?;
        let output = self.run("")?;
        ensure!(output.status.code() == Some(1), "not refused: {output:?}");
        ensure!(
            self.state()? == before,
            "before:\n{before:#?}\nafter:\n{:#?}",
            self.state()?
        );
        Ok(String::from_utf8(output.stderr)?)
    }

    /// Rules of both kinds, and the directory of plugins.
    fn state(&self) -> Result<Vec<String>> {
        let mut state = self.variant.rules(&self.side)?;
        state.extend(self.own_tables()?);
        let names = fs::read_dir(self.side.node.bin_dir())?;
        let names = names.map(|name| Ok(name?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<Result<Vec<_>>>()?;
        names.sort();
        state.extend(names);
        Ok(state)
    }

    /// No table of weir's is on the node any more.
    fn has_no_table(&self) -> Result<()> {
        let own = self.own_tables()?;
        ensure!(own.is_empty(), "{own:?}");
        Ok(())
    }

    /// The lines of weir's tables.
    fn own_tables(&self) -> Result<Vec<String>> {
        let listed = self.side.node.tool("nft", "--stateless list ruleset")?;
        let mut own = Vec::new();
        let mut is_own = false;
        for line in listed.lines() {
            if line.starts_with("table ") {
                is_own = line.contains(" weir_");
            }
            if is_own {
                own.push(line.to_owned());
            }
        }
        Ok(own)
    }

    fn rules(&self) -> Result<Vec<String>> {
        self.variant.rules(&self.side)
    }

    /// Fails unless the rules are these.
    fn has_rules(&self, before: &[String]) -> Result<()> {
        let now = self.rules()?;
        ensure!(now == before, "before:\n{before:#?}\nafter:\n{now:#?}");
        Ok(())
    }
}

/// The same network with the address of another container.
fn with_address(config: &Value, known: &Value) -> Result<Value> {
    let ips = known["prevResult"]["ips"].as_array().context("ips")?;
    let addresses: Vec<Value> = ips
        .iter()
        .map(|ip| json!({"address": ip["address"], "gateway": ip["gateway"]}))
        .collect();
    let mut config = config.clone();
    config["plugins"][0]["ipam"] = json!({
        "type": "static", "addresses": addresses, "routes": [{"dst": "0.0.0.0/0"}],
    });
    Ok(config)
}

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

/// With a configuration of Multus a node has definitions.
fn put_multus(switch: &Switch) -> Result<()> {
    let multus = json!({"cniVersion": "1.0.0", "name": "multus", "type": "multus"});
    let node = &switch.side.node;
    node.put_network("00-multus.conf", &multus).map(drop)
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
    let killed_at = |switch: &Switch, point: Option<usize>| {
        let run = || trace::run(&mut switch.command(""), b"", point);
        switch.side.node.inside(run)
    };
    let trace::End::Exited { status: 0, points } = killed_at(&prepared()?.0, None)? else {
        bail!("the traced one failed");
    };
    for point in (0..points).step_by(points.div_ceil(POINTS)) {
        let (switch, before, known) = prepared()?;
        let end = killed_at(&switch, Some(point))?;
        ensure!(end == trace::End::Killed, "point {point}: {end:?}");
        let side = &switch.side;
        {
            let _server = Server::start(&side.containers[GOES], CONTAINER_PORT)?;
            reached(side, PORT)?.with_context(|| format!("not reached at point {point}"))?;
        }
        switch.uninstall("")?;
        ensure!(switch.own_tables()?.is_empty(), "point {point}");
        let deleted = side.call_as(Reference, "DEL", GOES, &known)?;
        ensure!(deleted.succeeded(), "point {point}: {deleted:?}");
        switch
            .has_rules(&before)
            .with_context(|| format!("point {point}"))?;
    }
    Ok(())
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
    // Before its links are removed it may find an ADD under way, later it waits for the end.
    let refused = |said: &String| said.is_empty() || said.contains("nothing is uninstalled");
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

/// One of two cannot be handed over: what was made for the other is taken back.
#[test]
fn one_that_fails_leaves_all_as_it_was() -> Result<()> {
    let switch = Switch::used()?;
    switch.attach(STAYS, &bridged(OTHER_PORT))?;
    let mut config = bridged(PORT);
    // Of which Debian's reference plugins know nothing.
    config["cniVersion"] = json!("1.1.0");
    switch.attach(GOES, &config)?;
    let said = switch.refusal()?;
    assert_contains(&said, &["`net differential-2 eth0`, of ", "1.1.0"]);
    let _server = Server::start(&switch.side.containers[GOES], CONTAINER_PORT)?;
    reached(&switch.side, PORT)?.context("not reached any more")?;

    // What can be handed over is, and the rest goes on.
    let said = switch.uninstall("--force")?;
    assert_contains(
        &said,
        &["handed net differential-1 eth0 over", "left table inet"],
    );
    reached(&switch.side, PORT)?.context("not reached any more after --force")?;
    let own = switch.own_tables()?.join("\n");
    assert_contains(&own, &["differential-2"]);
    assert_lacks(&own, &["differential-1"]);
    Ok(())
}

#[test]
fn nothing_is_handed_over_to_nobody() -> Result<()> {
    let switch = Switch::attached()?;
    fs::remove_file(switch.replaced("portmap"))?;
    let said = switch.refusal()?;
    ensure!(said.contains("no other `portmap` in"), "{said}");
    Ok(())
}

/// What an administrator has said in weir's tables would be said no more.
#[test]
fn an_administrators_rules_do_not_go_unasked() -> Result<()> {
    for line in [
        "add rule inet weir_firewall CNI-ADMIN ip daddr 169.254.169.254 drop",
        "add rule inet weir_firewall forward ip daddr 169.254.169.254 drop",
        "chain inet weir_firewall forward { policy drop ; }",
    ] {
        let switch = Switch::attached()?;
        switch.side.node.tool("nft", line)?;
        let said = switch.refusal()?;
        ensure!(said.contains("the administrator's rules"), "{line}: {said}");
        // A policy to drop would drop what has no element any more.
        switch.uninstall("--force")?;
        let own = switch.own_tables()?.join("\n");
        ensure!(
            own.contains("table inet weir_firewall") && own.contains("differential-2"),
            "{line}: {own}"
        );
        ensure!(!own.contains("weir_portmap"), "{line}: {own}");
    }
    Ok(())
}

/// `macspoofchk` goes with the link, and no call makes it for one that is there.
#[test]
fn the_check_of_source_macs_is_not_dropped() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    let mut config = bridged(PORT);
    config["plugins"][0]["macspoofchk"] = json!(true);
    switch.attach(GOES, &config)?;
    let said = switch.refusal()?;
    ensure!(said.contains("macspoofchk"), "{said}");
    Ok(())
}

/// Hostile: whoever can write the cache would say what is run as root, and for whom.
#[test]
fn a_cache_that_others_can_write_is_not_used() -> Result<()> {
    let switch = Switch::attached()?;
    fs::set_permissions(switch.cached(GOES), Permissions::from_mode(0o666))?;
    let said = switch.refusal()?;
    assert_contains(&said, &["is not trusted", "mode 0666"]);
    fs::set_permissions(switch.cached(GOES), Permissions::from_mode(0o600))?;
    fs::set_permissions(switch.results(), Permissions::from_mode(0o777))?;
    let said = switch.refusal()?;
    assert_contains(&said, &["is not trusted", "mode 0777"]);
    Ok(())
}

/// Hostile: a definition that is called as the node's own network. Its configuration is the tenant's, and the reference
/// plugins, which no grant bounds, would be run with it.
#[test]
fn a_definitions_attachment_is_not_handed_over() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    put_multus(&switch)?;
    // A tenant's bridge does not turn forwarding on.
    switch
        .side
        .node
        .inside(|| Ok(fs::write("/proc/sys/net/ipv4/ip_forward", "1")?))?;
    // No file of the node's has it, so that it counts as a tenant's.
    let mut config = bridged(PORT);
    config["plugins"] = json!([{
        "type": "bridge", "bridge": "mine", "isGateway": true, "ipMasq": true,
        "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
    }]);
    switch.attach(GOES, &config)?;
    let said = switch.refusal()?;
    assert_contains(
        &said,
        &["`-/net differential-2 eth0`", "a definition's network"],
    );
    Ok(())
}

/// Hostile: the same before definitions had marks of their own.
#[test]
fn a_configuration_that_root_did_not_write_is_not_run() -> Result<()> {
    let switch = Switch::attached()?;
    put_multus(&switch)?;
    let said = switch.refusal()?;
    ensure!(said.contains("it may be a tenant's"), "{said}");
    // The same text in a file of the node's.
    let node = &switch.side.node;
    node.put_network("10-net.conflist", &bridged(PORT))?;
    switch.uninstall("")?;
    switch.has_no_table()
}

/// Hostile: a plugin that comes back and is weir, or that others can exchange.
#[test]
fn only_a_plugin_that_root_alone_can_have_put_there_is_run() -> Result<()> {
    let switch = Switch::used()?;
    switch.attach(GOES, &bridged(PORT))?;
    let place = switch.replaced("portmap");
    let cases: [(&str, Put); 4] = [
        ("is weir itself", |place| Ok(symlink(binary(), place)?)),
        ("is weir itself", |place| {
            fs::copy(binary(), place)?;
            Ok(())
        }),
        ("mode 0777", |place| {
            fs::copy(format!("{REFERENCE}/portmap"), place)?;
            Ok(fs::set_permissions(place, Permissions::from_mode(0o777))?)
        }),
        ("not an ELF program", |place| {
            Ok(fs::write(place, "the reference")?)
        }),
    ];
    for (expected, put) in cases {
        fs::remove_file(&place)?;
        put(&place)?;
        let said = switch.refusal()?;
        ensure!(said.contains(expected), "{expected}: {said}");
    }
    // One that succeeds and makes nothing.
    fs::remove_file(&place)?;
    symlink(format!("{REFERENCE}/tuning"), &place)?;
    let said = switch.refusal()?;
    ensure!(said.contains("no known rule"), "{said}");
    Ok(())
}

/// Hostile: a container with the address of another, which the reference attached and has accepted. What is taken back
/// is not the other's.
#[test]
fn what_is_taken_back_is_nobody_elses() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    let victim = attach(&switch.side, Reference, STAYS, &bridged(OTHER_PORT))?;
    let mut forged = with_address(&bridged(PORT), &victim)?;
    forged["plugins"][0]["bridge"] = json!("other");
    forged["plugins"][0]["isGateway"] = json!(false);
    switch.attach(GOES, &forged)?;
    // Its second part fails.
    fs::remove_file(switch.replaced("portmap"))?;
    symlink(format!("{REFERENCE}/tuning"), switch.replaced("portmap"))?;
    let said = switch.refusal()?;
    ensure!(said.contains("no known rule"), "{said}");
    let deleted = switch
        .side
        .call_as(Weir, "DEL", GOES, &with_previous(&forged, None))?;
    ensure!(deleted.succeeded(), "{deleted:?}");
    Ok(())
}
