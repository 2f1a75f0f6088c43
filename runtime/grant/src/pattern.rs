//! The patterns of a grant: globs with placeholders, networks, dotted keys, and ranges of numbers.

mod cover;
mod element;
mod meet;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use ipnet::IpNet;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::diagnostic::choice;
use super::host_interfaces::HOST_INTERFACES;
use super::invocation::Invocation;
pub use cover::glob_covers;
pub(crate) use element::{Element, elements};
pub use meet::globs_meet;
pub(crate) use meet::keys_meet;

/// A glob (`*`, `?`, `[a-z]`) in which `{ifname}`, `{network}` and `{containerid}` stand for this
/// invocation's values, taken literally; or [`HOST_INTERFACES`], for the host's interfaces that networks may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// Makes a pattern that matches one name. A brace in the name also matches any other character.
    pub fn literal(name: &str) -> Self {
        Self {
            text: literal(name),
        }
    }

    /// Whether `value` matches.
    pub fn matches(&self, value: &str, invocation: &Invocation) -> bool {
        if self.is_host_interfaces() {
            return invocation.host_interfaces.has(value);
        }
        matches_glob(&self.expand(invocation), value)
    }

    /// Whether it stands for the host's interfaces that networks may use.
    pub(crate) fn is_host_interfaces(&self) -> bool {
        self.text == HOST_INTERFACES
    }

    /// Whether a key matches segment by segment: no wildcard matches a dot.
    pub(crate) fn matches_key(&self, key: &str, invocation: &Invocation) -> bool {
        // Most patterns are keys, or begin like other keys.
        let is_special = |byte| matches!(byte, b'*' | b'?' | b'[' | b'{');
        let plain = self.text.bytes().position(is_special);
        let (start, rest) = self.text.split_at(plain.unwrap_or(self.text.len()));
        if rest.is_empty() {
            return key == start;
        }
        if !key.starts_with(start) {
            return false;
        }
        let mut given = key.split('.');
        let each_matches = self.text.split('.').all(|wanted| {
            let matches = |given| matches_segment(wanted, given, invocation);
            given.next().is_some_and(matches)
        });
        each_matches && given.next().is_none()
    }

    /// Whether a network's name matches, or `namespace/name` of a NetworkAttachmentDefinition: no wildcard
    /// matches the slash, and placeholders are not expanded.
    pub(crate) fn matches_network(&self, network: &str) -> bool {
        if !is_glob(&self.text) {
            return self.text == network;
        }
        let options = glob::MatchOptions {
            require_literal_separator: true,
            ..glob::MatchOptions::default()
        };
        glob::Pattern::new(&self.text).is_ok_and(|p| p.matches_with(network, options))
    }

    fn expand(&self, invocation: &Invocation) -> Cow<'_, str> {
        expand(&self.text, invocation, &str::to_owned)
    }
}

/// Turns a text into a glob that matches it. A brace starts a placeholder and cannot be escaped, so `?` replaces it.
pub(super) fn literal(text: &str) -> String {
    glob::Pattern::escape(text).replace(['{', '}'], "?")
}

fn matches_segment(wanted: &str, given: &str, invocation: &Invocation) -> bool {
    if wanted == HOST_INTERFACES {
        return invocation.host_interfaces.has(&given.replace('/', "."));
    }
    matches_glob(&expand(wanted, invocation, &key_segment), given)
}

/// A name as a segment of a sysctl key: sysctl(8) writes a dot inside a name as a slash.
fn key_segment(name: &str) -> String {
    name.replace('.', "/")
}

fn expand<'t>(
    text: &'t str,
    invocation: &Invocation,
    spell: &dyn Fn(&str) -> String,
) -> Cow<'t, str> {
    if !text.contains('{') {
        return Cow::Borrowed(text);
    }
    let literal = |value: &str| glob::Pattern::escape(&spell(value));
    // One pass over the pattern, so that a value which contains a placeholder is not expanded.
    let mut expanded = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        expanded.push_str(&rest[..start]);
        let end = rest[start..]
            .find('}')
            .map_or(rest.len(), |e| start + e + 1);
        expanded.push_str(&match &rest[start..end] {
            "{ifname}" => literal(&invocation.ifname),
            "{network}" => literal(&invocation.network),
            "{containerid}" => literal(&invocation.container_id),
            other => other.to_owned(),
        });
        rest = &rest[end..];
    }
    expanded.push_str(rest);
    Cow::Owned(expanded)
}

/// Whether a text is a glob and not a plain name.
pub fn is_glob(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Whether a text may not be a valid glob: single stars and question marks may be anywhere.
fn may_be_invalid(text: &str) -> bool {
    text.contains('[') || text.contains("**")
}

/// Whether a glob matches every name.
pub(crate) fn is_every(glob: &str) -> bool {
    let one = glob.chars().filter(|c| *c == '?').count();
    glob.contains('*') && glob.chars().all(|c| "*?".contains(c)) && one <= 1
}

/// Whether a glob of networks covers all that another covers: in each part, as no wildcard matches a slash.
pub fn network_covers(wide: &str, narrow: &str) -> bool {
    each_part(wide, narrow, '/', glob_covers)
}

/// Whether two globs of networks cover one in common.
pub fn networks_meet(one: &str, other: &str) -> bool {
    each_part(one, other, '/', globs_meet)
}

/// Whether a glob of keys covers all that another covers: in each segment, as no wildcard matches a dot.
pub(crate) fn key_covers(wide: &str, narrow: &str) -> bool {
    each_part(wide, narrow, '.', glob_covers)
}

/// Whether two texts have as many parts, and something holds for each of one and that of the other.
fn each_part(one: &str, other: &str, separator: char, holds: fn(&str, &str) -> bool) -> bool {
    let parts = |text| str::split(text, separator);
    let mut both = parts(one).zip(parts(other));
    parts(one).count() == parts(other).count() && both.all(|(one, other)| holds(one, other))
}

fn matches_glob(pattern: &str, value: &str) -> bool {
    if !is_glob(pattern) {
        return pattern == value;
    }
    // Most globs only leave the end open.
    if let Some(start) = pattern.strip_suffix('*')
        && !is_glob(start)
    {
        return value.starts_with(start);
    }
    // What may not be valid was compiled once when the document was read.
    glob::Pattern::new(pattern).is_ok_and(|p| p.matches(value))
}

/// As it is written in a document.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if may_be_invalid(&text) {
            glob::Pattern::new(&text)
                .map_err(|e| format!("`{text}` is not a valid glob: {}", e.msg))?;
        }
        check_placeholders(&text)?;
        Ok(Self { text })
    }
}

fn check_placeholders(text: &str) -> Result<(), String> {
    const KNOWN: [&str; 4] = ["{ifname}", "{network}", "{containerid}", HOST_INTERFACES];
    if !text.bytes().any(|byte| matches!(byte, b'{' | b'}')) {
        return Ok(());
    }
    let stands_alone = |part: &str| part == HOST_INTERFACES || !part.contains(HOST_INTERFACES);
    if !text.split('.').all(stands_alone) {
        return Err(format!(
            "`{text}`: `{HOST_INTERFACES}` stands alone, as a whole name or a whole part of a key; expected nothing \
             before and after it"
        ));
    }
    let mut rest = text;
    while let Some(start) = rest.find(['{', '}']) {
        let known = KNOWN.iter().find(|k| rest[start..].starts_with(**k));
        let Some(known) = known else {
            return Err(format!(
                "`{text}` has a brace that does not belong to a placeholder; expected {}",
                choice(&KNOWN)
            ));
        };
        rest = &rest[start + known.len()..];
    }
    Ok(())
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

/// Whether `outer` contains the whole of `inner`. An IPv4 network never contains an IPv6 one, nor
/// the other way round: `::ffff:10.0.0.0/104` is IPv6.
pub fn contains(outer: &IpNet, inner: &IpNet) -> bool {
    outer.contains(&inner.trunc())
}

/// The placeholder for the directory that the node's own configuration names in the key.
pub const DATA_DIR: &str = "{dataDir}";

/// The placeholder for the file that the node's own configuration names in the key.
pub const RESOLV_CONF: &str = "{resolvConf}";

/// A directory that a grant names: itself and everything below it. Or [`DATA_DIR`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Whether `path` is this directory or below it.
    pub fn contains(&self, path: &Path) -> bool {
        is_plain(path) && path.starts_with(&self.path)
    }
}

/// A file that a grant names, and no other. Or [`RESOLV_CONF`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct File {
    path: PathBuf,
}

impl File {
    /// Whether `path` is this file.
    pub fn is(&self, path: &Path) -> bool {
        path == self.path
    }
}

/// How a path is read from a grant and written to one: a plain path, or a placeholder.
macro_rules! plain_path {
    ($($name:ident or $placeholder:ident;)+) => {$(
        impl $name {
            /// Whether it is the placeholder.
            pub(crate) fn is_of_configuration(&self) -> bool {
                self.path == Path::new($placeholder)
            }
        }

        impl TryFrom<PathBuf> for $name {
            type Error = String;

            fn try_from(path: PathBuf) -> Result<Self, String> {
                let path = plain_or(path, $placeholder)?;
                Ok(Self { path })
            }
        }

        impl From<$name> for PathBuf {
            fn from(plain: $name) -> Self {
                plain.path
            }
        }
    )+};
}

plain_path! {
    Directory or DATA_DIR;
    File or RESOLV_CONF;
}

fn plain_or(path: PathBuf, placeholder: &str) -> Result<PathBuf, String> {
    if is_plain(&path) || path == Path::new(placeholder) {
        return Ok(path);
    }
    let shown = path.display();
    Err(format!(
        "`{shown}` is out of place; expected an absolute path without `..`, or `{placeholder}`"
    ))
}

/// Absolute, and without `.` and `..`.
pub fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|c| matches!(c, Component::RootDir | Component::Normal(_)))
}

/// A number that can be in a range: a port, a priority.
pub trait Number: Copy + Ord + FromStr + fmt::Display + Serialize {
    /// The largest one.
    const MAX: Self;

    /// The next number; the largest has none and stays.
    fn next(self) -> Self;
}

impl Number for u16 {
    const MAX: Self = Self::MAX;

    fn next(self) -> Self {
        self.saturating_add(1)
    }
}

impl Number for u32 {
    const MAX: Self = Self::MAX;

    fn next(self) -> Self {
        self.saturating_add(1)
    }
}

/// A number, or a range of them with both ends: `53`, `30000-32767`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<T> {
    pub first: T,
    pub last: T,
}

impl<T: Number> Range<T> {
    /// Whether a number is in the range.
    pub fn contains(self, number: T) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// Merges ranges that overlap or are adjacent.
    pub fn aggregate(mut ranges: Vec<Self>) -> Vec<Self> {
        ranges.sort_unstable_by_key(|range| (range.first, range.last));
        let mut together: Vec<Self> = Vec::new();
        for range in ranges {
            match together.last_mut() {
                Some(before) if range.first <= before.last.next() => {
                    before.last = before.last.max(range.last);
                }
                _ => together.push(range),
            }
        }
        together
    }
}

impl<T: Number> FromStr for Range<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.parse().ok().filter(|_| is_plain_number(text));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(format!(
                "`{text}` is out of place; expected {}",
                Self::form()
            )),
        }
    }
}

impl<T: Number> Range<T> {
    fn form() -> String {
        format!(
            "a number from 0 to {}, or a range such as `30000-32767`",
            T::MAX
        )
    }
}

/// Parses digits without a sign and without leading zeros.
fn is_plain_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

/// As it is written in a document.
impl<T: Number> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = self;
        if first == last {
            return first.fmt(f);
        }
        write!(f, "{first}-{last}")
    }
}

impl<T: Number> Serialize for Range<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.first == self.last {
            return self.first.serialize(serializer);
        }
        serializer.collect_str(self)
    }
}

impl<'de, T: Number> Deserialize<'de> for Range<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RangeVisitor(PhantomData))
    }
}

/// Reads a number written as one, and a range written as text.
struct RangeVisitor<T>(PhantomData<T>);

impl<T: Number> Visitor<'_> for RangeVisitor<T> {
    type Value = Range<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Range::<T>::form())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Range<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Range<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Range<T>, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    /// All texts of these characters, up to this length.
    fn texts(characters: &str, most: usize) -> Vec<String> {
        let longer = |texts: &Vec<String>| {
            let with = |text: &String| {
                characters
                    .chars()
                    .map(move |c| format!("{text}{c}"))
                    .collect::<Vec<_>>()
            };
            Some(texts.iter().flat_map(with).collect())
        };
        iter::successors(Some(vec![String::new()]), longer)
            .take(most + 1)
            .flatten()
            .collect()
    }

    /// Hostile: what is matched without the library must be what the library matches, and what is not compiled must be valid.
    #[test]
    fn shortcuts_agree_with_the_library() {
        let values = texts("ab/.*", 3);
        for text in texts("*?[]a!/.", 4) {
            let compiled = glob::Pattern::new(&text);
            assert_eq!(
                Pattern::try_from(text.clone()).is_ok(),
                compiled.is_ok(),
                "{text}"
            );
            let Ok(compiled) = compiled else { continue };
            for value in &values {
                assert_eq!(
                    matches_glob(&text, value),
                    compiled.matches(value),
                    "{text} {value}"
                );
            }
        }
    }
}
