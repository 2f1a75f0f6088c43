//! Names of links and keys of parameters as a grant would have them.

use super::host_interfaces::HOST_INTERFACES;
use super::invocation::Invocation;
use super::namespace::Namespace;
use super::pattern::literal;

/// From this many hexadecimal digits at its end, a name counts as generated: weir and the reference plugins make
/// eight and more. Names that people choose end in fewer, and some are words: `br-facade`.
const GENERATED_DIGITS: usize = 8;

/// A name of a link.
pub(super) fn spell(namespace: Namespace, name: &str, invocation: &Invocation) -> String {
    // The host's link of that name is a different one.
    if namespace == Namespace::Container && name == invocation.ifname {
        return "{ifname}".to_owned();
    }
    if namespace == Namespace::Host && invocation.host_interfaces.has(name) {
        return HOST_INTERFACES.to_owned();
    }
    let placeholders = [
        ("{containerid}", &invocation.container_id),
        ("{network}", &invocation.network),
    ];
    for (placeholder, value) in placeholders {
        if let Some((before, after)) = apart(name, value) {
            return format!("{}{placeholder}{}", literal(before), literal(after));
        }
    }
    match generated_prefix(name) {
        Some(prefix) => format!("{}*", literal(prefix)),
        None => literal(name),
    }
}

/// Splits a name around a value that is a part of its own in it.
fn apart<'a>(name: &'a str, value: &str) -> Option<(&'a str, &'a str)> {
    let (before, after) = if value.is_empty() {
        None
    } else {
        name.split_once(value)
    }?;
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let stands_alone = !is_letter(before.chars().last()) && !is_letter(after.chars().next());
    stands_alone.then_some((before, after))
}

/// Returns the prefix of a generated name: `veth` of `veth1a2b3c4d`, and of the kernel's own `veth0`; none for other names.
pub fn generated_prefix(name: &str) -> Option<&str> {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let prefix = name.trim_end_matches(is_hex);
    let digits = name.len() - prefix.len();
    let by_kernel = name
        .strip_prefix("veth")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    match prefix.is_empty() {
        false if digits >= GENERATED_DIGITS => Some(prefix),
        _ if by_kernel => Some("veth"),
        _ => None,
    }
}

/// A sysctl key. Of its segments, only that of a link is spelled: `net` may also be the name of a network.
pub(super) fn key(namespace: Namespace, key: &str, invocation: &Invocation) -> String {
    let segments: Vec<&str> = key.split('.').collect();
    let is_of_links = matches!(segments.get(2), Some(&("conf" | "neigh")));
    let spelled = segments.iter().enumerate().map(|(at, segment)| {
        if is_of_links && at == 3 {
            // A dot inside a name is a slash in a key.
            spell(namespace, &segment.replace('/', "."), invocation).replace('.', "/")
        } else {
            literal(segment)
        }
    });
    spelled.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostInterfaces;

    #[test]
    fn names_hold_this_invocations_values() {
        let invocation = Invocation {
            container_id: "one".to_owned(),
            ifname: "eth0".to_owned(),
            network: "blue".to_owned(),
            host_interfaces: HostInterfaces::read(["eth1", "bond*"]).expect("a list"),
        };
        for (name, expected) in [
            ("eth1", HOST_INTERFACES),
            ("bond0.100", HOST_INTERFACES),
            ("one", "{containerid}"),
            ("x-one", "x-{containerid}"),
            ("br-blue", "br-{network}"),
            ("stone", "stone"),
            ("blues", "blues"),
            ("veth12", "veth*"),
            ("veth", "veth"),
            ("bwp0123456789ab", "bwp*"),
            ("dead", "dead"),
            ("cafe01", "cafe01"),
            ("br-facade", "br-facade"),
            ("br-cafe01", "br-cafe01"),
            ("vethdeadbeef", "veth*"),
            ("wg0", "wg0"),
            ("a[b]", "a[[]b[]]"),
            ("a{b}", "a?b?"),
        ] {
            let spelled = spell(Namespace::Host, name, &invocation);
            assert_eq!(spelled, expected, "{name}");
        }
    }

    #[test]
    fn only_the_link_of_a_key_holds_this_invocations_values() {
        let spelled = |network: &str, text: &str| {
            let invocation = Invocation {
                ifname: "conf".to_owned(),
                network: network.to_owned(),
                ..Invocation::default()
            };
            key(Namespace::Container, text, &invocation)
        };
        for (network, given, expected) in [
            ("net", "net.ipv4.ip_forward", "net.ipv4.ip_forward"),
            (
                "net",
                "net.ipv4.conf.br-net.x",
                "net.ipv4.conf.br-{network}.x",
            ),
            ("ipv4", "net.ipv4.conf.conf.x", "net.ipv4.conf.{ifname}.x"),
            ("blue", "net.ipv6.neigh.veth12.x", "net.ipv6.neigh.veth*.x"),
            ("blue", "net.ipv4.conf.eth0/1.x", "net.ipv4.conf.eth0/1.x"),
            (
                "blue",
                "net.ipv4.conf.a/blue.x",
                "net.ipv4.conf.a/{network}.x",
            ),
            (
                "forward",
                "net.ipv4.conf.all.forward",
                "net.ipv4.conf.all.forward",
            ),
        ] {
            assert_eq!(spelled(network, given), expected, "{given}");
        }
    }
}
