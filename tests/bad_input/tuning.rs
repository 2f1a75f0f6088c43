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

struct TunedContainer(Attached);

/// What `tuning` could change: the interface, parameters in both namespaces, and backups.
fn state(tuned: &Attached) -> Result<Vec<String>> {
    let mut state = vec![tuned.container.ip("-d -o link show eth0")?];
    for path in PARAMETERS.map(|path| PathBuf::from("/proc/sys/net").join(path)) {
        state.push(tuned.container.inside(|| Ok(fs::read_to_string(&path)?))?);
        // The host has no such interface.
        let on_host = tuned.node.inside(|| Ok(fs::read_to_string(&path).ok()))?;
        state.push(on_host.unwrap_or_default());
    }
    for entry in fs::read_dir(backups(&tuned.node)).into_iter().flatten() {
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

impl TunedContainer {
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
    let tuned = TunedContainer::create()?;
    let refused = |keys: Value, words: &[&str]| tuned.refused(&keys, 7, words);
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
    let first = weir(&tuned.0.node, "tuning", "ADD", &tuned.0.container, &alone);
    tuned.0.refused(&first, 7, &["prevResult"]);
    let check = weir(&tuned.0.node, "tuning", "CHECK", &tuned.0.container, &alone);
    tuned.0.refused(&check, 7, &["prevResult"]);
    Ok(())
}

#[test]
fn macs() -> Result<()> {
    let tuned = TunedContainer::create()?;
    for mac in [
        "01:00:00:00:00:01",
        "ff:ff:ff:ff:ff:ff",
        "00:00:00:00:00:00",
        "02:00:00:00:00:00:00:01",
        "nonsense",
    ] {
        tuned.refused(&json!({"mac": mac, "mtu": 1400}), 7, &["mac: ", mac]);
        let of_runtime = json!({"runtimeConfig": {"mac": mac}, "mtu": 1400});
        tuned.refused(&of_runtime, 7, &["runtimeConfig.mac: ", mac]);
        let of_args = json!({"args": {"cni": {"mac": mac}}, "mtu": 1400});
        tuned.refused(&of_args, 7, &["args.cni.mac: ", mac]);
        let mut call = tuned.call("ADD", &json!({"mtu": 1400}));
        call.set("CNI_ARGS", format!("MAC={mac}"));
        tuned.0.refused(&call, 4, &["CNI_ARGS: MAC", mac]);
    }
    tuned.refused_with("CNI_ARGS", "COLOUR=red", 4);
    Ok(())
}

#[test]
fn parameters() -> Result<()> {
    let tuned = TunedContainer::create()?;
    let refused = |sysctl: Value, code: u64, words: &[&str]| {
        tuned.refused(&json!({"sysctl": sysctl, "mtu": 1400}), code, words);
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
    let tuned = TunedContainer::create()?;
    // No configuration reaches parameters that only the first namespace of the machine has.
    let conntrack =
        json!({"sysctl": {"net.ipv4.tcp_keepalive_time": "500", "net.nf_conntrack_max": "1"}});
    tuned.refused(&conntrack, 100, &["net.nf_conntrack_max", "grant"]);
    let elsewhere = json!({"mtu": 1400, "dataDir": "/etc/tuning"});
    tuned.refused(&elsewhere, 100, &["dataDir", "/etc/tuning"]);

    // A parameter that may be written comes before one that may not, and the interface after both.
    tuned.may_write_only("net.ipv4.tcp_keepalive_time")?;
    let both = json!({"mtu": 1400, "sysctl": {
        "net.ipv4.tcp_keepalive_time": "500", "net.ipv4.tcp_retries1": "99",
    }});
    tuned.refused(&both, 100, &["net.ipv4.tcp_retries1", "grant"]);
    let one = json!({"mtu": 1400, "sysctl": {"net.ipv4.tcp_keepalive_time": "500"}});
    tuned.0.node.run(&tuned.call("ADD", &one))?.result();
    Ok(())
}

#[test]
fn what_the_kernel_refuses() -> Result<()> {
    let tuned = TunedContainer::create()?;
    // The kernel sets the attributes before the MTU in a message, and then refuses the MTU.
    let everything = json!({
        "sysctl": {"net.ipv4.tcp_keepalive_time": "500", "net.ipv4.conf.IFNAME.rp_filter": "2"},
        "mac": "02:00:00:00:00:0a", "mtu": 70000, "promisc": true, "allmulti": true, "txQLen": 7,
    });
    tuned.refused(&everything, 103, &["mtu 70000", "eth0"]);
    tuned.refused(&json!({"mtu": 10}), 103, &["mtu 10", "eth0"]);

    tuned.refused_with("CNI_IFNAME", "eth1", 101);
    Ok(())
}

/// A refused ADD keeps the backup of an earlier one.
#[test]
fn a_backup_survives_a_refused_add() -> Result<()> {
    let tuned = TunedContainer::create()?;
    let before = tuned.0.container.ip("-d -o link show eth0")?;
    let good = json!({"mtu": 1400});
    tuned.0.node.run(&tuned.call("ADD", &good))?.result();
    tuned.refused(&json!({"mtu": 70000, "promisc": true}), 103, &["mtu 70000"]);
    tuned.0.node.run(&tuned.call("DEL", &good))?.result();
    assert_eq!(tuned.0.container.ip("-d -o link show eth0")?, before);
    Ok(())
}

#[test]
fn directories_that_cannot_be_trusted() -> Result<()> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let tuned = TunedContainer::create()?;
    let keys = json!({"mtu": 1400});
    let elsewhere = tuned.0.node.root().join("elsewhere");
    fs::create_dir(&elsewhere)?;
    fs::create_dir_all(tuned.0.node.root().join("run/cni"))?;
    symlink(&elsewhere, backups(&tuned.0.node))?;
    tuned.refused(&keys, 103, &["symbolic link", "dataDir"]);
    fs::remove_file(backups(&tuned.0.node))?;

    fs::create_dir(backups(&tuned.0.node))?;
    fs::set_permissions(backups(&tuned.0.node), PermissionsExt::from_mode(0o777))?;
    tuned.refused(&keys, 103, &["mode 0777", "dataDir"]);
    // ADD has changed nothing, so DEL has nothing to do.
    tuned.0.node.run(&tuned.call("DEL", &keys))?.result();
    Ok(())
}
