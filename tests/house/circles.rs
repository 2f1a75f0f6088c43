//! Modules of one crate that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Crate;

/// Who imports whom.
type Imports = BTreeSet<(String, String)>;

/// The imports of a crate between modules of which neither is a part of the other.
pub fn imports(of: &Crate) -> Imports {
    let mut imports = Imports::new();
    for (name, module) in &of.modules {
        for path in &module.paths {
            let imported = of.resolve(name, path);
            let across = imported.filter(|imported| !are_related(name, imported));
            imports.extend(across.map(|imported| (name.clone(), imported)));
        }
    }
    imports
}

fn are_related(a: &str, b: &str) -> bool {
    let is_in = |inner: &str, outer: &str| {
        outer.is_empty() || inner == outer || inner.starts_with(&format!("{outer}::"))
    };
    is_in(a, b) || is_in(b, a)
}

/// Each circle of a crate, in words: the shortest one through each module that is in any.
pub fn of_crate(of: &Crate) -> Vec<String> {
    let imports = imports(of);
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in &imports {
        next.entry(from).or_default().push(to);
    }
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for start in next.keys().copied() {
        if seen.contains(start) {
            continue;
        }
        if let Some(circle) = shortest(start, &next) {
            circles.push(format!("{}: {}", of.name, circle.join(" -> ")));
            seen.extend(circle);
        }
    }
    circles
}

/// The shortest way from a module back to itself.
fn shortest<'a>(start: &'a str, next: &BTreeMap<&'a str, Vec<&'a str>>) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![start]];
    let mut met = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way.last().copied()?;
            for to in next.get(last).into_iter().flatten().copied() {
                let whole = [&way[..], &[to]].concat();
                if to == start {
                    return Some(whole);
                }
                if met.insert(to) {
                    longer.push(whole);
                }
            }
        }
        ways = longer;
    }
    None
}
