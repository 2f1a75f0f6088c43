//! The patterns of a grant: globs with placeholders, networks, and dotted keys.

use std::path::{Component, Path, PathBuf};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::operation::Invocation;

/// A glob (`*`, `?`, `[a-z]`) in which `{ifname}`, `{network}` and `{containerid}` stand for this
/// invocation's values, taken literally.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// Whether `value` matches.
    pub fn matches(&self, value: &str, invocation: &Invocation) -> bool {
        matches_glob(&self.expand(invocation), value)
    }

    /// Whether a key matches segment by segment: no wildcard reaches over a dot.
    pub fn matches_key(&self, key: &str, invocation: &Invocation) -> bool {
        let wanted: Vec<&str> = self.text.split('.').collect();
        let given: Vec<&str> = key.split('.').collect();
        wanted.len() == given.len()
            && wanted
                .iter()
                .zip(given)
                .all(|(w, g)| matches_glob(&expand(w, invocation, &key_segment), g))
    }

    fn expand(&self, invocation: &Invocation) -> String {
        expand(&self.text, invocation, &str::to_owned)
    }
}

/// A name as a segment of a sysctl key: sysctl(8) writes a dot inside a name as a slash.
fn key_segment(name: &str) -> String {
    name.replace('.', "/")
}

fn expand(text: &str, invocation: &Invocation, spell: &dyn Fn(&str) -> String) -> String {
    if !text.contains('{') {
        return text.to_owned();
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
    expanded
}

/// Whether a text is more than itself.
fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn matches_glob(pattern: &str, value: &str) -> bool {
    if !is_glob(pattern) {
        return pattern == value;
    }
    // The pattern was compiled once when the document was read.
    glob::Pattern::new(pattern).is_ok_and(|p| p.matches(value))
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if is_glob(&text) {
            glob::Pattern::new(&text).map_err(|e| format!("`{text}` is not a glob: {}", e.msg))?;
        }
        check_placeholders(&text)?;
        Ok(Self { text })
    }
}

fn check_placeholders(text: &str) -> Result<(), String> {
    const KNOWN: [&str; 3] = ["{ifname}", "{network}", "{containerid}"];
    let mut rest = text;
    while let Some(start) = rest.find(['{', '}']) {
        let known = KNOWN.iter().find(|k| rest[start..].starts_with(**k));
        let Some(known) = known else {
            return Err(format!(
                "`{text}` has a brace that is no placeholder; the placeholders are {}",
                KNOWN.join(", ")
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

/// A directory that a grant names: itself and everything below it.
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

/// Absolute, and without `.` and `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|c| matches!(c, Component::RootDir | Component::Normal(_)))
}

impl TryFrom<PathBuf> for Directory {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, String> {
        if is_plain(&path) {
            Ok(Self { path })
        } else {
            Err(format!(
                "`{}` is not an absolute directory without `..`",
                path.display()
            ))
        }
    }
}

impl From<Directory> for PathBuf {
    fn from(directory: Directory) -> Self {
        directory.path
    }
}
