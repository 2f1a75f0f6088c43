//! Each remark is made where it should be, and nowhere else.

use super::super::tests::document_of;
use super::*;

fn document(capabilities: &str) -> Document {
    let text = format!(
        "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: {{ name: a }}\n\
         spec: {{ plugin: {{ name: a }}, networks: ['*'], capabilities: {capabilities} }}\n"
    );
    serde_saphyr::from_str(&text).expect("a grant")
}

/// `rule code` of each warning, and of each note in brackets.
fn codes(capabilities: &str) -> Vec<String> {
    let remarks = remarks(&document(capabilities), true);
    let of_rules = remarks.iter().filter(|r| r.rule.is_some());
    of_rules
        .map(|r| {
            let rule = r.rule.as_deref().unwrap_or_default();
            match r.weight {
                Weight::Warning => format!("{rule} {}", r.code),
                Weight::Note => format!("({rule} {})", r.code),
            }
        })
        .collect()
}

#[test]
fn each_remark_is_made() {
    for (capabilities, expected) in [
        ("{ link: [{}] }", "link[0] no-keys"),
        (
            "{ link: [{ kinds: [veth], verbs: [create] }] }",
            "link[0] both-namespaces",
        ),
        (
            "{ link: [{ namespace: host, verbs: [read] }] }",
            "link[0] physical",
        ),
        (
            "{ link: [{ namespace: host, kinds: [bridge], names: [\"*\"] }] }",
            "link[0] every-name",
        ),
        (
            "{ link: [{ namespace: host, kinds: [veth], names: [\"{ifname}\"] }] }",
            "link[0] ifname-on-host",
        ),
        (
            "{ link: [{ namespace: host, kinds: [physical], verbs: [update] }] }",
            "link[0] physical",
        ),
        (
            "{ link: [{ namespace: host, kinds: [brigde] }] }",
            "link[0] unknown-kind",
        ),
        (
            "{ link: [{ namespace: container, names: [a-name-of-16-byt] }] }",
            "link[0] no-effect",
        ),
        (
            "{ link: [{ namespace: container, names: [] }] }",
            "link[0] no-effect",
        ),
        (
            "{ link: [{ namespace: container }, { namespace: container, kinds: [veth] }] }",
            "link[1] no-effect",
        ),
        (
            "{ link: [{ namespace: container, kinds: [veth] }, { namespace: container }] }",
            "link[0] no-effect",
        ),
        (
            "{ address: [{ namespace: host, kinds: [bridge], verbs: [create] }] }",
            "address[0] any-address",
        ),
        (
            "{ address: [{ namespace: container, verbs: [create] }] }",
            "(address[0] any-address)",
        ),
        (
            "{ address: [{ namespace: container, addresses: [0.0.0.0/0], verbs: [create] }] }",
            "address[0] every-address",
        ),
        (
            "{ address: [{ namespace: container, addresses: [10.0.0.0/8], verbs: [read] }] }",
            "address[0] no-effect",
        ),
        (
            "{ route: [{ namespace: host, links: [cni0], verbs: [create] }] }",
            "route[0] any-destination",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [net.ipv4.conf.*.arp_filter], values: [\"0\"] }] }",
            "sysctl[0] every-link",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [net.ipv4.tcp_syncookies], values: [\"1\", \"0\"] }] }",
            "sysctl[0] disables-protection",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [net.bridge.bridge-nf-call-iptables], values: [\"0\"] }] }",
            "sysctl[0] disables-protection",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [kernel.hostname], values: [\"0\"] }] }",
            "sysctl[0] no-effect",
        ),
        (
            "{ sysctl: [{ namespace: container, keys: [net.ipv4.tcp_retries1], values: [\"*\"] }] }",
            "sysctl[0] no-effect",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [net.ipv4.ip_forward] }] }",
            "(sysctl[0] any-value)",
        ),
        (
            "{ firewall: [{ namespace: host, families: [inet], hooks: [input], statements: [drop] }] }",
            "firewall[0] host-traffic",
        ),
        (
            "{ firewall: [{ namespace: host, families: [inet], hooks: [forward], statements: [reject] }] }",
            "firewall[0] forwarded-traffic",
        ),
        (
            "{ firewall: [{ namespace: host, families: [arp], hooks: [forward], statements: [accept] }] }",
            "firewall[0] no-effect",
        ),
        (
            "{ store: [{ directories: [/etc/cni] }] }",
            "store[0] system-directory",
        ),
        (
            "{ store: [{ directories: [/] }] }",
            "store[0] system-directory",
        ),
        ("{ ipam: [a, b, a] }", "ipam[2] no-effect"),
        ("{ ipam: [\"*\"] }", "ipam[0] no-effect"),
        (
            "{ link: [{ namespace: host, names: [eth0], verbs: [read] }] }",
            "link[0] physical",
        ),
        (
            "{ link: [{ namespace: host, names: [\"e*\"], verbs: [read] }] }",
            "link[0] physical",
        ),
        (
            "{ link: [{ namespace: host, names: [\"?*\"], verbs: [read] }] }",
            "link[0] physical",
        ),
        (
            "{ link: [{ namespace: host, kinds: [physical], names: [\"e*\"], verbs: [update] }] }",
            "link[0] physical",
        ),
        (
            "{ address: [{ namespace: container, addresses: [0.0.0.0/1, 128.0.0.0/1], verbs: [create] }] }",
            "address[0] every-address",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [\"net.ipv4.conf.?*.arp_filter\"], values: [\"0\"] }] }",
            "sysctl[0] every-link",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [\"net.*.*\"], values: [\"0\"] }] }",
            "sysctl[0] every-key",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [\"net.ipv4.conf.cni0.*\"], values: [\"0\"] }] }",
            "sysctl[0] every-key",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [\"net.*.conf.cni0.arp_filter\"], values: [\"0\"] }] }",
            "sysctl[0] every-key",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [net.ipv4.conf.all.arp_filter], values: [\"0\"] }] }",
            "sysctl[0] every-link",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [\"net.ipv6.conf.d*.accept_ra\"], values: [\"0\"] }] }",
            "sysctl[0] every-link",
        ),
        (
            "{ sysctl: [{ namespace: host, keys: [\"net.ipv4.conf.veth*.arp_filter\"], values: [\"0\"] }] }",
            "sysctl[0] every-veth",
        ),
        (
            "{ link: [{ namespace: host, kinds: [bridge, veth], verbs: [update] }] }",
            "link[0] every-veth",
        ),
        (
            "{ link: [{ namespace: host, names: [\"v*\"], verbs: [delete] }] }",
            "link[0] every-veth",
        ),
        (
            "{ address: [{ namespace: host, kinds: [veth], addresses: [10.1.0.0/16], verbs: [create] }] }",
            "address[0] every-veth",
        ),
        (
            "{ route: [{ namespace: host, links: [\"veth*\"], destinations: [10.1.0.0/16], verbs: [create] }] }",
            "route[0] every-veth",
        ),
        (
            "{ traffic: [{ namespace: host, kinds: [veth], verbs: [create] }] }",
            "traffic[0] every-veth",
        ),
        (
            "{ firewalld: [{ sources: [10.1.0.0/16] }] }",
            "firewalld[0] trusted-zone",
        ),
        (
            "{ firewalld: [{ zones: [\"t*\"], verbs: [create] }] }",
            "firewalld[0] trusted-zone",
        ),
        (
            "{ store: [{ directories: [/tmp] }] }",
            "store[0] system-directory",
        ),
        (
            "{ store: [{ directories: [/var/lib/containerd/io] }] }",
            "store[0] system-directory",
        ),
        (
            "{ store: [{ files: [/etc/shadow], verbs: [read] }] }",
            "store[0] system-file",
        ),
        (
            "{ store: [{ files: [/srv/resolv.conf], verbs: [write] }] }",
            "store[0] no-effect",
        ),
        (
            "{ conntrack: [{ namespace: host }] }",
            "conntrack[0] every-connection",
        ),
        (
            "{ conntrack: [{ namespace: host, protocols: [udp] }] }",
            "(conntrack[0] every-connection)",
        ),
        (
            "{ policy-rule: [{ namespace: container, tables: [100], verbs: [create, read] }] }",
            "policy-rule[0] no-effect",
        ),
    ] {
        assert_eq!(codes(capabilities), [expected], "{capabilities}");
    }
}

/// What a plugin could change there is its own grant, the log that tells of it, or others' results.
#[test]
fn directories_that_decide_over_plugins_are_none_of_theirs() {
    for directory in [
        "/etc/weir/grants.d",
        "/etc/cni/net.d",
        "/var/lib/weir",
        "/var/lib/weir/plugins",
        "/var/log/weir",
        "/var/lib/cni/results",
        "/var/lib/cni/multus",
        "/run/weir",
        "/var/run/weir",
        // And those above them.
        "/",
        "/etc",
        "/var",
        "/var/lib",
        "/var/log",
        "/run",
        "/var/run",
    ] {
        let capabilities = format!("{{ store: [{{ directories: [\"{directory}\"] }}] }}");
        assert_eq!(
            codes(&capabilities),
            ["store[0] system-directory"],
            "{directory}"
        );
    }
}

#[test]
fn narrow_rules_are_left_alone() {
    for capabilities in [
        "{ link: [{ namespace: host, kinds: [bridge], verbs: [create, read, update] }] }",
        "{ link: [{ namespace: container, names: [\"{ifname}\"] }] }",
        "{ link: [{ namespace: host, names: [\"veth*\", cni0, a], verbs: [read] }] }",
        "{ link: [{ namespace: host, kinds: [physical], names: [ens5], verbs: [update] }] }",
        "{ store: [{ files: [/etc/resolv.conf, /run/systemd/resolve/stub-resolv.conf, /etc/cni/a.conf] }] }",
        "{ conntrack: [{ namespace: host, protocols: [udp], ports: [53] }] }",
        "{ conntrack: [{ namespace: container }] }",
        "{ sysctl: [{ namespace: host, keys: [\"net.ipv4.conf.veth*.arp_filter\"], values: [\"0\"], owners: [network] }] }",
        "{ sysctl: [{ namespace: host, keys: [\"net.ipv4.conf.*.arp_filter\"], values: [\"0\"], owners: [attachment] }] }",
        "{ sysctl: [{ namespace: host, keys: [\"net.ipv4.conf.br-*.arp_filter\"], values: [\"0\"] }] }",
        "{ sysctl: [{ namespace: container, keys: [net.ipv4.conf.all.arp_filter], values: [\"0\"] }] }",
        "{ sysctl: [{ namespace: host, keys: [net.ipv4.conf.all.arp_filter], verbs: [read] }] }",
        "{ link: [{ namespace: host, kinds: [veth], verbs: [create, read] }] }",
        "{ link: [{ namespace: host, kinds: [veth], owners: [attachment], verbs: [update] }] }",
        "{ link: [{ namespace: host, kinds: [veth], names: [\"veth-blue-*\", \"veth{containerid}\", veth1], verbs: [update] }] }",
        "{ traffic: [{ namespace: host, kinds: [veth], verbs: [read] }] }",
        "{ firewalld: [{ zones: [pods], verbs: [create] }] }",
        "{ firewalld: [{ verbs: [read, delete] }] }",
        "{ address: [{ namespace: container, addresses: [10.0.0.0/9, 10.128.0.0/9], verbs: [create] }] }",
        "{ route: [{ namespace: container, links: [\"{ifname}\"], verbs: [create] }] }",
        "{ store: [{}] }",
        "{ store: [{ directories: [/var/lib/cni, /run/cni, /var/lib/weirs] }] }",
        "{ firewall: [{ namespace: host, families: [inet], hooks: [postrouting], statements: [masquerade] }] }",
        "{ firewall: [{ namespace: host, families: [inet], hooks: [], statements: [], verbs: [write] }] }",
        "{ firewall: [{ namespace: container, hooks: [input], statements: [drop] }] }",
        "{ ipam: [host-local, static] }",
    ] {
        assert_eq!(codes(capabilities), Vec::<String>::new(), "{capabilities}");
    }
}

/// The codes of what is remarked of a document, but for its rules.
/// Every name is also that of any veth, where the kinds keep it from being that of every link.
#[test]
fn every_name_is_that_of_every_veth() {
    let every_name = |rule: &str| {
        let rule = format!("{{ namespace: host, names: [\"*\"], verbs: [update]{rule} }}");
        codes(&format!("{{ link: [{rule}] }}"))
    };
    let both = ["link[0] every-name", "link[0] every-veth"];
    assert_eq!(every_name(", kinds: [veth]"), both);
    assert_eq!(every_name(", kinds: [bridge]"), both[..1]);
    assert_eq!(every_name(", kinds: [veth], owners: [network]"), both[..1]);
}

fn codes_of(spec: &str) -> Vec<&'static str> {
    let remarks = remarks(&document_of(spec), true);
    let others = remarks.iter().filter(|r| r.code != "no-digest");
    others.map(|r| r.code).collect()
}

#[test]
fn networks_and_limits_that_let_nothing_run_get_a_remark() {
    for (spec, expected) in [
        ("networks: []", "no-network"),
        ("networks: [\"{network}\"]", "no-effect"),
        ("limits: { calls: 0 }", "no-room"),
        ("limits: { memory: 65535B }", "no-room"),
        ("limits: { transfer: 0B }", "no-room"),
    ] {
        assert_eq!(codes_of(spec), [expected], "{spec}");
    }
    let enough = "networks: [\"blue-*\"], limits: { calls: 1, memory: 64KiB }";
    assert_eq!(codes_of(enough), Vec::<&str>::new());
}

#[test]
fn a_digest_is_missed() {
    let weight = |built_in| remarks(&document("{}"), built_in)[0].weight;
    assert_eq!(weight(true), Weight::Note);
    assert_eq!(weight(false), Weight::Warning);
}

#[test]
fn a_plugin_from_elsewhere_is_for_some_networks() {
    let told = |spec: &str, built_in| -> Vec<&str> {
        let remarks = remarks(&document_of(spec), built_in).into_iter();
        remarks
            .map(|remark| remark.code)
            .filter(|code| *code == "every-network")
            .collect()
    };
    let rules = "capabilities: { link: [{ namespace: container }] }";
    let tenants = "tenants: { capabilities: { link: [{ namespace: container }] } }";
    let both = format!("networks: [\"*\", \"*/*\"], {rules}, {tenants}");
    assert_eq!(told(&both, false).len(), 2);
    assert_eq!(told(&both, true).len(), 0);
    for (spec, expected) in [
        (format!("networks: [\"*\"], {rules}"), 1),
        (format!("networks: [\"*/*\"], {tenants}"), 1),
        (
            format!("networks: [blue, \"red-*\", \"lab/*\"], {rules}, {tenants}"),
            0,
        ),
        // It may do nothing there.
        (format!("networks: [\"*\"], {tenants}"), 0),
        ("networks: [\"*\"]".to_owned(), 0),
    ] {
        assert_eq!(told(&spec, false).len(), expected, "{spec}");
    }
}

#[test]
fn routes_that_overlap_subnets_of_other_networks_get_a_remark() {
    let subnet =
        |network: &str, subnet: &str| (network.to_owned(), subnet.parse().expect("a subnet"));
    let subnets = [
        subnet("blue", "10.1.0.0/16"),
        subnet("green", "fd00:1::/64"),
        subnet("red", "192.168.0.0/24"),
    ];
    let told = |networks: &str, rule: &str| -> Vec<String> {
        let rule = format!("route: [{{ namespace: host, links: [cni0], {rule} }}]");
        let spec = format!(
            "networks: {networks}, capabilities: {{ {rule} }}, tenants: {{ capabilities: {{ {rule} }} }}"
        );
        let remarks = overlapping_routes(&document_of(&spec), &subnets).into_iter();
        remarks
            .map(|r| format!("{} {}", r.rule.unwrap_or_default(), r.code))
            .collect()
    };
    let both = [
        "route[0] overlapping-routes",
        "tenants.route[0] overlapping-routes",
    ];
    for rule in [
        "destinations: [10.0.0.0/8], verbs: [create]",
        "destinations: [10.1.2.0/24], verbs: [update]",
        "destinations: [\"fd00::/8\"]",
    ] {
        assert_eq!(told("['*']", rule), both, "{rule}");
    }
    for (networks, rule) in [
        ("['*']", "destinations: [10.2.0.0/16], verbs: [create]"),
        ("['*']", "destinations: [10.0.0.0/8], verbs: [read, delete]"),
        (
            "['*']",
            "destinations: [10.0.0.0/8], overlaps: [network], verbs: [create]",
        ),
        // Another remark says that it is about every destination.
        ("['*']", "verbs: [create]"),
        ("[blue]", "destinations: [10.1.0.0/16], verbs: [create]"),
    ] {
        assert_eq!(
            told(networks, rule),
            Vec::<String>::new(),
            "{networks} {rule}"
        );
    }
}
