//! Whether one glob matches all that another matches.

use std::collections::HashSet;

use super::element::{Element, elements};

/// The most pairs of places in two globs that are looked at: patterns with many wildcards have more.
const MOST: usize = 10_000;

/// A set of places between the elements of a glob, one bit each.
type Places = u128;

/// Whether everything that matches `narrow` matches `wide`. It may say no of globs that are long or have many wildcards, and
/// takes `{ifname}` and its like, whose values are not known, for themselves alone.
pub fn glob_covers(wide: &str, narrow: &str) -> bool {
    if wide == narrow || wide == "*" {
        return true;
    }
    let (wide, narrow) = (elements(wide), elements(narrow));
    wide.len() < Places::BITS as usize && covers(&wide, &narrow)
}

/// Follows each text that `narrow` matches, by one character for each set of characters that no element tells apart, through all
/// places that it reaches in `wide`.
fn covers(wide: &[Element], narrow: &[Element]) -> bool {
    let letters = letters(wide, narrow);
    let start = (0, closed(wide, 1));
    let (mut seen, mut waiting) = (HashSet::from([start]), vec![start]);
    while let Some((place, reached)) = waiting.pop() {
        if seen.len() > MOST {
            return false;
        }
        let Some(element) = narrow.get(place) else {
            if reached & (1 << wide.len()) == 0 {
                return false;
            }
            continue;
        };
        let mut next: Vec<(usize, Places)> = Vec::new();
        let mut after = place + 1;
        if *element == Element::Many {
            next.push((after, reached));
            after = place;
        }
        let possible = letters.iter().filter(|letter| matches(element, letter));
        next.extend(possible.map(|letter| (after, step(wide, reached, letter))));
        for pair in next {
            if seen.insert(pair) {
                waiting.push(pair);
            }
        }
    }
    true
}

/// What an element stands for one of.
enum Letter<'a> {
    Character(char),
    /// Of `{ifname}`, as an invocation has it: only `*` and `{ifname}` itself stand for it.
    Placeholder(&'a str),
}

fn letters<'a>(wide: &'a [Element], narrow: &'a [Element]) -> Vec<Letter<'a>> {
    let mut characters = vec!['\0'];
    let mut letters = Vec::new();
    for element in wide.iter().chain(narrow) {
        match element {
            Element::Many | Element::One => {}
            Element::Literal(c) => characters.extend([*c, after(*c)]),
            Element::Class { ranges, .. } => {
                let ends = ranges
                    .iter()
                    .flat_map(|(first, last)| [*first, after(*last)]);
                characters.extend(ends);
            }
            Element::Placeholder(name) => letters.push(Letter::Placeholder(name)),
        }
    }
    characters.sort_unstable();
    characters.dedup();
    letters.extend(characters.into_iter().map(Letter::Character));
    letters
}

fn after(c: char) -> char {
    let next = (u32::from(c) + 1..).find_map(char::from_u32);
    next.unwrap_or(c)
}

fn matches(element: &Element, letter: &Letter<'_>) -> bool {
    match letter {
        Letter::Character(c) => element.has(*c),
        Letter::Placeholder(name) => match element {
            Element::Many => true,
            Element::Placeholder(own) => own == name,
            _ => false,
        },
    }
}

/// The places after a letter.
fn step(glob: &[Element], places: Places, letter: &Letter<'_>) -> Places {
    let mut next = 0;
    for (place, element) in glob.iter().enumerate() {
        if places & (1 << place) != 0 && matches(element, letter) {
            let stays = *element == Element::Many;
            next |= 1 << if stays { place } else { place + 1 };
        }
    }
    closed(glob, next)
}

/// With the places behind each `*`, which may stand for nothing.
fn closed(glob: &[Element], mut places: Places) -> Places {
    for (place, element) in glob.iter().enumerate() {
        if places & (1 << place) != 0 && *element == Element::Many {
            places |= 1 << (place + 1);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::element::assert_agrees_with_the_matcher;

    #[test]
    fn some_globs_cover_others() {
        for (wide, narrow) in [
            ("eth*", "eth0"),
            ("[ab]*", "a*"),
            ("a?", "a[1-9]"),
            ("*a*", "*ba*"),
            ("[!b]*", "a*"),
            ("*?", "?*"),
            ("**", "*a*"),
            ("[a-z]", "[b-y]"),
            ("[!a]", "[!a]"),
            ("v{ifname}*", "v{ifname}x"),
            ("{ifname}", "{ifname}"),
            ("*", "{network}*"),
            ("[a-c]*[0-9]", "b*5"),
        ] {
            assert!(glob_covers(wide, narrow), "{wide} {narrow}");
        }
    }

    #[test]
    fn others_do_not() {
        for (wide, narrow) in [
            ("eth0", "eth*"),
            ("a*", "[ab]*"),
            ("a[1-9]", "a?"),
            ("*a", "a*"),
            ("[!a]*", "?*"),
            ("?*", "*"),
            ("veth*", "{ifname}"),
            ("{ifname}", "eth0"),
            ("?", "{ifname}"),
            ("[a-z]*", "*"),
        ] {
            assert!(!glob_covers(wide, narrow), "{wide} {narrow}");
        }
    }

    /// A glob covers a text without a wildcard where it matches it.
    #[test]
    fn it_agrees_with_the_matcher() {
        assert_agrees_with_the_matcher(glob_covers);
    }
}
