//! A grant in words, for people who do not know rules.

use bytesize::ByteSize;
use weir_grant::size::Exact;
use weir_grant::{Capability, Limits};

/// Returns what a capability is about: "network interfaces".
pub fn subject(capability: Capability) -> &'static str {
    match capability {
        Capability::Link => "network interfaces",
        Capability::Address => "IP addresses",
        Capability::Route => "routes",
        Capability::PolicyRule => "policy routing rules",
        Capability::Neighbour => "ARP and neighbour entries",
        Capability::Traffic => "traffic shaping",
        Capability::Firewall => "packet filtering and translation (nftables)",
        Capability::Firewalld => "zones of firewalld",
        Capability::Conntrack => "tracked connections",
        Capability::Sysctl => "kernel parameters",
        Capability::Store => "files",
        Capability::Device => "facts about hardware",
        Capability::Packet => "its own packets",
        Capability::Ipam => "other plugins, which assign addresses",
        Capability::Log => "weir's log",
        Capability::Native => "native plugins, outside the sandbox",
    }
}

/// "64 MiB of memory".
pub fn limits(limits: &Limits) -> Vec<String> {
    vec![
        format!("at most {} of memory", size(limits.memory)),
        format!("at most {:?} for each run", limits.time),
        format!("at most {} calls of weir", limits.calls),
        format!("at most {} things made or changed", limits.changes),
        format!("at most {} passed to one call", size(limits.transfer)),
        format!("at most {} written to the log", size(limits.log)),
    ]
}

fn size(size: ByteSize) -> String {
    Exact::from(size).in_words()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_grant::field::Texts;
    use weir_grant::rule::{Bounds, bounds_in_words, rules_of, sentence};

    #[test]
    fn a_rule_is_a_sentence() {
        for (grant, expected) in [
            (
                r#"{"link": [{"namespace": "host", "kinds": ["bridge"], "verbs": ["create", "read", "update"]}]}"#,
                "create, look at and change interfaces of kind bridge, on the host",
            ),
            (
                r#"{"link": [{"namespace": "container", "kinds": ["veth"], "names": ["{ifname}"], "verbs": ["delete"]}]}"#,
                "delete the attachment's interface, if it is of kind veth, in the container",
            ),
            (
                r#"{"link": [{"verbs": ["read"]}]}"#,
                "look at interfaces of every kind, hardware included, on the host and in the container",
            ),
            (
                r#"{"address": [{"namespace": "host", "kinds": ["bridge"], "addresses": ["10.0.0.0/8"], "verbs": ["create"]}]}"#,
                "add addresses within 10.0.0.0/8 of interfaces of kind bridge, on the host",
            ),
            (
                r#"{"route": [{"namespace": "container", "links": ["{ifname}"], "tables": [254], "verbs": ["create"]}]}"#,
                "add routes over the attachment's interface in routing table 254, in the container",
            ),
            (
                r#"{"sysctl": [{"namespace": "host", "keys": ["net.ipv4.ip_forward"], "values": ["1"]}]}"#,
                "read net.ipv4.ip_forward, and set it to 1, on the host",
            ),
            (
                r#"{"sysctl": [{"namespace": "host", "keys": ["net.ipv4.conf.*.arp_filter"], "owners": ["network"], "verbs": ["read"]}]}"#,
                "read net.ipv4.conf.*.arp_filter, on the host, where weir made it for this network",
            ),
            (
                r#"{"store": [{"verbs": ["read", "write"]}]}"#,
                "read and write its own files below /var/lib/weir/stores",
            ),
            (
                r#"{"store": [{"files": ["/etc/resolv.conf"], "verbs": ["read"]}]}"#,
                "read the file /etc/resolv.conf",
            ),
            (
                r#"{"conntrack": [{"namespace": "host", "protocols": ["udp"], "ports": [53]}]}"#,
                "forget connections of udp to port 53, on the host",
            ),
            (
                r#"{"firewall": [{"namespace": "host"}]}"#,
                "read and write its own tables of every family, with chains on every hook, whose \
                 rules may do anything with a packet, on the host; remove what the reference plugin \
                 of its name made for the container, in tables of every family, on the host",
            ),
            (
                r#"{"firewall": [{"namespace": "host", "families": ["ip", "ip6"], "verbs": ["delete"]}]}"#,
                "remove what the reference plugin of its name made for the container, in tables of ip and ip6, on the host",
            ),
            (
                r#"{"firewall": [{"namespace": "host", "families": ["inet"], "hooks": [], "statements": [], "ports": [80], "owners": ["network"], "verbs": ["write"]}]}"#,
                "write its own tables of inet, translating no port of the host but 80, removing only elements of this \
                 network, on the host",
            ),
            (
                r#"{"address": [{"namespace": "host", "kinds": ["bridge"], "overlaps": [], "verbs": ["create"]}]}"#,
                "add addresses of interfaces of kind bridge, on the host, where it overlaps no route of the host",
            ),
            (
                r#"{"link": [{"namespace": "host", "kinds": ["veth"], "owners": ["network"], "attributes": ["mtu", "mac"], "verbs": ["update"]}]}"#,
                "change interfaces of kind veth, on the host, nothing but mac and mtu, where weir made it for this network",
            ),
            (
                r#"{"address": [{"namespace": "host", "kinds": ["bridge"], "overlaps": ["network"], "verbs": ["create"]}]}"#,
                "add addresses of interfaces of kind bridge, on the host, where it overlaps no route of the host but \
                 those of this network",
            ),
            (r#"{"ipam": ["host-local"]}"#, "run host-local"),
        ] {
            assert_eq!(sentences(grant), [expected]);
        }
    }

    fn sentences(grant: &str) -> Vec<String> {
        let capabilities = serde_json::from_str(grant).expect("a grant");
        let all = Capability::ALL.into_iter();
        let rules = all.flat_map(|c| rules_of(&capabilities, c));
        rules.map(|rule| sentence(&rule)).collect()
    }

    /// In every capability whose fields may have a glob, a network or a range.
    #[test]
    fn a_sentence_says_what_wildcards_include() {
        for (grant, expected) in [
            (
                r#"{"link": [{"namespace": "host", "names": ["?*"], "verbs": ["read"]}]}"#,
                "look at interfaces of every kind, hardware included, on the host",
            ),
            (
                r#"{"link": [{"namespace": "host", "kinds": ["veth"], "names": ["{hostInterfaces}", "{ifname}"], "verbs": ["read"]}]}"#,
                "look at interfaces of kind veth, named {hostInterfaces} (those that `hostInterfaces` of weir's \
                 configuration lists) or {ifname} (the attachment's interface), on the host",
            ),
            (
                r#"{"neighbour": [{"namespace": "host", "links": ["*"], "verbs": ["read"]}]}"#,
                "look at entries on every interface, on the host",
            ),
            (
                r#"{"address": [{"namespace": "host", "addresses": ["0.0.0.0/0", "::/0"], "verbs": ["create"]}]}"#,
                "add addresses within 0.0.0.0/0 (every IPv4 address) or ::/0 (every IPv6 address) of interfaces of \
                 every kind, hardware included, on the host",
            ),
            (
                r#"{"route": [{"namespace": "host", "destinations": ["0.0.0.0/0"], "verbs": ["create"]}]}"#,
                "add routes within 0.0.0.0/0 (every IPv4 address, and the default route), on the host",
            ),
            (
                r#"{"policy-rule": [{"namespace": "host", "sources": ["::/0"], "priorities": ["0-4294967295"], "verbs": ["create"]}]}"#,
                "add policy routing rules with priorities 0-4294967295 (every one) and sources ::/0 (every IPv6 \
                 address), on the host",
            ),
            (
                r#"{"conntrack": [{"namespace": "host", "protocols": ["udp"], "ports": ["1-65535"]}]}"#,
                "forget connections of udp to port 1-65535 (every port), on the host",
            ),
            (
                r#"{"firewall": [{"namespace": "host", "hooks": [], "statements": [], "ports": ["0-65535"], "verbs": ["write"]}]}"#,
                "write its own tables of every family, translating no port of the host but 0-65535 (every port), on \
                 the host",
            ),
            (
                r#"{"packet": [{"links": ["*"], "remotes": ["1-65535"]}]}"#,
                "send and receive its own packets with links * (every one) and remotes 1-65535 (every port)",
            ),
            (
                r#"{"firewalld": [{"zones": ["tru*"], "verbs": ["create"]}]}"#,
                "add addresses in the zones tru* (including `trusted`, which accepts every connection)",
            ),
            (
                r#"{"firewalld": [{"zones": ["b*", "public"], "verbs": ["delete"]}]}"#,
                "remove addresses in the zones b* (including `block`, which accepts none) or public",
            ),
            (
                r#"{"firewalld": [{"zones": ["*"], "verbs": ["create"]}]}"#,
                "add addresses in the zones * (including `trusted`, which accepts every connection; `drop` and \
                 `block`, which accept none)",
            ),
            (
                r#"{"firewalld": [{"sources": ["10.0.0.0/8"], "verbs": ["create"]}]}"#,
                "add addresses within 10.0.0.0/8 in every zone (including `trusted`, which accepts every \
                 connection; `drop` and `block`, which accept none)",
            ),
            (
                r#"{"sysctl": [{"namespace": "host", "keys": ["net.ipv4.*"], "verbs": ["write"]}]}"#,
                "set net.ipv4.* (directly below net.ipv4, including `ip_forward`, `tcp_syncookies` and \
                 `icmp_echo_ignore_broadcasts`), on the host",
            ),
            (
                r#"{"store": [{"directories": ["/", "{dataDir}"], "verbs": ["read"]}]}"#,
                "read what is below / (every directory of the host) and {dataDir} (the directory that the node's own \
                 configuration names)",
            ),
            (
                r#"{"store": [{"files": ["{resolvConf}"], "verbs": ["read"]}]}"#,
                "read the file {resolvConf} (the one that the node's own configuration names)",
            ),
            (
                r#"{"device": [{"pci": ["*"]}]}"#,
                "read facts about hardware with pci * (every one)",
            ),
        ] {
            assert_eq!(sentences(grant), [expected], "{grant}");
        }
    }

    /// Those of other types are words, names and numbers, which include nothing else.
    #[test]
    fn every_field_with_wildcards_says_what_they_include() {
        const WIDEST: [&str; 6] = ["*", "net.*.*", "0.0.0.0/0", "::/0", "/", "0-65535"];
        let mut said = 0;
        for capability in Capability::ALL {
            let fields = capability.description().map_or(&[][..], |d| d.fields);
            for field in fields {
                // No key has one part alone, and priorities are larger numbers.
                let is_all = |text: &&str| {
                    WIDEST.contains(text)
                        && !matches!((field.key, *text), ("keys", "*") | ("priorities", _))
                };
                for text in field.examples.iter().copied().filter(is_all) {
                    let value = Texts::from([text.to_owned()]);
                    let bounds = Bounds::from([(field.key.to_owned(), value)]);
                    let words = bounds_in_words(capability, &bounds);
                    let is_said = words.contains(&format!("{text} ("));
                    assert!(is_said, "{capability}: {words}");
                    said += 1;
                }
            }
        }
        assert!(said > 20, "{said}");
    }
}
