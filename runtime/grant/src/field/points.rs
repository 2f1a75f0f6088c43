//! Single values that a glob, a network or a range matches, to distinguish two of them.
//!
//! Where a value ends is where others differ from it. So the candidates are at the ends of `value` and of each of the
//! others, and what `value` does not match is left out.

use std::path::Path;

use ipnet::IpNet;

use super::Texts;
use crate::pattern::{Element, Number, Range, contains, elements, glob_covers, is_glob};

/// The most values of one glob.
const MOST: usize = 64;

/// What `*` may stand for, in addition to text of the other globs.
const ANY: [&str; 4] = ["", "-", "0", "zz"];

/// What `?` and a class that excludes characters may stand for.
const CHARACTERS: [char; 6] = ['-', '0', '9', 'A', 'a', 'z'];

/// Texts that a glob matches.
pub(super) fn of_glob(glob: &str, others: &Texts) -> Texts {
    if !is_glob(glob) {
        return Texts::from([glob.to_owned()]);
    }
    let fragments = others.iter().flat_map(|other| fragments(other));
    let mut any: Vec<String> = ANY.iter().map(|text| (*text).to_owned()).collect();
    any.extend(fragments);
    any.sort_by_key(String::len);
    any.dedup();
    let mut texts = vec![String::new()];
    for element in elements(glob) {
        let ways = ways(&element, &any);
        let longer = texts
            .iter()
            .flat_map(|text| ways.iter().map(move |way| format!("{text}{way}")));
        texts = longer.take(MOST).collect();
    }
    let literal = others.iter().filter(|other| !is_glob(other)).cloned();
    texts.extend(literal);
    let is_matched = |text: &String| glob_covers(glob, text);
    texts.into_iter().filter(is_matched).collect()
}

/// Texts that an element of a glob matches.
fn ways(element: &Element, any: &[String]) -> Vec<String> {
    let texts = |characters: &[char]| characters.iter().map(char::to_string).collect();
    match element {
        Element::Literal(c) => vec![c.to_string()],
        Element::Placeholder(text) => vec![text.clone()],
        Element::Many => any.to_vec(),
        Element::One | Element::Class { negated: true, .. } => texts(&CHARACTERS),
        Element::Class { ranges, .. } => {
            let mut ends: Vec<char> = ranges.iter().flat_map(|(a, b)| [*a, *b]).collect();
            ends.dedup();
            texts(&ends)
        }
    }
}

/// The texts between the wildcards of a glob.
fn fragments(glob: &str) -> Vec<String> {
    let mut fragments = vec![String::new()];
    for element in elements(glob) {
        match (element, fragments.last_mut()) {
            (Element::Literal(c), Some(last)) => last.push(c),
            (Element::Placeholder(text), Some(last)) => last.push_str(&text),
            _ => fragments.push(String::new()),
        }
    }
    fragments.retain(|fragment| !fragment.is_empty());
    fragments
}

/// Keys that a glob matches, segment by segment.
pub(super) fn of_key(glob: &str, others: &Texts) -> Texts {
    let mut keys = vec![String::new()];
    for (at, segment) in glob.split('.').enumerate() {
        let there = others.iter().filter_map(|other| other.split('.').nth(at));
        let there: Texts = there.map(str::to_owned).collect();
        let is_segment = |text: &String| !text.is_empty() && !text.contains('.');
        let points: Vec<String> = of_glob(segment, &there)
            .into_iter()
            .filter(is_segment)
            .collect();
        let dot = if at == 0 { "" } else { "." };
        let longer = keys
            .iter()
            .flat_map(|key| points.iter().map(move |point| format!("{key}{dot}{point}")));
        keys = longer.take(MOST).collect();
    }
    keys.into_iter().collect()
}

/// The first and last address of a network, those of the others in it, and their neighbours.
pub(super) fn of_network(network: &str, others: &Texts) -> Texts {
    let Ok(network) = network.parse::<IpNet>() else {
        return Texts::new();
    };
    let others = others.iter().filter_map(|other| other.parse().ok());
    let ends = others.chain([network]).flat_map(|other: IpNet| {
        let (first, last) = (bits(other.network()), bits(other.broadcast()));
        let (before, after) = (first.wrapping_sub(1), last.wrapping_add(1));
        [before, first, last, after].map(|bits| address(bits, network))
    });
    let inside = ends.flatten().filter(|address| {
        contains(&network, address) && address.addr().is_ipv4() == network.addr().is_ipv4()
    });
    inside.map(|address| address.to_string()).collect()
}

fn bits(address: std::net::IpAddr) -> u128 {
    match address {
        std::net::IpAddr::V4(address) => address.to_bits().into(),
        std::net::IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address of these bits in a network's family.
fn address(bits: u128, network: IpNet) -> Option<IpNet> {
    let address: std::net::IpAddr = match network {
        IpNet::V4(_) => std::net::Ipv4Addr::from(u32::try_from(bits).ok()?).into(),
        IpNet::V6(_) => std::net::Ipv6Addr::from(bits).into(),
    };
    Some(address.into())
}

/// The first and last number of a range, those of the others in it, and their neighbours.
pub(super) fn of_range<N: Number>(range: &str, others: &Texts) -> Texts {
    let Ok(range) = range.parse::<Range<N>>() else {
        return Texts::new();
    };
    let numbers = |text: &str| -> Vec<u64> {
        let numbers = text.split('-').filter_map(|number| number.parse().ok());
        numbers.flat_map(around).collect()
    };
    let ends = others.iter().flat_map(|other| numbers(other));
    let ends = ends.chain(numbers(&range.to_string()));
    let parsed = ends.filter_map(|number| number.to_string().parse::<N>().ok());
    let inside = parsed.filter(|number| range.contains(*number));
    inside.map(|number| number.to_string()).collect()
}

fn around(number: u64) -> [u64; 3] {
    [number.saturating_sub(1), number, number.saturating_add(1)]
}

/// A directory, a file in it, and those of the others in it.
pub(super) fn of_directory(directory: &str, others: &Texts) -> Texts {
    let below = |parent: &str| format!("{}/another", parent.trim_end_matches('/'));
    let all = others.iter().map(String::as_str).chain([directory]);
    let all = all.flat_map(|one| [one.to_owned(), below(one)]);
    all.filter(|one| Path::new(one).starts_with(directory))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Texts {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    #[test]
    fn a_glob_is_told_from_one_that_it_overlaps() {
        let points = of_glob("a*", &texts(&["*b"]));
        assert!(points.contains("ab") && points.contains("a"), "{points:?}");
        let points = of_glob("veth*", &texts(&["veth[0-9]*", "veth1"]));
        assert!(
            points.contains("veth-") && points.contains("veth1"),
            "{points:?}"
        );
        assert_eq!(of_glob("eth0", &texts(&["*"])), texts(&["eth0"]));
    }

    #[test]
    fn every_point_is_matched() {
        for glob in ["*", "[!a]x", "[]a]", "[a-c-]?", "x*y*z", "[", "a[0-9"] {
            let points = of_glob(glob, &texts(&["q*", "xyz", "?"]));
            let all = points.iter().all(|point| glob_covers(glob, point));
            assert!(
                all && (glob.matches('[').count() == 1 || !points.is_empty()),
                "{glob}: {points:?}"
            );
        }
    }

    #[test]
    fn a_key_is_varied_segment_by_segment() {
        let points = of_key(
            "net.ipv4.conf.*.rp_filter",
            &texts(&["net.ipv4.conf.all.rp_filter"]),
        );
        assert!(points.contains("net.ipv4.conf.all.rp_filter"), "{points:?}");
        assert!(points.contains("net.ipv4.conf.zz.rp_filter"), "{points:?}");
        assert!(
            points.iter().all(|key| key.split('.').count() == 5),
            "{points:?}"
        );
    }

    #[test]
    fn networks_and_ranges_have_ends() {
        let points = of_network("10.0.0.0/8", &texts(&["10.128.0.0/9", "fd00::/8"]));
        assert!(points.contains("10.127.255.255/32"), "{points:?}");
        let points = of_range::<u16>("10-20", &texts(&["12", "19-30"]));
        assert_eq!(points, texts(&["10", "11", "12", "13", "18", "19", "20"]));
    }

    #[test]
    fn a_directory_has_what_is_below_it() {
        let points = of_directory("/var", &texts(&["/var/lib", "/etc"]));
        let expected = ["/var", "/var/another", "/var/lib", "/var/lib/another"];
        assert_eq!(points, texts(&expected));
    }
}
