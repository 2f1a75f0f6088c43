//! Whether a text can match two globs at once.

use super::element::{Element, elements};

/// Whether some text matches both globs. A placeholder stands for any text. Of two negated classes, and of a class and a
/// negated one, it may say yes although no character is in both.
pub fn globs_meet(one: &str, other: &str) -> bool {
    meet(one, other, |_, _| true)
}

/// Whether some dotted key matches both a glob of keys, whose segments are globs, and a question, in which `*` stands for
/// several segments as well.
pub(crate) fn keys_meet(glob: &str, question: &str) -> bool {
    let is_dot = |element: &Element| *element == Element::Literal('.');
    meet(glob, question, |one, asked| {
        is_dot(one) == is_dot(asked) || *asked == Element::Many
    })
}

/// Whether some text matches both, in which an element of one may stand for what one of the other stands for.
fn meet(one: &str, other: &str, may_stand: impl Fn(&Element, &Element) -> bool) -> bool {
    let (one, other) = (elements(one), elements(other));
    // `meet[j]`: whether the rest of `one` from the present element meets that of `other` from its element `j`.
    let mut meet = only_many(&other);
    for element in one.iter().rev() {
        let mut now = vec![false; other.len() + 1];
        now[other.len()] = element.is_any_text() && meet[other.len()];
        for (j, beside) in other.iter().enumerate().rev() {
            let may_stand = may_stand(element, beside);
            now[j] = match (element.is_any_text(), beside.is_any_text()) {
                (true, true) => meet[j] || now[j + 1],
                (true, false) => meet[j] || may_stand && now[j + 1],
                (false, true) => may_stand && meet[j] || now[j + 1],
                (false, false) => may_stand && have_one_in_common(element, beside) && meet[j + 1],
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
        empty[at] = element.is_any_text() && empty[at + 1];
    }
    empty
}

fn have_one_in_common(one: &Element, other: &Element) -> bool {
    use Element::{Class, Literal};
    match (one, other) {
        (Literal(c), element) | (element, Literal(c)) => element.has(*c),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::element::assert_agrees_with_the_matcher;

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
        assert_agrees_with_the_matcher(globs_meet);
    }
}
