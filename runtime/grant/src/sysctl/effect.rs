//! What the value of a parameter does that its name does not say: a protection that is disabled, or traffic of others
//! that is let through.

use crate::act::Severity;
use crate::namespace::Namespace;

/// A consequence of a value.
pub(super) struct Effect {
    /// As it follows "which".
    pub words: &'static str,
    is_protection: bool,
}

/// The values with which a parameter has its effect.
#[derive(Clone, Copy)]
pub(super) enum When {
    /// Zero.
    Off,
    /// Anything but zero.
    On,
    /// More than zero: a parameter for which less is stricter.
    Positive,
    /// Two.
    Two,
    /// A port below those that need privileges by default.
    BelowPrivileged,
}

/// The first port that needs no privilege by default.
const UNPRIVILEGED: i64 = 1024;

/// Parameters by the last part of their keys, which is the same for every link and family, with what a value does.
///
/// See the kernel's `Documentation/networking/ip-sysctl.rst`, `nf_conntrack-sysctl.rst` and
/// `Documentation/admin-guide/sysctl/net.rst`.
pub(super) const PROTECTIONS: &[(&str, When, &str)] = &[
    (
        "rp_filter",
        When::Off,
        "turns off the check for forged source addresses",
    ),
    (
        "rp_filter",
        When::Two,
        "loosens the check for forged source addresses",
    ),
    (
        "accept_redirects",
        When::On,
        "accepts ICMP redirects, which may lead traffic elsewhere",
    ),
    (
        "secure_redirects",
        When::Off,
        "accepts ICMP redirects of anyone, not of gateways alone",
    ),
    ("send_redirects", When::On, "sends ICMP redirects"),
    (
        "accept_source_route",
        When::Positive,
        "accepts packets that choose their own route",
    ),
    (
        "accept_local",
        When::On,
        "accepts packets that claim an address of this namespace",
    ),
    (
        "accept_ra",
        When::On,
        "accepts routes from IPv6 router advertisements",
    ),
    (
        "route_localnet",
        When::On,
        "lets packets for 127.0.0.0/8 in from outside",
    ),
    (
        "log_martians",
        When::Off,
        "stops logging packets with impossible addresses",
    ),
    (
        "arp_accept",
        When::On,
        "accepts unsolicited ARP announcements",
    ),
    ("drop_gratuitous_arp", When::Off, "accepts gratuitous ARP"),
    (
        "drop_unsolicited_na",
        When::Off,
        "accepts unsolicited neighbour advertisements",
    ),
    (
        "drop_unicast_in_l2_multicast",
        When::Off,
        "accepts IP unicast in link-layer multicast",
    ),
    (
        "tcp_syncookies",
        When::Off,
        "turns off the protection against SYN floods",
    ),
    (
        "icmp_echo_ignore_broadcasts",
        When::Off,
        "answers pings to broadcast addresses",
    ),
    (
        "ip_nonlocal_bind",
        When::On,
        "lets programs bind to addresses that the host does not have",
    ),
    (
        "ip_unprivileged_port_start",
        When::BelowPrivileged,
        "lets every program listen on low ports",
    ),
    (
        "bridge-nf-call-iptables",
        When::Off,
        "lets bridged IPv4 traffic bypass the packet filter",
    ),
    (
        "bridge-nf-call-ip6tables",
        When::Off,
        "lets bridged IPv6 traffic bypass the packet filter",
    ),
    (
        "bridge-nf-call-arptables",
        When::Off,
        "lets bridged ARP bypass the packet filter",
    ),
    (
        "nf_conntrack_tcp_be_liberal",
        When::On,
        "accepts TCP packets outside the window of a connection",
    ),
    (
        "nf_conntrack_helper",
        When::On,
        "lets connection helpers open ports",
    ),
    (
        "bpf_jit_harden",
        When::Off,
        "turns off the hardening of compiled BPF programs",
    ),
];

/// Parameters that let traffic of others through, or answer for them.
pub(super) const REACHES: &[(&str, When, &str)] = &[
    ("ip_forward", When::On, "forwards packets between all links"),
    ("forwarding", When::On, "forwards packets"),
    ("mc_forwarding", When::On, "forwards multicast packets"),
    (
        "ip_forward",
        When::Off,
        "stops forwarding packets between all links",
    ),
    ("forwarding", When::Off, "stops forwarding packets"),
    ("proxy_arp", When::On, "answers ARP for others"),
    (
        "proxy_arp_pvlan",
        When::On,
        "answers ARP for others on the same link",
    ),
    (
        "proxy_ndp",
        When::On,
        "answers neighbour solicitations for others",
    ),
    ("disable_ipv6", When::On, "turns off IPv6"),
];

impl Effect {
    /// The effect of a value, if it has one that is known.
    pub(super) fn of(key: &str, value: &str) -> Option<Self> {
        let (_, name) = key.rsplit_once('.')?;
        let find = |list: &'static [(&str, When, &'static str)]| {
            let mut known = list.iter().filter(|(known, ..)| *known == name);
            known.find(|(_, when, _)| when.is(number(value)))
        };
        let protection = find(PROTECTIONS).map(|(.., words)| (*words, true));
        let found = protection.or_else(|| find(REACHES).map(|(.., words)| (*words, false)));
        found.map(|(words, is_protection)| Self {
            words,
            is_protection,
        })
    }

    /// What it does, if it disables a protection.
    pub(super) fn disabled_protection(&self) -> Option<&'static str> {
        self.is_protection.then_some(self.words)
    }

    pub(super) fn severity(&self, namespace: Namespace) -> Severity {
        if self.is_protection {
            Severity::DisablesProtection
        } else {
            Severity::of_traffic_in(namespace)
        }
    }
}

impl When {
    /// Whether a value is meant. One that is not a number may be any.
    fn is(self, value: Option<i64>) -> bool {
        let Some(value) = value else {
            return true;
        };
        match self {
            Self::Off => value == 0,
            Self::On => value != 0,
            Self::Positive => value > 0,
            Self::Two => value == 2,
            Self::BelowPrivileged => value < UNPRIVILEGED,
        }
    }
}

/// The number that the kernel reads: the first word, in C's notation. None for what it does not read as one.
fn number(value: &str) -> Option<i64> {
    let word = value.split_ascii_whitespace().next()?;
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, word),
    };
    let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    let number = match (hexadecimal, digits.strip_prefix('0')) {
        (Some(digits), _) => i64::from_str_radix(digits, 16),
        (None, Some(octal)) if !octal.is_empty() => i64::from_str_radix(octal, 8),
        _ => digits.parse(),
    };
    number.ok().map(|number| sign * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disables(key: &str, value: &str) -> bool {
        Effect::of(key, value).is_some_and(|effect| effect.is_protection)
    }

    #[test]
    fn the_value_counts_not_the_name() {
        for (key, value, expected) in [
            ("net.ipv4.conf.all.rp_filter", "0", true),
            ("net.ipv4.conf.all.rp_filter", "1", false),
            ("net.ipv4.conf.eth0/1.rp_filter", "2", true),
            ("net.ipv4.conf.default.send_redirects", "1", true),
            ("net.ipv4.conf.default.send_redirects", "0", false),
            ("net.ipv6.conf.all.accept_source_route", "-1", false),
            ("net.ipv6.conf.all.accept_source_route", "1", true),
            ("net.ipv4.ip_unprivileged_port_start", "0", true),
            ("net.ipv4.ip_unprivileged_port_start", "2000", false),
            ("net.ipv4.ip_forward", "1", false),
            ("net.core.somaxconn", "0", false),
        ] {
            assert_eq!(disables(key, value), expected, "{key} = {value}");
        }
    }

    /// The kernel reads C's numbers, with blanks around them and more words after them.
    #[test]
    fn no_spelling_hides_a_value() {
        for value in [
            "0", "00", "0x0", "0X0", "-0", " 0", "\t0 ", "0 1", "off", "", "0b0",
        ] {
            assert!(disables("net.ipv4.conf.all.rp_filter", value), "{value:?}");
        }
        for value in ["1", "01", "0x1", "1 0"] {
            assert!(!disables("net.ipv4.conf.all.rp_filter", value), "{value:?}");
        }
    }
}
