//! What each operation does, in words, and how far it reaches.

mod links;
mod packet_filter;
mod parameters;
mod properties;
mod routing;

use serde_json::{Value, json};
use weir_cni::owner::mark_of_attachment;

use crate::operation_names::recorded;
use crate::{Invocation, Severity};

use crate::Severity::{ChangesHost, Contained, LeavesContainer, ReachesOthers, Reads};

fn invocation() -> Invocation {
    Invocation::new("5f3c", "eth0", "net")
}

/// The mark of this attachment's links.
fn own() -> String {
    mark_of_attachment("net", "5f3c", "eth0")
}

/// A link of the host.
fn host(kind: &str, name: &str, owner: &str) -> Value {
    json!({ "namespace": "host", "index": 7, "name": name, "kind": kind, "owner": owner })
}

fn container(name: &str) -> Value {
    json!({ "namespace": "container", "index": 2, "name": name, "kind": "veth" })
}

#[track_caller]
fn does(name: &str, arguments: Value, act: &str, severity: Severity) {
    let operation = recorded(name, &arguments).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(operation.act(), act, "{arguments}");
    assert_eq!(operation.severity(&invocation()), severity, "{arguments}");
}

#[test]
fn what_has_no_namespace() {
    does(
        "conntrack.delete",
        json!({ "namespace": "host", "family": "ipv4", "protocol": "tcp" }),
        "delete the tracked ipv4 connections to every tcp port in host",
        ReachesOthers,
    );
    does(
        "store.put",
        json!({ "location": "private", "key": "a" }),
        "set `a` in the plugin's own store",
        Contained,
    );
    does(
        "store.delete",
        json!({ "location": { "directory": "/var/lib/cni" }, "key": "a" }),
        "delete `a` from the store in `/var/lib/cni`",
        ChangesHost,
    );
    for (location, severity) in [
        (json!({ "directory": "/etc/cron.d" }), LeavesContainer),
        (json!({ "shared-directory": "/root" }), LeavesContainer),
        (
            json!({ "directory": "/var/lib/cni/../../etc" }),
            LeavesContainer,
        ),
        (json!({ "directory": "/var/lib/cnis" }), LeavesContainer),
        (json!({ "directory": "/run/cni/state" }), ChangesHost),
        (
            json!({ "configured-directory": "/data/leases" }),
            ChangesHost,
        ),
        (json!("private"), Contained),
    ] {
        let open = json!({ "access": "write", "location": location });
        let open = recorded("store.open", &open).expect("arguments");
        assert_eq!(open.severity(&invocation()), severity, "{location}");
        let read = json!({ "access": "read", "location": location });
        let read = recorded("store.open", &read).expect("arguments");
        assert_eq!(read.severity(&invocation()), Reads, "{location}");
    }
    does(
        "store.claim",
        json!({ "location": "private", "keys": ["a", "b"] }),
        "claim the first free key of `a` and `b` in the plugin's own store",
        Contained,
    );
    does(
        "ipam.run",
        json!({ "plugin": "host-local", "command": "ADD" }),
        "run IPAM plugin `host-local` for ADD",
        Contained,
    );
    let digest = format!("sha256:{}", "0a".repeat(32));
    does(
        "native.execute",
        json!({ "plugin": "flannel", "digest": digest, "command": "ADD" }),
        &format!("run native plugin `flannel` ({digest}) for ADD, outside the sandbox"),
        LeavesContainer,
    );
    does(
        "packet.open-raw",
        json!({ "link": "eth0", "ether_type": 2048 }),
        "send and receive any frame of EtherType 0x0800 on `eth0` in container",
        ReachesOthers,
    );
    does(
        "packet.open-udp",
        json!({ "link": "eth0", "local_port": 68, "broadcast": true }),
        "send and receive UDP from port 68 on `eth0` in container, also for broadcasts",
        Contained,
    );
}
