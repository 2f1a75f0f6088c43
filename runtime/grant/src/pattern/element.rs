//! What a glob is made of.

/// One element of a glob.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// `*`
    Many,
    /// `?`
    One,
    Literal(char),
    /// `{ifname}`, whose value is not known.
    Placeholder(String),
    /// `[a-z]`, `[!a-z]`: ranges with both ends.
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Element {
    /// Whether it may stand for a character. A placeholder may not: its value is not known.
    pub(crate) fn has(&self, c: char) -> bool {
        match self {
            Self::Many | Self::One => true,
            Self::Literal(own) => *own == c,
            Self::Placeholder(_) => false,
            Self::Class { ranges, negated } => {
                let mut ranges = ranges.iter();
                ranges.any(|(first, last)| (*first..=*last).contains(&c)) != *negated
            }
        }
    }

    /// Whether it may stand for any text: a placeholder's value is not known.
    pub(crate) fn is_any_text(&self) -> bool {
        matches!(self, Self::Many | Self::Placeholder(_))
    }
}

/// The elements of a glob. What looks like the begin of a class or of a placeholder and has no end is literal.
pub(crate) fn elements(glob: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (element, length) = match c {
            '*' => (Element::Many, 1),
            '?' => (Element::One, 1),
            '[' => class(rest).unwrap_or((Element::Literal(c), 1)),
            '{' => placeholder(rest).unwrap_or((Element::Literal(c), 1)),
            c => (Element::Literal(c), c.len_utf8()),
        };
        elements.push(element);
        rest = &rest[length..];
    }
    elements
}

/// The placeholder at the beginning of a text, and its length.
fn placeholder(text: &str) -> Option<(Element, usize)> {
    let length = text.find('}')? + 1;
    Some((Element::Placeholder(text[..length].to_owned()), length))
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

/// Checks that a comparison of a glob with a text without a wildcard says what the matcher does.
#[cfg(test)]
pub(super) fn assert_agrees_with_the_matcher(holds: fn(&str, &str) -> bool) {
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
            assert_eq!(holds(glob, text), pattern.matches(text), "{glob} {text}");
        }
    }
}
