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
    use weir_grant::rule::sentence;
    use weir_grant::rule::{RuleFields, rules_of};

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
            let capabilities = serde_json::from_str(grant).expect("a grant");
            let all = Capability::ALL.into_iter();
            let rules: Vec<RuleFields> = all.flat_map(|c| rules_of(&capabilities, c)).collect();
            assert_eq!(rules.iter().map(sentence).collect::<Vec<_>>(), [expected]);
        }
    }
}
