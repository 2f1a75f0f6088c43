//! The parameters that a namespace has, with the kernel's defaults.

use std::collections::BTreeMap;

const OF_NAMESPACE: &[(&str, &str)] = &[
    ("net.core.somaxconn", "4096"),
    ("net.ipv4.ip_forward", "0"),
    ("net.ipv4.ip_local_port_range", "32768\t60999"),
    ("net.ipv4.ip_unprivileged_port_start", "1024"),
    ("net.ipv4.ping_group_range", "1\t0"),
    ("net.ipv4.tcp_rfc1337", "0"),
    ("net.ipv4.tcp_syncookies", "1"),
    ("net.bridge.bridge-nf-call-iptables", "1"),
    ("net.bridge.bridge-nf-call-ip6tables", "1"),
];

const OF_LINK: &[(&str, &str)] = &[
    ("net.ipv4.conf", "accept_local 0"),
    ("net.ipv4.conf", "accept_redirects 1"),
    ("net.ipv4.conf", "arp_announce 0"),
    ("net.ipv4.conf", "arp_filter 0"),
    ("net.ipv4.conf", "arp_ignore 0"),
    ("net.ipv4.conf", "arp_notify 0"),
    ("net.ipv4.conf", "forwarding 0"),
    ("net.ipv4.conf", "log_martians 0"),
    ("net.ipv4.conf", "proxy_arp 0"),
    ("net.ipv4.conf", "promote_secondaries 0"),
    ("net.ipv4.conf", "route_localnet 0"),
    ("net.ipv4.conf", "rp_filter 0"),
    ("net.ipv4.conf", "send_redirects 1"),
    ("net.ipv6.conf", "accept_dad 1"),
    ("net.ipv6.conf", "accept_ra 1"),
    ("net.ipv6.conf", "accept_redirects 1"),
    ("net.ipv6.conf", "addr_gen_mode 0"),
    ("net.ipv6.conf", "autoconf 1"),
    ("net.ipv6.conf", "disable_ipv6 0"),
    ("net.ipv6.conf", "enhanced_dad 1"),
    ("net.ipv6.conf", "forwarding 0"),
    ("net.ipv6.conf", "keep_addr_on_down 0"),
    ("net.ipv6.conf", "ndisc_notify 0"),
    ("net.ipv6.conf", "proxy_ndp 0"),
];

/// The parameters of a namespace with links of these names.
pub(crate) fn of_namespace(links: &[&str]) -> BTreeMap<String, String> {
    let own = OF_NAMESPACE
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let of_links = links.iter().flat_map(|link| {
        OF_LINK.iter().filter_map(move |(group, parameter)| {
            let (name, value) = parameter.split_once(' ')?;
            Some((format!("{group}.{link}.{name}"), value.to_owned()))
        })
    });
    own.chain(of_links).collect()
}

/// The link whose parameter it is, with slashes for the dots in its name.
pub(crate) fn of_link(key: &str) -> Option<&str> {
    let mut segments = key.split('.').skip(2);
    let is_of_link = segments.next() == Some("conf");
    segments.next().filter(|_| is_of_link)
}
