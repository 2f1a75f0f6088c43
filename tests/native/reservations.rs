//! A native IPAM plugin of whereabouts' manners under a component: several addresses of both families, a slow API, and one
//! that fails.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::trace::kill_at_points;
use weir_kit::{Container, program, weir};

use crate::world::{BRIDGE, NETWORK, World};

/// Its name, which is whereabouts'.
const RESERVING: &str = "whereabouts";

/// At how many points of an ADD weir is killed.
const POINTS: usize = 30;

struct NodeWithReservations {
    world: World,
    api: PathBuf,
}

impl NodeWithReservations {
    /// With two IPv4 ranges and one of IPv6.
    fn create() -> Result<Self> {
        Self::with(json!({}))
    }

    /// The same with other keys of its entry.
    fn with(entry: Value) -> Result<Self> {
        let world = World::create()?;
        world.put(&program("weir-native-ipam"), RESERVING)?;
        world.list(RESERVING, entry)?;
        let api = world.file("api");
        fs::create_dir(&api)?;
        let fixture = Self { world, api };
        fixture.world.bridge(fixture.ipam())?;
        Ok(fixture)
    }

    fn ipam(&self) -> Value {
        json!({
            "type": RESERVING, "api": self.api,
            "ranges": ["10.71.0.0/29", "10.72.0.0/24", "fd00:71::/64"],
            "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "192.0.2.0/24", "gw": "10.72.0.1" }],
        })
    }

    /// What a runtime gives the component.
    fn config(&self) -> Value {
        json!({
            "cniVersion": "1.0.0", "name": NETWORK, "type": "bridge", "bridge": BRIDGE, "ipam": self.ipam(),
        })
    }

    fn says(&self, file: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.api.join(file), text)?)
    }

    /// The addresses that are reserved.
    fn reserved(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.api.join("reservations")).unwrap_or_default();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let all: Value = serde_json::from_str(&text)?;
        Ok(all
            .as_object()
            .context("reservations")?
            .keys()
            .cloned()
            .collect())
    }
}

#[test]
fn several_addresses_of_both_families_are_assigned_checked_and_released() -> Result<()> {
    let fixture = NodeWithReservations::create()?;
    let world = &fixture.world;
    let result = world.add()?;
    let expected = ["10.71.0.2/29", "10.72.0.2/24", "fd00:71::2/64"];
    let gateways = ["10.71.0.1", "10.72.0.1", "fd00:71::1"];
    let ips: Vec<Value> = (expected.iter().zip(gateways))
        .map(|(address, gateway)| json!({ "address": address, "gateway": gateway, "interface": 2 }))
        .collect();
    assert_eq!(result["ips"], json!(ips), "{result:#}");
    assert_eq!(result["dns"]["nameservers"], json!(["192.0.2.53"]));
    assert_eq!(result["routes"].as_array().map(Vec::len), Some(2));
    let shown = world.container.ip_json("addr show eth0")?;
    let own = shown[0]["addr_info"].as_array().context("addresses")?;
    for address in ["10.71.0.2", "10.72.0.2", "fd00:71::2"] {
        assert!(own.iter().any(|one| one["local"] == address), "{shown:#}");
    }
    world.succeeds("check")?;
    world.succeeds("status")?;
    assert_eq!(fixture.reserved()?.len(), 3);

    // CHECK reports what someone else released.
    let kept = fs::read(fixture.api.join("reservations"))?;
    fixture.says("reservations", "{}")?;
    world.fails_saying(
        "check",
        &["network `net`: plugin `bridge`: native plugin `whereabouts`: no address is reserved"],
    )?;
    fs::write(fixture.api.join("reservations"), kept)?;
    world.succeeds("del")?;
    assert!(fixture.reserved()?.is_empty());
    world.succeeds("del")?;
    Ok(())
}

/// GC releases what no valid attachment holds, also what no cache knows.
#[test]
fn gc_releases_what_nobody_holds() -> Result<()> {
    let fixture = NodeWithReservations::create()?;
    fixture.world.add()?;
    let mut all: Value = serde_json::from_slice(&fs::read(fixture.api.join("reservations"))?)?;
    all["10.72.0.99"] = json!("gone/eth0");
    fixture.says("reservations", &all.to_string())?;
    let keep = format!("{}/eth0", fixture.world.container.id);
    let native = fixture.world.native();
    let words = ["net", "gc", NETWORK, "--keep", &keep, "--bin-dir"];
    let words = [&words[..], &[native.to_str().context("a path")?]].concat();
    fixture.world.node.weir(&words)?;
    let left = fixture.reserved()?;
    assert_eq!(left, ["10.71.0.2", "10.72.0.2", "fd00:71::2"]);
    fixture.world.succeeds("gc")?;
    assert!(fixture.reserved()?.is_empty());
    Ok(())
}

#[test]
fn a_slow_api_is_waited_for() -> Result<()> {
    let fixture = NodeWithReservations::create()?;
    fixture.says("delay", "700")?;
    let start = Instant::now();
    fixture.world.add()?;
    assert!(
        start.elapsed() >= Duration::from_millis(2100),
        "three ranges"
    );
    fixture.world.succeeds("del")?;
    assert!(fixture.reserved()?.is_empty());
    Ok(())
}

/// Killed between two requests, it has reserved an address already, which its DEL releases.
#[test]
fn one_that_is_too_slow_is_killed_and_releases() -> Result<()> {
    let fixture = NodeWithReservations::with(json!({ "limits": { "time": "1s" } }))?;
    fixture.says("delay", "400")?;
    fixture.world.fails_saying("add", &[
            "plugin `bridge`: native plugin `whereabouts`: it did not end within 1s and was killed (CNI error 226)",
        ])?;
    assert!(fixture.reserved()?.is_empty());
    assert_eq!(fixture.world.container.links()?, ["lo"]);
    Ok(())
}

/// The first request fails, or has changed something when it fails. In both cases DEL is called.
#[test]
fn an_api_that_fails_is_reported_and_nothing_stays() -> Result<()> {
    for when in ["before", "after"] {
        let fixture = NodeWithReservations::create()?;
        fixture.says("down", when)?;
        fixture.world.fails_saying("add", &[
                "network `net`: plugin `bridge`: native plugin `whereabouts`: Get \"https://10.96.0.1:443",
                "connection refused (CNI error 11)",
                "and then DEL: Get \"https://10.96.0.1:443",
            ])?;
        assert!(fixture.reserved()?.is_empty(), "{when}");
        assert_eq!(fixture.world.container.links()?, ["lo"]);
        // The runtime deletes as well, and again until the API answers.
        fixture
            .world
            .fails_saying("del", &["native plugin `whereabouts`: Get"])?;
        fixture
            .world
            .fails_saying("status", &["native plugin `whereabouts`: Get"])?;
        fs::remove_file(fixture.api.join("down"))?;
        fixture.world.succeeds("del")?;
        fixture.world.succeeds("status")?;
    }
    Ok(())
}

/// weir is killed at many points of ADD, before, while and after the program runs: DEL releases what it has reserved by
/// then, and nothing reserves later.
#[test]
fn a_del_after_a_kill_at_any_point_releases() -> Result<()> {
    let fixture = NodeWithReservations::create()?;
    let World { node, .. } = &fixture.world;
    let call = |command: &str, container: &Container| {
        let mut call = weir(node, "bridge", command, container, &fixture.config());
        call.set("CNI_PATH", fixture.world.native());
        call
    };
    kill_at_points(POINTS, |point| {
        let container = node.container()?;
        let end = node.inside(|| call("ADD", &container).run_until(point))?;
        let deleted = node.run(&call("DEL", &container))?;
        assert!(deleted.succeeded(), "after {point:?}: {deleted:?}");
        assert!(fixture.reserved()?.is_empty(), "after {point:?}");
        assert_eq!(container.links()?, ["lo"], "after {point:?}");
        Ok(end)
    })
}

#[test]
fn a_full_range_is_reported_and_the_others_are_released() -> Result<()> {
    let fixture = NodeWithReservations::create()?;
    let others = (2..7).map(|host| (format!("10.71.0.{host}"), json!("other/eth0")));
    let taken: serde_json::Map<String, Value> = others.collect();
    // The last of the ranges is full.
    let full = json!(["10.72.0.0/24", "10.71.0.0/29"]);
    fixture
        .world
        .bridge(json!({ "type": RESERVING, "api": fixture.api, "ranges": full }))?;
    fixture.says("reservations", &Value::Object(taken.clone()).to_string())?;
    fixture
        .world
        .fails_saying("add", &["range 10.71.0.0/29 is full (CNI error 11)"])?;
    assert_eq!(fixture.reserved()?.len(), taken.len());
    Ok(())
}
