//! The house's rules that Cargo does not check.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use weir_kit::house;

#[test]
fn there_is_no_import_circle() {
    for package in [
        "runtime/files/src",
        "runtime/grant/src",
        "runtime/gate/src",
        "runtime/kernel/src",
        "runtime/host/src",
        "runtime/sandbox/src",
        "runtime/network/src",
        "runtime/pod/src",
        "runtime/weir/src",
        "sdk/cni/src",
        "sdk/guest/src",
    ] {
        let source = house().join(package);
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let files = rust_files(&source);
        let modules: BTreeSet<String> = files.iter().map(|file| module(&source, file)).collect();
        for file in &files {
            let own = module(&source, file);
            let imported = imports(file, &own)
                .into_iter()
                .filter_map(|i| nearest(&i, &modules));
            // A module's own children are a part of it: what counts is who imports whom across.
            let across = imported.filter(|i| !related(&own, i));
            edges.entry(own.clone()).or_default().extend(across);
        }
        if let Some(circle) = circle(&edges) {
            panic!("import circle in {package}: {}", circle.join(" -> "));
        }
    }
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("a source directory") {
        let path = entry.expect("a directory entry").path();
        // Of the path only what is below the source says what a file is: the house is found by way of
        // `tests`.
        if is_test(&path) {
            continue;
        }
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn is_test(path: &Path) -> bool {
    path.ends_with("tests") || path.ends_with("tests.rs")
}

/// `kernel::link::create` for `kernel/link/create.rs`.
fn module(source: &Path, file: &Path) -> String {
    let path = file
        .strip_prefix(source)
        .expect("below the source")
        .with_extension("");
    let parts: Vec<String> = path
        .components()
        .map(|c| c.as_os_str().to_string_lossy().into_owned())
        .collect();
    parts.join("::").trim_end_matches("::mod").to_owned()
}

/// The modules of the own crate that a file names in its `use` lines.
fn imports(file: &Path, own: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("a source file");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for statement in text.split(';') {
        let Some(path) = imported(statement) else {
            continue;
        };
        for path in expand(&path) {
            found.extend(absolute(&path, own));
        }
    }
    found
}

/// What a `use` line names, which ends the statement; none for other statements, and for the word in a
/// comment or a text.
fn imported(statement: &str) -> Option<String> {
    let is_use = |line: &str| {
        let line = line.trim_start();
        line.starts_with("use ") || line.starts_with("pub") && line.contains(" use ")
    };
    let at = statement.lines().position(is_use)?;
    let lines: Vec<&str> = statement.lines().skip(at).collect();
    let text = lines.join(" ");
    let (_, path) = text.split_once("use ")?;
    Some(path.split_whitespace().collect())
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn expand(path: &str) -> Vec<String> {
    let Some(open) = path.find('{') else {
        return vec![path.to_owned()];
    };
    let close = path.rfind('}').unwrap_or(path.len());
    let (prefix, inner) = (&path[..open], &path[open + 1..close]);
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts
        .flat_map(|part| expand(&format!("{prefix}{part}")))
        .collect()
}

fn absolute(path: &str, own: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix("crate::") {
        return Some(rest.to_owned());
    }
    let mut base: Vec<&str> = own.split("::").collect();
    let mut rest = path;
    let mut climbed = false;
    while let Some(next) = rest.strip_prefix("super::") {
        base.pop();
        rest = next;
        climbed = true;
    }
    climbed.then(|| {
        base.into_iter()
            .chain(rest.split("::"))
            .collect::<Vec<_>>()
            .join("::")
    })
}

/// The longest module that a path begins with.
fn nearest(path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut parts: Vec<&str> = path.split("::").collect();
    while !parts.is_empty() {
        let name = parts.join("::");
        if modules.contains(&name) {
            return Some(name);
        }
        parts.pop();
    }
    None
}

fn related(a: &str, b: &str) -> bool {
    a == b || a.starts_with(&format!("{b}::")) || b.starts_with(&format!("{a}::"))
}

fn circle(edges: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    edges
        .keys()
        .find_map(|start| visit(start, edges, &mut Vec::new(), &mut done))
}

fn visit(
    module: &str,
    edges: &BTreeMap<String, BTreeSet<String>>,
    path: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = path.iter().position(|m| m == module) {
        let mut circle = path[start..].to_vec();
        circle.push(module.to_owned());
        return Some(circle);
    }
    if done.contains(module) {
        return None;
    }
    path.push(module.to_owned());
    let next = edges.get(module).into_iter().flatten();
    for other in next {
        if let Some(circle) = visit(other, edges, path, done) {
            return Some(circle);
        }
    }
    path.pop();
    done.insert(module.to_owned());
    None
}
