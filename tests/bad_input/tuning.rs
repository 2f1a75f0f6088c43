//! `tuning`: bad configurations, and an ADD that fails after it has changed something.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Call, Node, weir};

use super::{Attached, strict};

/// Parameters that the tests try to change.
const PARAMETERS: [&str; 4] = [
    "ipv4/tcp_keepalive_time",
    "ipv4/conf/eth0/rp_filter",
    "ipv4/tcp_rmem",
    "ipv4/tcp_retries1",
];

struct Place(Attached);

/// What `tuning` could change: the interface, parameters in both namespaces, and backups.
fn state(place: &Attached) -> Result<Vec<String>> {
    let mut state = vec![place.container.ip("-d -o link show eth0")?];
    for path in PARAMETERS.map(|path| PathBuf::from("/proc/sys/net").join(path)) {
        state.push(place.container.inside(|| Ok(fs::read_to_string(&path)?))?);
        // The host has no such interface.
        let on_host = place.node.inside(|| Ok(fs::read_to_string(&path).ok()))?;
        state.push(on_host.unwrap_or_default());
    }
    for entry in fs::read_dir(backups(&place.node)).into_iter().flatten() {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            state.push(format!(
                "{}: {}",
                path.display(),
                fs::read_to_string(&path)?
            ));
        }
    }
    Ok(state)
}

fn backups(node: &Node) -> PathBuf {
    node.root().join("run/cni/tuning")
}

impl Place {
    fn create() -> Result<Self> {
        let (node, container) = Node::with_container()?;
        // The kernel changes a link-local address by itself.
        let path = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
        container.inside(|| Ok(fs::write(path, "1")?))?;
        Attached::to(node, container, state).map(Self)
    }

    fn call(&self, command: &str, keys: &Value) -> Call {
        self.0.call("tuning", command, keys, &self.0.previous)
    }

    /// ADD with these keys must fail with this code and these words, and change nothing.
    #[track_caller]
    fn refused(&self, keys: &Value, code: u64, words: &[&str]) {
        self.0.refused(&self.call("ADD", keys), code, words);
    }

    /// ADD with this variable must fail with this code, and repeat the value but not its key.
    #[track_caller]
    fn refused_with(&self, variable: &str, value: &str, code: u64) {
        let mut call = self.call("ADD", &json!({"mtu": 1400}));
        let told = value.split('=').next().unwrap_or(value);
        self.0.refused(call.set(variable, value), code, &[told]);
    }

    /// Replaces the shipped grant by one that allows reading the container's interface and its parameters, and writing these.
    fn may_write_only(&self, keys: &str) -> Result<()> {
        let capabilities = format!(
            r#"{{
    link: [ {{ namespace: container, names: ["{{ifname}}"], verbs: [read, update] }} ],
    sysctl: [
      {{ namespace: container, verbs: [read] }},
      {{ namespace: container, keys: [{keys}], verbs: [write] }} ],
    store: [
      {{ directories: [/run/cni/tuning] }}, {{ files: [/etc/cni/tuning/allowlist.conf] }} ] }}"#
        );
        let node = &self.0.node;
        node.put_grant_of_standard("tuning", &capabilities)
    }
}

#[test]
fn keys() -> Result<()> {
    let place = Place::create()?;
    let refused = |keys: Value, words: &[&str]| place.refused(&keys, 7, words);
    let unknown = strict(json!({"promiscuous": true}));
    refused(unknown, &["promiscuous", "promisc"]);
    refused(json!({"mtu": "1400"}), &["mtu", "1400"]);
    refused(json!({"mtu": -1}), &["mtu", "-1"]);
    refused(json!({"txQLen": 1.5}), &["txQLen", "1.5"]);
    refused(json!({"allmulti": "yes"}), &["allmulti", "yes"]);
    refused(json!({"promisc": 1}), &["promisc"]);
    refused(
        json!({"sysctl": ["net.ipv4.tcp_keepalive_time"]}),
        &["sysctl"],
    );
    refused(
        json!({"sysctl": {"net.ipv4.tcp_keepalive_time": 500}}),
        &["net.ipv4.tcp_keepalive_time", "500"],
    );
    refused(json!({"args": {"cni": {"mtu": []}}}), &["args.cni.mtu"]);

    let mut alone = json!({"mtu": 1400, "type": "tuning", "name": "bad"});
    alone["cniVersion"] = json!("1.1.0");
    let first = weir(&place.0.node, "tuning", "ADD", &place.0.container, &alone);
    place.0.refused(&first, 7, &["prevResult"]);
    let check = weir(&place.0.node, "tuning", "CHECK", &place.0.container, &alone);
    place.0.refused(&check, 7, &["prevResult"]);
    Ok(())
}

#[test]
fn macs() -> Result<()> {
    let place = Place::create()?;
    for mac in [
        "01:00:00:00:00:01",
        "ff:ff:ff:ff:ff:ff",
        "00:00:00:00:00:00",
        "02:00:00:00:00:00:00:01",
        "nonsense",
    ] {
        place.refused(&json!({"mac": mac, "mtu": 1400}), 7, &["mac: ", mac]);
        let of_runtime = json!({"runtimeConfig": {"mac": mac}, "mtu": 1400});
        place.refused(&of_runtime, 7, &["runtimeConfig.mac: ", mac]);
        let of_args = json!({"args": {"cni": {"mac": mac}}, "mtu": 1400});
        place.refused(&of_args, 7, &["args.cni.mac: ", mac]);
        let mut call = place.call("ADD", &json!({"mtu": 1400}));
        call.set("CNI_ARGS", format!("MAC={mac}"));
        place.0.refused(&call, 4, &["CNI_ARGS: MAC", mac]);
    }
    place.refused_with("CNI_ARGS", "COLOUR=red", 4);
    Ok(())
}

#[test]
fn parameters() -> Result<()> {
    let place = Place::create()?;
    let refused = |sysctl: Value, code: u64, words: &[&str]| {
        place.refused(&json!({"sysctl": sysctl, "mtu": 1400}), code, words);
    };
    for key in [
        "kernel.hostname",
        "net",
        "net.",
        "/net/ipv4/tcp_keepalive_time",
        "/proc/sys/net/ipv4/tcp_keepalive_time",
        "net/../kernel/hostname",
        "net.core..somaxconn",
    ] {
        refused(json!({key: "1"}), 7, &["sysctl: ", key, "below `net.`"]);
    }
    refused(
        json!({"net.ipv4.tcp_keepalive_time": "1", "net/ipv4/tcp_keepalive_time": "2"}),
        7,
        &[
            "net.ipv4.tcp_keepalive_time",
            "net/ipv4/tcp_keepalive_time",
            "the same parameter",
        ],
    );
    refused(
        json!({"net.ipv4.conf.eth0.rp_filter": "1", "net.ipv4.conf.IFNAME.rp_filter": "2"}),
        7,
        &["eth0", "IFNAME", "the same parameter"],
    );
    refused(
        json!({"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.nothing": "1"}),
        101,
        &["net.ipv4.nothing"],
    );
    refused(json!({"net.ipv4.conf": "1"}), 103, &["net.ipv4.conf"]);
    // After a parameter that was written.
    for value in ["many", "1\n2", ""] {
        refused(
            json!({"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.tcp_retries1": value}),
            103,
            &["net.ipv4.tcp_retries1"],
        );
    }
    refused(
        json!({"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.tcp_rmem": "4097 90001 many"}),
        103,
        &["net.ipv4.tcp_rmem"],
    );
    refused(
        json!({
            "net.ipv4.tcp_keepalive_time": "500",
            "net.ipv4.tcp_available_congestion_control": "reno",
        }),
        103,
        &["tcp_available_congestion_control", "can only be read"],
    );
    Ok(())
}

#[test]
fn what_the_grant_does_not_allow() -> Result<()> {
    let place = Place::create()?;
    // No configuration reaches parameters that only the first namespace of the machine has.
    let conntrack =
        json!({"sysctl": {"net.ipv4.tcp_keepalive_time": "500", "net.nf_conntrack_max": "1"}});
    place.refused(&conntrack, 100, &["net.nf_conntrack_max", "grant"]);
    let elsewhere = json!({"mtu": 1400, "dataDir": "/etc/tuning"});
    place.refused(&elsewhere, 100, &["dataDir", "/etc/tuning"]);

    // A parameter that may be written comes before one that may not, and the interface after both.
    place.may_write_only("net.ipv4.tcp_keepalive_time")?;
    let both = json!({"mtu": 1400, "sysctl": {
        "net.ipv4.tcp_keepalive_time": "500", "net.ipv4.tcp_retries1": "99",
    }});
    place.refused(&both, 100, &["net.ipv4.tcp_retries1", "grant"]);
    let one = json!({"mtu": 1400, "sysctl": {"net.ipv4.tcp_keepalive_time": "500"}});
    place.0.node.run(&place.call("ADD", &one))?.result();
    Ok(())
}

#[test]
fn what_the_kernel_refuses() -> Result<()> {
    let place = Place::create()?;
    // The kernel sets the attributes before the MTU in a message, and then refuses the MTU.
    let everything = json!({
        "sysctl": {"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.conf.IFNAME.rp_filter": "2"},
        "mac": "02:00:00:00:00:0a", "mtu": 70000, "promisc": true, "allmulti": true, "txQLen": 7,
    });
    place.refused(&everything, 103, &["mtu 70000", "eth0"]);
    place.refused(&json!({"mtu": 10}), 103, &["mtu 10", "eth0"]);

    place.refused_with("CNI_IFNAME", "eth1", 101);
    Ok(())
}

/// A refused ADD keeps the backup of an earlier one.
#[test]
fn a_backup_survives_a_refused_add() -> Result<()> {
    let place = Place::create()?;
    let before = place.0.container.ip("-d -o link show eth0")?;
    let good = json!({"mtu": 1400});
    place.0.node.run(&place.call("ADD", &good))?.result();
    place.refused(&json!({"mtu": 70000, "promisc": true}), 103, &["mtu 70000"]);
    place.0.node.run(&place.call("DEL", &good))?.result();
    assert_eq!(place.0.container.ip("-d -o link show eth0")?, before);
    Ok(())
}

#[test]
fn directories_that_cannot_be_trusted() -> Result<()> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::create()?;
    let keys = json!({"mtu": 1400});
    let elsewhere = place.0.node.root().join("elsewhere");
    fs::create_dir(&elsewhere)?;
    fs::create_dir_all(place.0.node.root().join("run/cni"))?;
    symlink(&elsewhere, backups(&place.0.node))?;
    place.refused(&keys, 103, &["symbolic link", "dataDir"]);
    fs::remove_file(backups(&place.0.node))?;

    fs::create_dir(backups(&place.0.node))?;
    fs::set_permissions(backups(&place.0.node), PermissionsExt::from_mode(0o777))?;
    place.refused(&keys, 103, &["mode 0777", "dataDir"]);
    // ADD has changed nothing, so DEL has nothing to do.
    place.0.node.run(&place.call("DEL", &keys))?.result();
    Ok(())
}
