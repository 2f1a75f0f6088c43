//! Configurations of `host-local`, called by itself.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::case::{Case, cases};
use crate::side::{Side, with_previous};

cases! {
    subnet: Case::host_local(json!({"subnet": "10.1.0.0/24"}));
    subnet_with_start_end_and_gateway: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.11",
        "gateway": "10.1.0.10",
    })).succeeds_once();
    several_ranges_in_one_set: Case::host_local(json!({"ranges": [[
        {"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.10"},
        {"subnet": "10.2.0.0/24", "rangeStart": "10.2.0.10", "gateway": "10.2.0.99"},
    ]]}));
    several_sets: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}], [{"subnet": "10.3.0.0/16"}],
    ]}));
    subnet_beside_ranges: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "ranges": [[{"subnet": "10.2.0.0/24"}]],
    }));
    smallest_subnets: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/30"}], [{"subnet": "fd00:1::/126"}],
    ]})).succeeds_once();
    routes_and_resolv_conf: Case::host_local(json!({
        "subnet": "10.1.0.0/24",
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.0.2.0/24", "gw": "10.1.0.9"}],
        "resolvConf": "/etc/resolv.conf",
    })).file(
        "etc/resolv.conf",
        "# comment\n; another\nnameserver 192.0.2.1\nnameserver 2001:db8::1 trailing\n\
         domain example.net\ndomain example.com\nsearch a.example b.example\nsearch c.example\n\
         options ndots:2 edns0\nsortlist 192.0.2.0\n",
    );
    resolv_conf_that_is_missing: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf",
    })).fails();
    resolv_conf_of_systemd: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "resolvConf": "/run/systemd/resolve/resolv.conf",
    })).file("run/systemd/resolve/resolv.conf", "nameserver 192.0.2.1\nsearch a.example\n");
    resolv_conf_of_systemds_stub: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "resolvConf": "/run/systemd/resolve/stub-resolv.conf",
    })).file("run/systemd/resolve/stub-resolv.conf", "nameserver 127.0.0.53\noptions edns0\n");
    data_dir: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "dataDir": "/var/lib/cni/of/its/own",
    }));
    data_dir_that_a_reboot_empties: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "dataDir": "/run/cni/networks",
    }));
    // As kind has it, and as the specification's example.
    data_dir_of_kind: Case::host_local(json!({
        "dataDir": "/run/cni-ipam-state", "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": "10.244.0.0/24"}]],
    }));
    data_dir_of_the_specification: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "dataDir": "/mnt/cluster-ipam",
    }));
    resolv_conf_somewhere_else: Case::host_local(json!({
        "subnet": "10.1.0.0/24", "resolvConf": "/var/lib/resolver/of-the-cluster.conf",
    })).file("var/lib/resolver/of-the-cluster.conf", "nameserver 192.0.2.1\nsearch a.example\n");
    keys_that_no_version_has: Case::host_local(json!({"subnet": "10.1.0.0/24", "colour": "red"}))
        .with("noSnat", json!(true));
    keys_in_another_case: Case::host_local(json!({"SUBNET": "10.1.0.0/24", "RangeStart": "10.1.0.50"}))
        .with("RuntimeConfig", json!({"IPs": ["10.1.0.77"], "portMappings": []}))
        .succeeds_once();
    address_of_cni_args:
        Case::host_local(json!({"subnet": "10.1.0.0/24"})).args("IP=10.1.0.77", "IP=10.1.0.78");
    ipv6_address_of_cni_args: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}],
    ]})).args("IP=fd00:1::77", "IP=fd00:1::78/64");
    addresses_of_args: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}],
    ]})).with("args", json!({"cni": {"ips": ["10.1.0.33", "fd00:1::33"]}})).succeeds_once();
    addresses_of_runtime_config: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}],
    ]})).with("runtimeConfig", json!({"ips": ["10.1.0.33/24"]})).succeeds_once();
    the_same_address_from_everywhere: Case::host_local(json!({"subnet": "10.1.0.0/24"}))
        .with("runtimeConfig", json!({"ips": ["10.1.0.33"]}))
        .with("args", json!({"cni": {"ips": ["10.1.0.33"]}}))
        .args("IP=10.1.0.33", "")
        .succeeds_once();
    an_address_outside_the_ranges:
        Case::host_local(json!({"subnet": "10.1.0.0/24"})).args("IP=10.2.0.1", "IP=10.2.0.2").fails();
    two_addresses_of_one_set: Case::host_local(json!({"subnet": "10.1.0.0/24"}))
        .with("args", json!({"cni": {"ips": ["10.1.0.7", "10.1.0.8"]}})).fails();
    the_gateway_as_address:
        Case::host_local(json!({"subnet": "10.1.0.0/24"})).args("IP=10.1.0.1", "IP=10.1.0.1").fails();
    the_same_address_twice:
        Case::host_local(json!({"subnet": "10.1.0.0/24"})).args("IP=10.1.0.5", "IP=10.1.0.5")
            .succeeds_once();
    an_address_that_is_none:
        Case::host_local(json!({"subnet": "10.1.0.0/24"})).args("IP=here", "IP=there").fails();
    ranges_of_runtime_config: Case::host_local(json!({"ranges": [[{"subnet": "10.1.0.0/24"}]]}))
        .with("runtimeConfig", json!({"ipRanges": [
            [{"subnet": "10.4.0.0/24", "rangeStart": "10.4.0.100", "gateway": "10.4.0.254"}],
            [{"subnet": "fd00:4::/64"}],
        ]}));
    ranges_of_runtime_config_alone: Case::host_local(json!({}))
        .with("runtimeConfig", json!({"ipRanges": [[{"subnet": "10.4.0.0/24"}]]}));
    no_ranges: Case::host_local(json!({})).fails();
    overlapping_sets: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/24"}], [{"subnet": "10.1.0.128/25"}],
    ]})).fails();
    overlapping_ranges: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/24"}, {"subnet": "10.1.0.0/16"}],
    ]})).fails();
    mixed_families_in_one_set: Case::host_local(json!({"ranges": [
        [{"subnet": "10.1.0.0/24"}, {"subnet": "fd00:1::/64"}],
    ]})).fails();
    a_subnet_that_is_too_small: Case::host_local(json!({"subnet": "10.1.0.0/31"})).fails();
    a_subnet_with_host_bits: Case::host_local(json!({"subnet": "10.1.0.5/24"})).fails();
    a_start_outside_the_subnet:
        Case::host_local(json!({"subnet": "10.1.0.0/24", "rangeStart": "10.2.0.1"})).fails();
    goes_on_after_the_address_that_was_last: Case::host_local(json!({"subnet": "10.1.0.0/29"}))
        .file("var/lib/cni/networks/net/last_reserved_ip.0", "10.1.0.6");
    goes_on_after_an_address_of_another_range: Case::host_local(json!({"subnet": "10.1.0.0/29"}))
        .file("var/lib/cni/networks/net/last_reserved_ip.0", "10.9.0.6");
    passes_over_addresses_in_use: Case::host_local(json!({"subnet": "10.1.0.0/29"}))
        .file("var/lib/cni/networks/net/10.1.0.2", "someone\r\neth0")
        .file("var/lib/cni/networks/net/10.1.0.4", "someone else\r\neth0");
    leases_of_old_versions: Case::host_local(json!({"subnet": "10.1.0.0/29"}))
        .file("var/lib/cni/networks/net/10.1.0.2", "someone")
        .file("var/lib/cni/networks/net/10.9.0.9", "differential-2");
    leases_of_other_interfaces: Case::host_local(json!({"subnet": "10.1.0.0/29"}))
        .file("var/lib/cni/networks/net/10.1.0.2", "differential-1\r\neth1");
}

/// The reference reads every file. weir has an index, which does not see what another program writes into a file in place,
/// and reads the files of the addresses that the previous result names.
#[test]
fn a_lease_that_was_overwritten_in_place_is_released() -> Result<()> {
    let config = json!({
        "cniVersion": "1.0.0", "name": "net", "type": "host-local",
        "ipam": { "type": "host-local", "subnet": "10.1.0.0/24" },
    });
    for side in Side::pair(2)? {
        let whose = side.whose;
        let first = side.call("ADD", 0, &config, None)?.result();
        side.call("ADD", 1, &config, None)?.result();
        // The second container has the first one's address from now on, and its own address has no container.
        let (taken, other) = (
            side.node.leases("net").join("10.1.0.2"),
            side.node.leases("net").join("10.1.0.3"),
        );
        fs::write(&taken, fs::read(&other)?)?;
        fs::write(&other, "somebody\r\neth0")?;
        let previous = with_previous(&config, Some(&first));
        let deleted = side.call("DEL", 1, &previous, None)?;
        ensure!(deleted.succeeded(), "{whose:?}: {deleted:?}");
        let taken = side.node.taken("net");
        ensure!(taken == ["10.1.0.3"], "{whose:?}: {taken:?}");
    }
    Ok(())
}
