//! Globs: of any text, of the names of links, and of the keys of kernel parameters.

use super::{EVERY_ONE, NO_EFFECT, one};
use crate::facts::flaw_of_name;
use crate::field::{FieldType, Flaw, Seen, Texts, points};
use crate::host_interfaces::{HOST_INTERFACES, LISTED};
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::pattern::{
    Pattern, glob_covers, globs_meet, is_every, is_glob, key_covers, keys_meet, literal,
};
use crate::phrase::OWN;
use crate::spell::{key, spell};
use crate::sysctl_key::flaw_of_key;

/// How two values of a field compare, by functions for this.
macro_rules! compared_by {
    ($covers:path, $meets:path, $points:path) => {
        fn covers(wide: &str, narrow: &str) -> bool {
            $covers(wide, narrow)
        }

        fn meets(value: &str, query: &str) -> bool {
            $meets(value, query)
        }

        fn points(value: &str, others: &Texts) -> Texts {
            $points(value, others)
        }
    };
}

/// What globs of something in a namespace match, and how a grant has it.
macro_rules! globs_of {
    ($matches:ident, $spelled:path) => {
        type Values = Vec<Pattern>;
        type Fact<'r> = (Namespace, &'r str);

        fn matches(globs: &Vec<Pattern>, (_, text): (Namespace, &str), of: &Invocation) -> bool {
            globs.iter().any(|glob| glob.$matches(text, of))
        }

        fn text((_, text): (Namespace, &str)) -> Texts {
            one(text)
        }

        fn write((namespace, text): (Namespace, &str), seen: &Seen<'_>) -> Texts {
            one($spelled(namespace, text, seen.invocation))
        }
    };
}

/// Globs.
pub struct Globs;

impl FieldType for Globs {
    type Values = Vec<Pattern>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] =
        &["eth0", "trusted", "0000:03:00.*", "*", "?", "[a-z]*"];

    fn matches(globs: &Vec<Pattern>, fact: &str, invocation: &Invocation) -> bool {
        globs.iter().any(|glob| glob.matches(fact, invocation))
    }

    fn text(fact: &str) -> Texts {
        one(fact)
    }

    fn write(fact: &str, _: &Seen<'_>) -> Texts {
        one(literal(fact))
    }

    compared_by! { glob_covers, globs_meet, points::of_glob }

    fn included(value: &str) -> Option<String> {
        is_every(value).then(|| EVERY_ONE.to_owned())
    }
}

/// Globs of names of links, each of which is in a namespace.
pub struct LinkNames;

impl FieldType for LinkNames {
    const EXAMPLES: &'static [&'static str] = &[
        "eth0",
        "veth*",
        "*",
        "?",
        "{ifname}",
        "{network}*",
        "[a-z]*",
        "e{containerid}",
        HOST_INTERFACES,
    ];

    globs_of! { matches, spell }
    compared_by! { glob_covers, globs_meet, points::of_glob }

    fn included(value: &str) -> Option<String> {
        match value {
            "{ifname}" => Some(OWN.to_owned()),
            HOST_INTERFACES => Some(format!("those {LISTED}")),
            value => is_every(value).then(|| EVERY_ONE.to_owned()),
        }
    }

    /// The kernel chooses the name of a link that is created without one.
    fn flaws(names: &Texts) -> Vec<Flaw> {
        let literal = names
            .iter()
            .filter(|name| !name.is_empty() && !is_glob(name) && !name.contains('{'));
        let flaws = literal.filter_map(|name| flaw_of_name(name));
        flaws.map(|flaw| (NO_EFFECT, flaw)).collect()
    }
}

/// Globs of dotted keys, segment by segment, whose links are in a namespace.
pub struct Keys;

impl FieldType for Keys {
    const EXAMPLES: &'static [&'static str] = &[
        "net.*.*",
        "net.ipv4.conf.{ifname}.*",
        "net.ipv4.ip_forward",
        "net.ipv4.conf.eth0.forwarding",
        "*",
    ];

    globs_of! { matches_key, key }
    // In a question `*` stands for several segments as well: `net.*` asks about every key below `net`.
    compared_by! { key_covers, keys_meet, points::of_key }

    fn flaws(keys: &Texts) -> Vec<Flaw> {
        let is_open = |key: &str| is_glob(key) || key.contains('{');
        let flaw = |key: &String| {
            let first = key.split('.').next().unwrap_or_default();
            let is_below_net = is_glob(first) || first == "net";
            let outside =
                || format!("`{key}` is not below `net.`; only parameters below it can be reached");
            if !is_below_net {
                return Some(outside());
            }
            flaw_of_key(key).filter(|_| !is_open(key))
        };
        keys.iter()
            .filter_map(flaw)
            .map(|text| (NO_EFFECT, text))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_of_a_question_about_keys_stands_for_several_segments() {
        let value = "net.ipv4.conf.*.rp_filter";
        for query in [
            "*",
            "net.*",
            "net.ipv4.*",
            "net.ipv4.conf.*",
            "*rp_filter",
            "net*rp_*",
            "*.*",
            "net.ipv4.conf.eth0.rp_filter",
        ] {
            assert!(Keys::meets(value, query), "{query}");
        }
        for query in [
            "net.ipv6.*",
            "*accept_ra",
            "net.ipv4.conf.eth0",
            "net.ipv4.conf.*.*.rp_filter",
            "rp_filter",
            "*.*.*.*.*.*",
        ] {
            assert!(!Keys::meets(value, query), "{query}");
        }
        assert!(!Keys::meets("net.ipv4.*", "net.ipv4.conf.*.rp_filter"));
    }
}
