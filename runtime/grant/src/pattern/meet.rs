//! Whether a text can match two globs at once.

/// One element of a glob.
#[derive(Debug, PartialEq, Eq)]
enum Element {
    /// `*`, and a placeholder, whose value is not known.
    Many,
    /// `?`
    One,
    Literal(char),
    /// `[a-z]`, `[!a-z]`: ranges with both ends.
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

/// Whether some text matches both globs. A placeholder stands for any text. Of two negated classes, and of a class and a
/// negated one, it may say yes although no character is in both.
pub fn globs_meet(one: &str, other: &str) -> bool {
    let (one, other) = (elements(one), elements(other));
    // `meet[j]`: whether the rest of `one` from the present element meets that of `other` from its element `j`.
    let mut meet = only_many(&other);
    for element in one.iter().rev() {
        let mut now = vec![false; other.len() + 1];
        now[other.len()] = *element == Element::Many && meet[other.len()];
        for (j, beside) in other.iter().enumerate().rev() {
            now[j] = if *element == Element::Many || *beside == Element::Many {
                meet[j] || now[j + 1]
            } else {
                have_one_in_common(element, beside) && meet[j + 1]
            };
        }
        meet = now;
    }
    meet[0]
}

/// For each element, whether it and those after it match the empty text.
fn only_many(elements: &[Element]) -> Vec<bool> {
    let mut empty = vec![true; elements.len() + 1];
    for (at, element) in elements.iter().enumerate().rev() {
        empty[at] = *element == Element::Many && empty[at + 1];
    }
    empty
}

fn have_one_in_common(one: &Element, other: &Element) -> bool {
    use Element::{Class, Literal};
    match (one, other) {
        (Literal(one), Literal(other)) => one == other,
        (Literal(c), Class { ranges, negated }) | (Class { ranges, negated }, Literal(c)) => {
            ranges
                .iter()
                .any(|(first, last)| (first..=last).contains(&c))
                != *negated
        }
        (
            Class {
                ranges,
                negated: false,
            },
            Class {
                ranges: others,
                negated: false,
            },
        ) => {
            let overlaps = |(a, b): &(char, char)| others.iter().any(|(c, d)| a <= d && c <= b);
            ranges.iter().any(overlaps)
        }
        _ => true,
    }
}

fn elements(glob: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (element, length) = match c {
            '*' => (Element::Many, 1),
            '?' => (Element::One, 1),
            '[' => class(rest).unwrap_or((Element::Literal(c), 1)),
            '{' => rest
                .find('}')
                .map_or((Element::Literal(c), 1), |end| (Element::Many, end + 1)),
            c => (Element::Literal(c), c.len_utf8()),
        };
        elements.push(element);
        rest = &rest[length..];
    }
    elements
}

/// The class at the beginning of a text, and its length. A bracket that is its first character is part of it.
fn class(text: &str) -> Option<(Element, usize)> {
    let negated = text[1..].starts_with('!');
    let start = if negated { 2 } else { 1 };
    let first = text[start..].chars().next()?;
    let after = start + first.len_utf8();
    let end = after + text[after..].find(']')?;
    let characters: Vec<char> = text[start..end].chars().collect();
    let mut ranges = Vec::new();
    let mut left = characters.as_slice();
    loop {
        left = match left {
            [] => break,
            [first, '-', last, rest @ ..] => {
                ranges.push((*first, *last));
                rest
            }
            [one, rest @ ..] => {
                ranges.push((*one, *one));
                rest
            }
        };
    }
    Some((Element::Class { ranges, negated }, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_globs_have_a_text_in_common() {
        for (one, other) in [
            ("eth0", "eth0"),
            ("*", ""),
            ("eth*", "*0"),
            ("a*b*c", "a?c*"),
            ("veth[0-9a-f]*", "veth????????"),
            ("[!a]*", "b"),
            ("[]x]", "]"),
            ("[a-f]", "[f-z]"),
            ("{ifname}", "eth0"),
            ("v{containerid}", "v5f3c"),
            ("*", "{network}*"),
            ("", ""),
        ] {
            assert!(globs_meet(one, other), "{one} {other}");
            assert!(globs_meet(other, one), "{other} {one}");
        }
    }

    #[test]
    fn others_have_none() {
        for (one, other) in [
            ("eth0", "eth1"),
            ("eth*", "veth*"),
            ("veth-*", "veth[0-9a-f]*"),
            ("?", ""),
            ("a?", "a"),
            ("[a-f]", "[g-z]"),
            ("[!a]", "a"),
            ("*.conf", "*.json"),
            ("v{containerid}", "eth0"),
        ] {
            assert!(!globs_meet(one, other), "{one} {other}");
            assert!(!globs_meet(other, one), "{other} {one}");
        }
    }

    /// A text without a wildcard meets a glob where it matches it.
    #[test]
    fn it_agrees_with_the_matcher() {
        let globs = [
            "*",
            "?",
            "e*",
            "*0",
            "eth?",
            "[a-z]*",
            "[!e]*",
            "e[t]h[0-9]",
            "a*b?c*",
            "[]-]",
        ];
        for text in ["", "e", "eth0", "eth10", "veth0", "aXbYcZ", "abc", "]", "-"] {
            for glob in globs {
                let pattern = ::glob::Pattern::new(glob).expect("a glob");
                assert_eq!(
                    globs_meet(glob, text),
                    pattern.matches(text),
                    "{glob} {text}"
                );
            }
        }
    }
}
