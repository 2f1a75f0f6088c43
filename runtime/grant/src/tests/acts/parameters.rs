//! What kernel parameters do.

use serde_json::json;

use super::{does, own};
use crate::Severity::{ChangesHost, Contained, DisablesProtection, LeavesContainer, ReachesOthers};

#[test]
fn kernel_parameters() {
    let set = |namespace: &str, key: &str, value: &str, owner: &str| json!({ "namespace": namespace, "key": key, "value": value, "owner": owner });
    let forged = ", which turns off the check for forged source addresses";
    for (namespace, key, value, owner, effect, severity) in [
        (
            "host",
            "net.ipv4.conf.all.rp_filter",
            "0",
            "",
            forged,
            DisablesProtection,
        ),
        (
            "host",
            "net.ipv4.conf.all.rp_filter",
            "1",
            "",
            "",
            ReachesOthers,
        ),
        (
            "host",
            "net.ipv4.conf.veth1.arp_notify",
            "1",
            &*own(),
            "",
            ChangesHost,
        ),
        (
            "host",
            "net.ipv4.conf.ens3.arp_notify",
            "1",
            "",
            "",
            ReachesOthers,
        ),
        (
            "host",
            "net.ipv4.ip_forward",
            "1",
            "",
            ", which forwards packets between all links",
            ReachesOthers,
        ),
        ("host", "net.core.somaxconn", "1", "", "", ChangesHost),
        (
            "container",
            "net.ipv4.conf.eth0.rp_filter",
            "0",
            "",
            forged,
            DisablesProtection,
        ),
        (
            "container",
            "net.ipv4.conf.eth0.arp_notify",
            "1",
            "",
            "",
            Contained,
        ),
        (
            "container",
            "net.ipv4.ip_forward",
            "1",
            "",
            ", which forwards packets between all links",
            Contained,
        ),
    ] {
        let act = format!("set {key} to {value} in {namespace}{effect}");
        does(
            "sysctl.write",
            set(namespace, key, value, owner),
            &act,
            severity,
        );
    }
}

/// Denied attempts are recorded with whatever key the plugin wrote.
#[test]
fn parameters_outside_net_are_the_gravest() {
    for key in [
        "net.../../kernel.core_pattern",
        "kernel.core_pattern",
        "kernel.net.x",
    ] {
        for namespace in ["host", "container"] {
            let arguments = json!({ "namespace": namespace, "key": key, "value": "|/tmp/x" });
            let outside = ", which is not a parameter below net.";
            let act = format!("set {key} to |/tmp/x in {namespace}{outside}");
            does("sysctl.write", arguments, &act, LeavesContainer);
        }
    }
}
