//! The kernel's parameters that a fresh namespace has, with their defaults.

use std::collections::BTreeMap;

/// Of a namespace, each with its value.
const OF_NAMESPACE: &[(&str, &str)] = &[
    ("net.bridge.bridge-nf-call-ip6tables", "1"),
    ("net.bridge.bridge-nf-call-iptables", "1"),
    ("net.core.somaxconn", "4096"),
    ("net.ipv4.ip_forward", "0"),
    ("net.ipv4.ip_local_port_range", "32768\t60999"),
    ("net.ipv4.ip_unprivileged_port_start", "1024"),
    ("net.ipv4.ping_group_range", "1\t0"),
    ("net.ipv4.tcp_rfc1337", "0"),
    ("net.ipv4.tcp_syncookies", "1"),
];

/// Of each link below `net.ipv4.conf` and `net.ipv6.conf`: those that are 0, and those that are 1.
const OF_LINK: [(&str, [&str; 2]); 2] = [
    (
        "ipv4",
        [
            "accept_local arp_announce arp_filter arp_ignore arp_notify forwarding log_martians \
             promote_secondaries proxy_arp route_localnet rp_filter",
            "accept_redirects send_redirects",
        ],
    ),
    (
        "ipv6",
        [
            "addr_gen_mode disable_ipv6 forwarding keep_addr_on_down ndisc_notify proxy_ndp",
            "accept_dad accept_ra accept_redirects autoconf enhanced_dad",
        ],
    ),
];

/// The parameters of a namespace with links of these names.
pub fn of_namespace(links: &[&str]) -> BTreeMap<String, String> {
    let own = OF_NAMESPACE.iter();
    let mut all: BTreeMap<String, String> = own
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    for link in links {
        for (family, groups) in OF_LINK {
            for (value, names) in groups.iter().enumerate() {
                let keys = names.split_whitespace();
                let keys = keys.map(|name| format!("net.{family}.conf.{link}.{name}"));
                all.extend(keys.map(|key| (key, value.to_string())));
            }
        }
    }
    all
}

/// The link whose parameter it is, with slashes for the dots in its name.
pub fn of_link(key: &str) -> Option<&str> {
    match key.split('.').collect::<Vec<_>>()[..] {
        ["net", "ipv4" | "ipv6", "conf", link, _] => Some(link),
        _ => None,
    }
}
