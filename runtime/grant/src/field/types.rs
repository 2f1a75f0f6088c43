//! The types of fields: what their values match, and how two of them compare.

use std::marker::PhantomData;
use std::path::Path;

use ipnet::IpNet;

use super::{FieldType, Flaw, Networks, Seen, Texts, Verbs, points};
use crate::facts::flaw_of_name;
use crate::host_interfaces::{HOST_INTERFACES, LISTED};
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::owner::Owner;
use crate::pattern::{
    DATA_DIR, Directory, File, Number, Pattern, RESOLV_CONF, Range, contains, glob_covers,
    globs_meet, is_every, is_glob, key_covers, keys_meet, literal,
};
use crate::phrase::{OWN, joined, quoted};
use crate::spell::{key, spell};
use crate::sysctl_key::flaw_of_key;
use crate::verb::{Verb, VerbSet};
use crate::word::Word;

/// What a wildcard or a range that matches everything includes.
const EVERY_ONE: &str = "every one";

/// The code of a value without effect.
const NO_EFFECT: &str = "no-effect";

fn one(text: impl ToString) -> Texts {
    Texts::from([text.to_string()])
}

/// The namespace that an operation is in.
pub struct InNamespace;

impl FieldType for InNamespace {
    type Values = Namespace;
    type Fact<'r> = Namespace;
    const IS_LIST: bool = false;
    const EXAMPLES: &'static [&'static str] = Namespace::WORDS;

    fn matches(value: &Namespace, fact: Namespace, _: &Invocation) -> bool {
        *value == fact
    }

    fn text(fact: Namespace) -> Texts {
        one(fact)
    }
}

impl<R: VerbSet> FieldType for Verbs<R> {
    type Values = Vec<Verb>;
    type Fact<'r> = Verb;
    const EXAMPLES: &'static [&'static str] = R::VERB_WORDS;

    fn matches(verbs: &Vec<Verb>, fact: Verb, _: &Invocation) -> bool {
        verbs.contains(&fact)
    }

    fn text(fact: Verb) -> Texts {
        one(fact)
    }
}

/// One of few words.
pub struct Words<W>(PhantomData<W>);

impl<W: Word + ToString> FieldType for Words<W> {
    type Values = Vec<W>;
    type Fact<'r> = W;
    const EXAMPLES: &'static [&'static str] = W::WORDS;

    fn matches(words: &Vec<W>, fact: W, _: &Invocation) -> bool {
        words.contains(&fact)
    }

    fn text(fact: W) -> Texts {
        one(fact.word())
    }
}

/// One of few words; an operation may also have another of the kernel's.
pub struct KernelWords<W>(PhantomData<W>);

impl<W: Word> FieldType for KernelWords<W> {
    type Values = Vec<W>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] = W::WORDS;

    fn matches(words: &Vec<W>, fact: &str, _: &Invocation) -> bool {
        words.iter().any(|word| word.word() == fact)
    }

    fn text(fact: &str) -> Texts {
        one(fact)
    }
}

/// Several words at once, all of which must be listed.
pub struct AllOf<W>(PhantomData<W>);

impl<W: Word> FieldType for AllOf<W> {
    type Values = Vec<W>;
    type Fact<'r> = &'r [W];
    const EXAMPLES: &'static [&'static str] = W::WORDS;

    fn matches(words: &Vec<W>, fact: &[W], _: &Invocation) -> bool {
        fact.iter().all(|word| words.contains(word))
    }

    fn text(fact: &[W]) -> Texts {
        fact.iter().map(|word| word.word().to_owned()).collect()
    }
}

/// Texts that are matched exactly.
pub struct Exact;

impl FieldType for Exact {
    type Values = Vec<String>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] = &["0", "1", ""];
    const OTHER: Option<&'static str> = Some("another");

    fn matches(texts: &Vec<String>, fact: &str, _: &Invocation) -> bool {
        texts.iter().any(|text| text == fact)
    }

    fn text(fact: &str) -> Texts {
        one(fact)
    }

    /// Elsewhere in a rule it would match every value.
    fn flaws(texts: &Texts) -> Vec<Flaw> {
        let flaw = "`*` matches only the value `*`: without the list every value is allowed";
        let has_wildcard = texts.contains("*");
        has_wildcard
            .then(|| (NO_EFFECT, flaw.to_owned()))
            .into_iter()
            .collect()
    }
}

/// Kinds of links, as the kernel reports them.
pub struct Kinds;

impl Kinds {
    /// The kinds that the kernel has words for. It reports others as well, but a grant rarely means those.
    const KNOWN: [&'static str; 25] = [
        "bareudp",
        "bond",
        "bridge",
        "dummy",
        "geneve",
        "gre",
        "gretap",
        "ifb",
        "ip6tnl",
        "ipip",
        "ipvlan",
        "ipvtap",
        "loopback",
        "macvlan",
        "macvtap",
        "netkit",
        "physical",
        "sit",
        "team",
        "tun",
        "veth",
        "vlan",
        "vrf",
        "vxlan",
        "wireguard",
    ];
}

impl FieldType for Kinds {
    type Values = Vec<String>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] =
        &["veth", "bridge", "ifb", "dummy", "physical", "loopback"];
    const OTHER: Option<&'static str> = Some("another");

    fn matches(kinds: &Vec<String>, fact: &str, _: &Invocation) -> bool {
        kinds.iter().any(|kind| kind == fact)
    }

    fn text(fact: &str) -> Texts {
        one(fact)
    }

    fn flaws(kinds: &Texts) -> Vec<Flaw> {
        let is_unknown = |kind: &&String| !Self::KNOWN.contains(&kind.as_str());
        let unknown: Vec<&String> = kinds.iter().filter(is_unknown).collect();
        if unknown.is_empty() {
            return Vec::new();
        }
        let text = format!(
            "no link has the kind {}; expected one of {}",
            joined(quoted(unknown), "and"),
            Self::KNOWN.join(", ")
        );
        vec![("unknown-kind", text)]
    }
}

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

/// An owner, by its mark.
pub struct Owners;

impl FieldType for Owners {
    type Values = Vec<Owner>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] = Owner::WORDS;
    const OTHER: Option<&'static str> = Some("another");

    fn matches(owners: &Vec<Owner>, mark: &str, invocation: &Invocation) -> bool {
        owners.iter().any(|owner| owner.has(mark, invocation))
    }

    fn text(mark: &str) -> Texts {
        one(mark)
    }

    fn write(mark: &str, seen: &Seen<'_>) -> Texts {
        let has = |owner: &&Owner| owner.has(mark, seen.invocation);
        // What the attachment owns, its network owns as well; the narrower one comes last.
        Owner::ALL.iter().rfind(has).map_or_else(Texts::new, one)
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        wide == narrow || (wide, narrow) == (Owner::Network.word(), Owner::Attachment.word())
    }

    /// Whose mark it is depends on the invocation. What weir did not make has none.
    fn meets(_: &str, mark: &str) -> bool {
        !mark.is_empty()
    }
}

impl FieldType for Networks {
    type Values = Vec<IpNet>;
    type Fact<'r> = IpNet;
    const EXAMPLES: &'static [&'static str] = &[
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.1.2.3/32",
        "0.0.0.0/0",
        "::/0",
        "fd00::/8",
    ];

    fn matches(networks: &Vec<IpNet>, fact: IpNet, _: &Invocation) -> bool {
        networks.iter().any(|network| contains(network, &fact))
    }

    fn text(address: IpNet) -> Texts {
        one(address)
    }

    /// The next container gets another address of the same network.
    fn write(address: IpNet, seen: &Seen<'_>) -> Texts {
        if address.prefix_len() < address.max_prefix_len() {
            return one(address.trunc());
        }
        let around = seen.networks.iter().filter(|n| contains(n, &address));
        let smallest = around.max_by_key(|network| network.prefix_len());
        one(smallest.copied().unwrap_or(address))
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        let networks = (wide.parse::<IpNet>(), narrow.parse::<IpNet>());
        matches!(networks, (Ok(wide), Ok(narrow)) if contains(&wide, &narrow))
    }

    fn meets(value: &str, query: &str) -> bool {
        Self::covers(value, query)
    }

    fn points(value: &str, others: &Texts) -> Texts {
        points::of_network(value, others)
    }

    fn aggregate(networks: &Texts) -> Texts {
        let networks: Vec<IpNet> = networks.iter().filter_map(|n| n.parse().ok()).collect();
        let together = IpNet::aggregate(&networks);
        together.iter().map(IpNet::to_string).collect()
    }

    fn included(value: &str) -> Option<String> {
        every_address(value).map(|family| format!("every {family} address"))
    }
}

/// The family of which a network has every address.
pub(crate) fn every_address(network: &str) -> Option<&'static str> {
    match network.parse().ok()? {
        IpNet::V4(network) if network.prefix_len() == 0 => Some("IPv4"),
        IpNet::V6(network) if network.prefix_len() == 0 => Some("IPv6"),
        _ => None,
    }
}

/// Whole numbers.
pub struct Numbers;

impl FieldType for Numbers {
    type Values = Vec<u32>;
    type Fact<'r> = u32;
    const IS_NUMBER: bool = true;
    const EXAMPLES: &'static [&'static str] = &["254", "100", "0"];
    const OTHER: Option<&'static str> = Some("4294967295");

    fn matches(numbers: &Vec<u32>, fact: u32, _: &Invocation) -> bool {
        numbers.contains(&fact)
    }

    fn text(fact: u32) -> Texts {
        one(fact)
    }
}

/// Whole numbers, and ranges of them.
pub struct Ranges<N>(PhantomData<N>);

impl<N: Number + 'static> FieldType for Ranges<N> {
    type Values = Vec<Range<N>>;
    type Fact<'r> = N;
    const IS_NUMBER: bool = true;
    const EXAMPLES: &'static [&'static str] = &["53", "100", "2048", "30000-32767", "0-65535"];

    fn matches(ranges: &Vec<Range<N>>, fact: N, _: &Invocation) -> bool {
        ranges.iter().any(|range| range.contains(fact))
    }

    fn text(fact: N) -> Texts {
        one(fact)
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        let ranges = (wide.parse::<Range<N>>(), narrow.parse::<Range<N>>());
        matches!(ranges, (Ok(w), Ok(n)) if w.first <= n.first && n.last <= w.last)
    }

    fn meets(value: &str, query: &str) -> bool {
        Self::covers(value, query)
    }

    fn points(value: &str, others: &Texts) -> Texts {
        points::of_range::<N>(value, others)
    }

    fn aggregate(ranges: &Texts) -> Texts {
        let parsed = ranges.iter().filter_map(|text| text.parse().ok());
        let together = Range::<N>::aggregate(parsed.collect());
        together.iter().map(ToString::to_string).collect()
    }

    fn included(value: &str) -> Option<String> {
        let range: Range<N> = value.parse().ok()?;
        let is_every = range.first.to_string() == "0" && range.last == N::MAX;
        is_every.then(|| EVERY_ONE.to_owned())
    }
}

/// Says whether a range has every port; nothing listens at port 0.
pub(crate) fn every_port(value: &str) -> Option<String> {
    let range: Range<u16> = value.parse().ok()?;
    let is_every = range.first <= 1 && range.last == u16::MAX;
    is_every.then(|| "every port".to_owned())
}

/// An operation's path, and whether the node's own configuration names it.
#[derive(Clone, Copy, Debug)]
pub struct StorePath<'r> {
    pub path: &'r Path,
    pub is_configured: bool,
}

/// Directories, with everything below them; none, when left out.
pub struct Directories;

impl FieldType for Directories {
    type Values = Vec<Directory>;
    type Fact<'r> = StorePath<'r>;
    const LEFT_OUT_IS_ALL: bool = false;
    const EXAMPLES: &'static [&'static str] = &["/var/lib/cni", "/run/cni/x", "/", DATA_DIR];

    fn matches(directories: &Vec<Directory>, place: StorePath<'_>, _: &Invocation) -> bool {
        directories.iter().any(|directory| {
            directory.contains(place.path) || place.is_configured && directory.is_of_configuration()
        })
    }

    fn text(place: StorePath<'_>) -> Texts {
        one(place.path.display())
    }

    fn write(place: StorePath<'_>, _: &Seen<'_>) -> Texts {
        write_path(place, DATA_DIR)
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        Path::new(narrow).starts_with(wide)
    }

    /// What a configuration names in the key is not known.
    fn meets(value: &str, query: &str) -> bool {
        let below = format!("{}/*", value.trim_end_matches('/'));
        globs_meet(value, query) || globs_meet(&below, query)
    }

    fn points(value: &str, others: &Texts) -> Texts {
        points::of_directory(value, others)
    }

    fn included(value: &str) -> Option<String> {
        match value {
            "/" => Some("every directory of the host".to_owned()),
            DATA_DIR => Some("the directory that the node's own configuration names".to_owned()),
            _ => None,
        }
    }
}

/// Files, by exact path; none, when left out.
pub struct Files;

impl FieldType for Files {
    type Values = Vec<File>;
    type Fact<'r> = StorePath<'r>;
    const LEFT_OUT_IS_ALL: bool = false;
    const EXAMPLES: &'static [&'static str] = &["/etc/resolv.conf", "/etc/hosts", RESOLV_CONF];
    const OTHER: Option<&'static str> = Some("/another");

    fn matches(files: &Vec<File>, place: StorePath<'_>, _: &Invocation) -> bool {
        files
            .iter()
            .any(|file| file.is(place.path) || place.is_configured && file.is_of_configuration())
    }

    fn text(place: StorePath<'_>) -> Texts {
        one(place.path.display())
    }

    fn write(place: StorePath<'_>, _: &Seen<'_>) -> Texts {
        write_path(place, RESOLV_CONF)
    }

    /// What a configuration names in the key is not known.
    fn meets(value: &str, query: &str) -> bool {
        globs_meet(value, query)
    }

    fn included(value: &str) -> Option<String> {
        let named = "the one that the node's own configuration names";
        (value == RESOLV_CONF).then(|| named.to_owned())
    }
}

fn write_path(place: StorePath<'_>, placeholder: &str) -> Texts {
    if place.is_configured {
        return one(placeholder);
    }
    one(place.path.display())
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
