//! `tuning` in a list after `bridge`: configurations, what DEL restores, what CHECK sees, backups of
//! the other side; and what the packaged reference does not know yet.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Call, Container, Outcome, weir};

use crate::case::{Case, cases, wait_for};
use crate::compare::differences;
use crate::normalise;
use crate::side::{BACKUPS, Side, Whose, must_succeed, with_previous};
use crate::snapshot::Snapshot;

/// `bridge` with host-local, and `tuning` with these keys after it.
fn tuned(keys: Value) -> Case {
    Case::bridge(json!({"isGateway": true}), json!({"subnet": "10.1.0.0/24"})).then(tuning(keys))
}

/// The same, with keys that must be refused, and the bridge there already: what a plugin before the one
/// that fails has made there, stays.
fn refused(keys: Value) -> Case {
    let case = Case::bridge(json!({}), json!({"subnet": "10.1.0.0/24"})).then(tuning(keys));
    case.host("link add name br type bridge").fails()
}

/// A plugin configuration of `tuning`.
fn tuning(mut keys: Value) -> Value {
    keys["type"] = json!("tuning");
    keys
}

cases! {
    nothing_is_tuned: tuned(json!({}));
    keys_that_say_none: tuned(json!({"mac": "", "mtu": 0, "promisc": false, "sysctl": null}));
    parameters: tuned(json!({"sysctl": {
        "net.ipv4.tcp_keepalive_time": "500", "net/ipv4/tcp_retries1": "99",
        "net.ipv4.conf.eth0.rp_filter": "2", "net/ipv6.conf/eth0.accept_ra": "0",
        "net.ipv4.tcp_rmem": "4096\t90000\t7000000",
        "net.ipv4.ip_local_port_range": "20000\t30000",
    }}));
    forwarding: tuned(json!({"sysctl": {"net.ipv4.ip_forward": "1"}}));
    a_parameter_of_a_protocol: tuned(json!({"sysctl": {"net.ipv6.icmp.ratelimit": "500"}}));
    parameters_of_args: tuned(json!({
        "sysctl": {"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.conf.eth0.rp_filter": "2"},
        "args": {"cni": {"sysctl": {"net.ipv4.tcp_keepalive_time": "600", "net.ipv4.tcp_retries1": "99"}}},
    }));
    a_mac: tuned(json!({"mac": "02:00:00:00:00:0a"}));
    a_mac_of_cni_args: tuned(json!({"mac": "02:00:00:00:00:0a"}))
        .args("IgnoreUnknown=1;MAC=02:00:00:00:00:0b", "IgnoreUnknown=1;MAC=02:00:00:00:00:0c");
    a_mac_of_the_runtime: tuned(json!({
        "mac": "02:00:00:00:00:0a", "runtimeConfig": {"mac": "02:00:00:00:00:0d"},
    })).args("IgnoreUnknown=1;MAC=02:00:00:00:00:0b", "IgnoreUnknown=1;MAC=02:00:00:00:00:0c");
    a_mac_of_args: tuned(json!({
        "runtimeConfig": {"mac": "02:00:00:00:00:0d"},
        "args": {"cni": {"mac": "02:00:00:00:00:0e"}},
    }));
    a_mac_that_args_take_away: tuned(json!({
        "mac": "02:00:00:00:00:0a", "args": {"cni": {"mac": ""}},
    }));
    promiscuous: tuned(json!({"promisc": true}));
    an_mtu: tuned(json!({"mtu": 1400}));
    not_all_multicast: tuned(json!({"allmulti": false}));
    everything_at_once: tuned(json!({
        "sysctl": {"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.conf.eth0.rp_filter": "2"},
        "mac": "02:00:00:00:00:0a", "promisc": true, "mtu": 1400, "allmulti": true,
    }));
    backups_somewhere_else: tuned(json!({"mtu": 1400, "dataDir": "/srv/tuning"}));
    everything_of_args: tuned(json!({
        "mac": "02:00:00:00:00:0a", "promisc": true, "mtu": 1400, "allmulti": true,
        "args": {"cni": {
            "mac": "02:00:00:00:00:0e", "promisc": false, "mtu": 1300, "allmulti": false,
        }},
    }));
    dual_stack: Case::bridge(
        json!({"isDefaultGateway": true}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]]}),
    ).then(tuning(json!({"mtu": 1300, "promisc": true})));
    version_0_4_0: tuned(json!({"mac": "02:00:00:00:00:0a", "mtu": 1400}))
        .with("cniVersion", json!("0.4.0"));
    version_0_3_1: tuned(json!({"mac": "02:00:00:00:00:0a", "mtu": 1400}))
        .with("cniVersion", json!("0.3.1"));
    version_0_2_0: tuned(json!({"mac": "02:00:00:00:00:0a", "mtu": 1400}))
        .with("cniVersion", json!("0.2.0"));
    without_a_previous_result: Case::new(tuning(json!({"mtu": 1400}))).fails();
    an_mtu_that_is_too_large: refused(json!({"mtu": 70000}));
    a_mac_of_a_group: refused(json!({"mac": "01:00:00:00:00:0a"}));
    a_mac_that_is_none: refused(json!({"mac": "02:00:00"}));
    a_parameter_of_another_tree: refused(json!({"sysctl": {"kernel.hostname": "x"}}));
    a_parameter_that_does_not_exist: refused(json!({"sysctl": {"net.ipv4.nothing": "1"}}));
    a_value_that_the_kernel_refuses:
        refused(json!({"sysctl": {"net.ipv4.tcp_keepalive_time": "many"}}));
}

/// Every attribute that both sides know, and parameters.
fn all_attributes() -> Value {
    json!({
        "sysctl": {"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.conf.eth0.rp_filter": "2"},
        "mac": "02:00:00:00:00:0a", "promisc": true, "mtu": 1400, "allmulti": true,
    })
}

/// A side with an attachment of `bridge`, to call `tuning` alone on.
struct Attached {
    side: Side,
    /// The result of `bridge`.
    result: Value,
}

impl Attached {
    fn create(whose: Whose) -> Result<Self> {
        let side = Side::create(whose, 1)?;
        let config = json!({
            "cniVersion": "1.0.0", "name": "net", "type": "bridge", "bridge": "br",
            "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
        });
        let result = side.call("ADD", 0, &config, None)?.result();
        Ok(Self { side, result })
    }

    fn container(&self) -> &Container {
        &self.side.containers[0]
    }

    /// Calls `tuning` with these keys after `bridge`.
    fn tune_by(&self, whose: Whose, command: &str, keys: &Value) -> Result<Outcome> {
        let config = self.config(keys, &self.result);
        self.side.call_of(whose, command, 0, &config, None)
    }

    fn tune(&self, command: &str, keys: &Value) -> Result<Outcome> {
        self.tune_by(self.side.whose, command, keys)
    }

    fn config(&self, keys: &Value, previous: &Value) -> Value {
        let mut config = tuning(keys.clone());
        config["cniVersion"] = json!("1.0.0");
        config["name"] = json!("net");
        with_previous(&config, Some(previous))
    }

    fn snapshot(&self, requested: &Value) -> Result<Value> {
        let snapshot = Snapshot::take(&self.side)?;
        Ok(normalise::snapshot(&snapshot, &requested.to_string()))
    }

    /// Runs DEL with these keys, which must give the interface these attributes back.
    fn gets_back(&self, keys: &Value, before: &Value) -> Result<()> {
        must_succeed(&self.tune("DEL", keys)?)?;
        assert_eq!(self.attributes()?, *before);
        Ok(())
    }

    /// The attributes of the container's interface that `tuning` changes, as `ip` tells them.
    fn attributes(&self) -> Result<Value> {
        let links = self.container().ip_json("link show eth0")?;
        let keys = ["address", "mtu", "txqlen", "promiscuity", "allmulti"];
        Ok(keys
            .iter()
            .map(|key| (*key, links[0][*key].clone()))
            .collect())
    }

    fn backup(&self) -> PathBuf {
        let directory = self.side.node.root().join(&BACKUPS[1..]);
        directory.join(format!("{}_eth0.json", self.container().id))
    }
}

/// A parameter below `net.`, as a container has it.
fn parameter(container: &Container, key: &str) -> Result<String> {
    let path = PathBuf::from("/proc/sys").join(key.replace('.', "/"));
    let value = container.inside(|| Ok(fs::read_to_string(&path)?))?;
    Ok(value.trim().to_owned())
}

/// DEL gives the interface its attributes back, leaves the parameters, and removes the backup, whose
/// text is the same on both sides.
#[test]
fn del_restores_what_add_changed() -> Result<()> {
    let sides = [
        Attached::create(Whose::Reference)?,
        Attached::create(Whose::Weir)?,
    ];
    let keys = all_attributes();
    let before = [sides[0].attributes()?, sides[1].attributes()?];
    for attached in &sides {
        must_succeed(&attached.tune("ADD", &keys)?)?;
    }
    compare("ADD", &sides, &keys)?;
    let mut backups = Vec::new();
    for (attached, before) in sides.iter().zip(&before) {
        ensure!(attached.attributes()? != *before, "nothing was changed");
        let own = before["address"].as_str().context("a MAC")?;
        let backup = fs::read_to_string(attached.backup()).context("the backup")?;
        ensure!(backup.contains(own), "{own} is not in {backup}");
        backups.push(backup.replace(own, "{own}"));
    }
    assert_eq!(backups[0], backups[1]);
    for (attached, before) in sides.iter().zip(&before) {
        must_succeed(&attached.tune("DEL", &keys)?)?;
        assert_eq!(attached.attributes()?, *before, "{:?}", attached.side.whose);
        assert_eq!(
            parameter(attached.container(), "net.ipv4.tcp_keepalive_time")?,
            "500"
        );
        ensure!(!attached.backup().exists(), "the backup is left");
        must_succeed(&attached.tune("DEL", &keys)?)?;
    }
    compare("DEL", &sides, &keys)
}

/// Waits until both sides have the same state.
fn compare(step: &str, sides: &[Attached; 2], keys: &Value) -> Result<()> {
    let mut differing = Vec::new();
    let is_same = wait_for(|| {
        let [reference, weir] = [sides[0].snapshot(keys)?, sides[1].snapshot(keys)?];
        differing = differences(&reference, &weir);
        Ok(differing.is_empty())
    })?;
    ensure!(
        is_same,
        "{step}: states differ:\n  {}",
        differing.join("\n  ")
    );
    Ok(())
}

/// Either side restores what the other one changed, and sees it in CHECK.
#[test]
fn a_backup_is_good_for_the_other_side() -> Result<()> {
    for (from, to) in Whose::EACH_WAY {
        let attached = Attached::create(from)?;
        let before = attached.attributes()?;
        let keys = all_attributes();
        must_succeed(&attached.tune_by(from, "ADD", &keys)?)?;
        must_succeed(&attached.tune_by(to, "CHECK", &keys)?)?;
        must_succeed(&attached.tune_by(to, "DEL", &keys)?)?;
        assert_eq!(attached.attributes()?, before, "{from:?} to {to:?}");
        ensure!(!attached.backup().exists(), "{from:?} to {to:?}: a backup");
    }
    Ok(())
}

/// Something that is done to a tuned container.
type Damage = fn(&Container) -> Result<()>;

/// Whether CHECK of each side sees it, must be the same.
fn check_after(keys: &Value, damage: Damage, is_seen: bool) -> Result<()> {
    for whose in [Whose::Reference, Whose::Weir] {
        let attached = Attached::create(whose)?;
        must_succeed(&attached.tune("ADD", keys)?)?;
        must_succeed(&attached.tune("CHECK", keys)?)?;
        damage(attached.container())?;
        let after = attached.tune("CHECK", keys)?;
        ensure!(after.succeeded() != is_seen, "{whose:?}: {after:?}");
        if whose == Whose::Weir && is_seen {
            assert_eq!(after.code(), 106, "{after:?}");
        }
        must_succeed(&attached.tune("DEL", keys)?)?;
    }
    Ok(())
}

fn ip(container: &Container, line: &str) -> Result<()> {
    container.ip(line).map(drop)
}

fn write(container: &Container, path: &str, value: &str) -> Result<()> {
    let path = PathBuf::from("/proc/sys").join(path);
    container.inside(|| Ok(fs::write(&path, value)?))
}

macro_rules! damages {
    ($($name:ident: $keys:expr, $damage:expr, $is_seen:literal;)+) => {$(
        #[test]
        fn $name() -> Result<()> {
            check_after(&$keys, $damage, $is_seen)
        }
    )+};
}

damages! {
    another_value:
        all_attributes(), |c| write(c, "net/ipv4/tcp_keepalive_time", "501"), true;
    another_value_of_the_interface:
        all_attributes(), |c| write(c, "net/ipv4/conf/eth0/rp_filter", "1"), true;
    a_value_that_nobody_asked_for:
        all_attributes(), |c| write(c, "net/ipv4/tcp_retries1", "77"), false;
    another_mac:
        all_attributes(), |c| ip(c, "link set eth0 address 02:00:00:00:00:77"), true;
    another_mac_that_nobody_asked_for:
        json!({"mtu": 1400}), |c| ip(c, "link set eth0 address 02:00:00:00:00:77"), false;
    not_promiscuous_any_more:
        all_attributes(), |c| ip(c, "link set eth0 promisc off"), true;
    promiscuous_though_nobody_asked_for_it:
        json!({"mtu": 1400}), |c| ip(c, "link set eth0 promisc on"), true;
    another_mtu: all_attributes(), |c| ip(c, "link set eth0 mtu 1401"), true;
    another_mtu_that_nobody_asked_for:
        json!({"promisc": true}), |c| ip(c, "link set eth0 mtu 1401"), false;
    not_all_multicast_any_more:
        all_attributes(), |c| ip(c, "link set eth0 allmulticast off"), true;
    all_multicast_though_it_was_not_to_be:
        json!({"allmulti": false}), |c| ip(c, "link set eth0 allmulticast on"), true;
    all_multicast_that_nobody_asked_for:
        json!({"mtu": 1400}), |c| ip(c, "link set eth0 allmulticast on"), false;
    no_interface_any_more: all_attributes(), |c| ip(c, "link delete eth0"), true;
    no_interface_for_parameters_alone:
        json!({"sysctl": {"net.ipv4.tcp_keepalive_time": "500"}}), |c| ip(c, "link delete eth0"), true;
}

/// weir alone: `tuning` with these keys on an attachment of `bridge`.
fn alone() -> Result<Attached> {
    Attached::create(Whose::Weir)
}

#[test]
fn the_queue_length_is_set_checked_and_restored() -> Result<()> {
    let attached = alone()?;
    let before = attached.attributes()?;
    // 0 is a length, not none.
    for keys in [
        json!({"txQLen": 77}),
        json!({"txQLen": 5, "args": {"cni": {"txQLen": 0}}}),
    ] {
        let expected = keys.pointer("/args/cni/txQLen").unwrap_or(&keys["txQLen"]);
        must_succeed(&attached.tune("ADD", &keys)?)?;
        let now = attached.attributes()?;
        // `ip` says nothing of a queue without length.
        assert_eq!(
            now["txqlen"].as_u64().unwrap_or(0),
            expected.as_u64().unwrap_or(9)
        );
        let backup: Value = serde_json::from_str(&fs::read_to_string(attached.backup())?)?;
        assert_eq!(backup, json!({"txQLen": before["txqlen"]}));
        must_succeed(&attached.tune("CHECK", &keys)?)?;
        ip(attached.container(), "link set eth0 txqueuelen 6")?;
        assert_eq!(attached.tune("CHECK", &keys)?.code(), 106);
        attached.gets_back(&keys, &before)?;
    }
    Ok(())
}

#[test]
fn the_result_tells_mac_and_mtu() -> Result<()> {
    let attached = alone()?;
    let mut config = attached.config(
        &json!({"mac": "02-00-00-00-00-0A", "mtu": 1400}),
        &attached.result,
    );
    config["cniVersion"] = json!("1.1.0");
    let result = attached.side.call("ADD", 0, &config, None)?.result();
    let mut expected = attached.result.clone();
    expected["cniVersion"] = json!("1.1.0");
    expected["interfaces"][2]["mac"] = json!("02:00:00:00:00:0a");
    expected["interfaces"][2]["mtu"] = json!(1400);
    assert_eq!(result, expected);
    Ok(())
}

#[test]
fn ifname_stands_for_the_interface() -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    let container = &side.containers[0];
    ip(container, "link add eth0.5 type veth peer name other")?;
    let config = with_previous(
        &json!({
            "cniVersion": "1.0.0", "name": "net", "type": "tuning", "mtu": 1400,
            "sysctl": {"net.ipv4.conf.IFNAME.rp_filter": "2", "net/ipv6/conf/IFNAME/accept_ra": "0"},
        }),
        Some(&json!({"cniVersion": "1.0.0"})),
    );
    let call = |command: &str| -> Result<Outcome> {
        let mut call: Call = weir(&side.node, "tuning", command, container, &config);
        call.set("CNI_IFNAME", "eth0.5");
        side.node.run(&call)
    };
    must_succeed(&call("ADD")?)?;
    let value = |path: &str| container.inside(|| Ok(fs::read_to_string(path)?));
    assert_eq!(value("/proc/sys/net/ipv4/conf/eth0.5/rp_filter")?, "2\n");
    assert_eq!(value("/proc/sys/net/ipv6/conf/eth0.5/accept_ra")?, "0\n");
    let backup = format!("run/cni/tuning/{}_eth0.5.json", container.id);
    assert!(side.node.root().join(&backup).exists());
    must_succeed(&call("CHECK")?)?;
    must_succeed(&call("DEL")?)?;
    assert!(!side.node.root().join(&backup).exists());
    Ok(())
}

#[test]
fn white_space_in_a_value_does_not_count() -> Result<()> {
    let attached = alone()?;
    let keys = json!({"sysctl": {"net.ipv4.tcp_rmem": "4096 90000  7000000"}});
    must_succeed(&attached.tune("ADD", &keys)?)?;
    must_succeed(&attached.tune("CHECK", &keys)?)?;
    let value = parameter(attached.container(), "net.ipv4.tcp_rmem")?;
    assert_eq!(value, "4096\t90000\t7000000");
    Ok(())
}

/// It has no value that could be put back.
#[test]
fn a_secret_that_was_never_set() -> Result<()> {
    let attached = alone()?;
    let path = "/proc/sys/net/ipv6/conf/eth0/stable_secret";
    let read = |container: &Container| container.inside(|| Ok(fs::read_to_string(path)?));
    ensure!(read(attached.container()).is_err(), "the secret is set");
    let secret = "2001:0db8:0000:0000:0000:0000:0000:0001";
    let keys = json!({"sysctl": {"net.ipv6.conf.IFNAME.stable_secret": secret}});
    assert_eq!(attached.tune("CHECK", &keys)?.code(), 5);
    must_succeed(&attached.tune("ADD", &keys)?)?;
    assert_eq!(read(attached.container())?.trim(), secret);
    must_succeed(&attached.tune("CHECK", &keys)?)
}

#[test]
fn the_list_of_allowed_parameters() -> Result<()> {
    let attached = alone()?;
    let file = attached
        .side
        .node
        .root()
        .join("etc/cni/tuning/allowlist.conf");
    fs::create_dir_all(file.parent().context("a directory")?)?;
    let keys = json!({"sysctl": {
        "net.ipv4.tcp_keepalive_time": "500", "net/ipv4/conf/IFNAME/rp_filter": "2",
    }});
    let refused = |list: &str, code: u64, words: &[&str]| -> Result<()> {
        fs::write(&file, list)?;
        let before = parameter(attached.container(), "net.ipv4.tcp_keepalive_time")?;
        let outcome = attached.tune("ADD", &keys)?;
        assert_eq!(outcome.code(), code, "{outcome:?}");
        for word in words.iter().chain(&["/etc/cni/tuning/allowlist.conf"]) {
            assert!(outcome.stdout.contains(word), "{word}: {outcome:?}");
        }
        assert_eq!(
            parameter(attached.container(), "net.ipv4.tcp_keepalive_time")?,
            before
        );
        Ok(())
    };
    refused("\n", 110, &["net/ipv4/conf/IFNAME/rp_filter"])?;
    refused("IFNAME", 110, &["net.ipv4.tcp_keepalive_time"])?;
    // What is matched is the key as it is spelled in the configuration.
    refused("^net\\.ipv4\\.", 110, &["net/ipv4/conf/IFNAME/rp_filter"])?;
    refused("^net\n[z-a]\n", 111, &["line 2", "[z-a]"])?;

    fs::write(
        &file,
        "\n  keepalive_time$  \r\n\n^net.ipv4.conf.IFNAME.\\w+$\n",
    )?;
    must_succeed(&attached.tune("ADD", &keys)?)?;
    assert_eq!(
        parameter(attached.container(), "net.ipv4.tcp_keepalive_time")?,
        "500"
    );
    // Without parameters it is of no concern.
    fs::write(&file, "(")?;
    must_succeed(&attached.tune("ADD", &json!({"mtu": 1400}))?)
}

/// In one list, with one backup: what was before the first of the two comes back.
#[test]
fn two_of_them_in_one_list() -> Result<()> {
    let attached = alone()?;
    let before = attached.attributes()?;
    let (first, second) = (
        json!({"mtu": 1400, "promisc": true}),
        json!({"mtu": 1300, "allmulti": true}),
    );
    must_succeed(&attached.tune("ADD", &first)?)?;
    must_succeed(&attached.tune("ADD", &second)?)?;
    assert_eq!(attached.attributes()?["mtu"], 1300);
    must_succeed(&attached.tune("DEL", &second)?)?;
    attached.gets_back(&first, &before)
}

#[test]
fn a_garbled_backup_is_removed() -> Result<()> {
    let attached = alone()?;
    let keys = json!({"mtu": 1400});
    for garbled in [
        &b""[..],
        b"{\n \"mtu\": ",
        b"\xff\x00",
        b"[7]",
        b"{\"mac\": \"nobody\"}",
    ] {
        must_succeed(&attached.tune("ADD", &keys)?)?;
        fs::write(attached.backup(), garbled)?;
        must_succeed(&attached.tune("DEL", &keys)?)?;
        assert!(!attached.backup().exists(), "{garbled:?}");
    }
    let log = attached.side.node.log()?;
    assert_eq!(log.matches("a backup is garbled").count(), 5, "{log}");
    Ok(())
}

/// The log reports a value that can no longer be restored, and DEL does everything else.
#[test]
fn what_cannot_be_restored_does_not_stop_del() -> Result<()> {
    let attached = alone()?;
    let keys = json!({"mtu": 1400, "promisc": true});
    must_succeed(&attached.tune("ADD", &keys)?)?;
    fs::write(
        attached.backup(),
        r#"{"mac": "01:00:00:00:00:01", "mtu": 70000, "promisc": false}"#,
    )?;
    must_succeed(&attached.tune("DEL", &keys)?)?;
    let now = attached.attributes()?;
    assert_eq!(now["promiscuity"], 0);
    assert_eq!(now["mtu"], 1400);
    assert!(!attached.backup().exists());
    let log = attached.side.node.log()?;
    assert_eq!(log.matches("cannot give an interface").count(), 2, "{log}");
    Ok(())
}

/// DEL removes the backup where the interface or the whole container is gone already.
#[test]
fn del_without_what_was_tuned() -> Result<()> {
    let keys = all_attributes();
    let attached = alone()?;
    must_succeed(&attached.tune("ADD", &keys)?)?;
    ip(attached.container(), "link delete eth0")?;
    must_succeed(&attached.tune("DEL", &keys)?)?;
    assert!(!attached.backup().exists());

    for gone in ["", "/does/not/exist"] {
        let attached = alone()?;
        must_succeed(&attached.tune("ADD", &keys)?)?;
        let config = attached.config(&keys, &attached.result);
        let node = &attached.side.node;
        let mut del = weir(node, "tuning", "DEL", attached.container(), &config);
        match gone {
            "" => del.unset("CNI_NETNS"),
            gone => del.set("CNI_NETNS", gone),
        };
        must_succeed(&node.run(&del)?)?;
        assert!(!attached.backup().exists(), "{gone:?}");
        must_succeed(&node.run(&del)?)?;
    }
    Ok(())
}

/// A backup does not say of which network it is, so that only its DEL may remove it.
#[test]
fn gc_leaves_the_backups() -> Result<()> {
    let attached = alone()?;
    must_succeed(&attached.tune("ADD", &json!({"mtu": 1400}))?)?;
    let mut config = attached.config(&json!({"mtu": 1400}), &Value::Null);
    config["cniVersion"] = json!("1.1.0");
    config["name"] = json!("another");
    config["cni.dev/valid-attachments"] = json!([]);
    must_succeed(&attached.side.call("GC", 0, &config, None)?)?;
    assert!(attached.backup().exists());
    Ok(())
}
