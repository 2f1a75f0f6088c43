//! What the wildcards of a key include: links, and parameters that let traffic through or disable a protection.

use super::effect::{PROTECTIONS, REACHES};
use crate::pattern::{globs_meet, is_every, is_glob};
use crate::phrase::{joined, quoted};

/// Where the parameters are whose effects are known.
const PLACES: &[(&str, &[&str])] = &[
    (
        "net.ipv4",
        &[
            "icmp_echo_ignore_broadcasts",
            "ip_forward",
            "ip_nonlocal_bind",
            "ip_unprivileged_port_start",
            "tcp_syncookies",
        ],
    ),
    ("net.ipv6", &["ip_nonlocal_bind"]),
    (
        "net.ipv4.conf.*",
        &[
            "accept_local",
            "accept_redirects",
            "accept_source_route",
            "arp_accept",
            "drop_gratuitous_arp",
            "drop_unicast_in_l2_multicast",
            "forwarding",
            "log_martians",
            "mc_forwarding",
            "proxy_arp",
            "proxy_arp_pvlan",
            "route_localnet",
            "rp_filter",
            "secure_redirects",
            "send_redirects",
        ],
    ),
    (
        "net.ipv6.conf.*",
        &[
            "accept_ra",
            "accept_redirects",
            "accept_source_route",
            "disable_ipv6",
            "drop_unicast_in_l2_multicast",
            "drop_unsolicited_na",
            "forwarding",
            "mc_forwarding",
            "proxy_ndp",
        ],
    ),
    (
        "net.bridge",
        &[
            "bridge-nf-call-arptables",
            "bridge-nf-call-ip6tables",
            "bridge-nf-call-iptables",
        ],
    ),
    ("net.core", &["bpf_jit_harden"]),
    (
        "net.netfilter",
        &["nf_conntrack_helper", "nf_conntrack_tcp_be_liberal"],
    ),
];

/// The most parameters of each kind that are named.
const MOST: usize = 2;

/// Returns what the wildcards of a key include; none if it has no wildcard, or only one in the name of a link.
pub(super) fn included(key: &str) -> Option<String> {
    let parts = [depth(key), links(key), parameters(key)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// That a last wildcard stands for one part of the key: `net.ipv4.*` includes nothing below `net.ipv4.conf`.
fn depth(key: &str) -> Option<String> {
    let (place, last) = key.rsplit_once('.')?;
    (is_every(last) && !is_glob(place)).then(|| format!("directly below {place}"))
}

/// The links and what stands for all of them, in `net.ipv4.conf.LINK.…`.
fn links(key: &str) -> Option<String> {
    let parts: Vec<&str> = key.split('.').collect();
    let link = parts.get(3).filter(|link| is_glob(link))?;
    let of_links = |word: &str| globs_meet(parts[2], word);
    let (of_conf, of_any) = (of_links("conf"), of_links("conf") || of_links("neigh"));
    let has = |word: &str, exists: bool| {
        let included = exists && globs_meet(link, word);
        included.then(|| format!("`{word}`"))
    };
    let every = (of_any && is_every(link)).then(|| "every interface".to_owned());
    let included = [every, has("all", of_conf), has("default", of_any)];
    let included: Vec<String> = included.into_iter().flatten().collect();
    (!included.is_empty()).then(|| joined(included, "and"))
}

/// Parameters that a wildcard at the end includes.
fn parameters(key: &str) -> Option<String> {
    let (place, last) = key.rsplit_once('.').filter(|(_, last)| is_glob(last))?;
    let is_included = |name: &str| {
        let mut places = PLACES.iter().filter(|(_, names)| names.contains(&name));
        globs_meet(last, name) && places.any(|(other, _)| meets(place, other))
    };
    let mut included: Vec<&str> = Vec::new();
    for kind in [REACHES, PROTECTIONS] {
        let before = included.len();
        for (name, ..) in kind {
            let is_new = is_included(name) && !included.contains(name);
            if is_new && included.len() < before + MOST {
                included.push(name);
            }
        }
    }
    (!included.is_empty()).then(|| format!("including {}", joined(quoted(included), "and")))
}

/// Whether two places have as many parts, and each part of one something in common with that of the other.
fn meets(one: &str, other: &str) -> bool {
    let mut parts = one.split('.').zip(other.split('.'));
    one.split('.').count() == other.split('.').count()
        && parts.all(|(one, other)| globs_meet(one, other))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_wildcard_says_what_it_includes() {
        for (key, expected) in [
            ("net.ipv4.ip_forward", None),
            ("net.ipv4.conf.veth*.rp_filter", None),
            ("net.ipv4.conf.{ifname}.x", None),
            (
                "net.ipv4.conf.*.rp_filter",
                Some("every interface, `all` and `default`"),
            ),
            (
                "net.ipv4.neigh.*.mcast_solicit",
                Some("every interface and `default`"),
            ),
            ("net.*.*.a*.x", Some("`all`")),
            ("net.ipv4.route.*", Some("directly below net.ipv4.route")),
            (
                "net.ipv4.*",
                Some(
                    "directly below net.ipv4, including `ip_forward`, `tcp_syncookies` and `icmp_echo_ignore_broadcasts`",
                ),
            ),
            ("net.ipv4.ip_f*", Some("including `ip_forward`")),
            ("net.ipv4.tcp_r*", None),
            (
                "net.*.*",
                Some("including `ip_forward`, `tcp_syncookies` and `icmp_echo_ignore_broadcasts`"),
            ),
            (
                "net.ipv6.conf.*.*",
                Some(
                    "every interface, `all` and `default`, including `forwarding`, `mc_forwarding`, \
                     `accept_redirects` and `accept_source_route`",
                ),
            ),
            (
                "net.ipv4.conf.all.*",
                Some(
                    "directly below net.ipv4.conf.all, including `forwarding`, `mc_forwarding`, `rp_filter` and \
                     `accept_redirects`",
                ),
            ),
            (
                "net.bridge.*",
                Some(
                    "directly below net.bridge, including `bridge-nf-call-iptables` and `bridge-nf-call-ip6tables`",
                ),
            ),
        ] {
            assert_eq!(included(key).as_deref(), expected, "{key}");
        }
    }

    #[test]
    fn each_parameter_with_an_effect_has_a_place() {
        let known = [REACHES, PROTECTIONS].into_iter().flatten();
        let known: BTreeSet<&str> = known.map(|(name, ..)| *name).collect();
        let placed = PLACES.iter().flat_map(|(_, names)| names.iter().copied());
        assert_eq!(placed.collect::<BTreeSet<&str>>(), known);
    }

    /// Of IP, which each network namespace has.
    #[test]
    fn the_places_are_those_of_the_kernel() {
        for (place, names) in PLACES.iter().filter(|(place, _)| place.contains(".ip")) {
            let path = place.replace('.', "/").replace('*', "all");
            let directory = PathBuf::from("/proc/sys").join(path);
            for name in *names {
                assert!(directory.join(name).exists(), "{place}.{name}");
            }
        }
    }
}
