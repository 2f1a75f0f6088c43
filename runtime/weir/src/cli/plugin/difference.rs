//! Compares two versions of a component by the functions that they import.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_grant::Capability;
use weir_sandbox::{Imports, Inspection};

use crate::cli::output::{print_line, print_list, say};

/// What changes when a component replaces another.
#[derive(Debug, Serialize)]
pub struct Difference {
    pub installed: Version,
    pub new: Version,
    /// Functions that only the new one imports, by capability.
    pub asks_for_more: BTreeMap<Capability, Vec<String>>,
    /// Functions that only the installed one imports.
    pub asks_no_more_for: BTreeMap<Capability, Vec<String>>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// As it says about itself.
    pub version: Option<String>,
    pub digest: String,
    /// Bytes.
    pub size: usize,
}

impl Difference {
    pub fn between(installed: &Inspection, new: &Inspection) -> Self {
        Self {
            installed: Version::of(installed),
            new: Version::of(new),
            asks_for_more: only_in(&new.imports, &installed.imports),
            asks_no_more_for: only_in(&installed.imports, &new.imports),
        }
    }

    pub fn is_none(&self) -> bool {
        self.installed.digest == self.new.digest
    }

    pub fn print(&self) {
        say!("installed   {}", self.installed);
        say!("new         {}", self.new);
        if self.is_none() {
            return print_line!("            the same component");
        }
        let lines = |sign: char, functions: &BTreeMap<Capability, Vec<String>>| {
            let line =
                |(c, f): (&Capability, &Vec<String>)| format!("{sign} {c}: {}", f.join(", "));
            functions.iter().map(line).collect::<Vec<_>>()
        };
        print_list("asks for", lines('+', &self.asks_for_more));
        print_list("no more", lines('-', &self.asks_no_more_for));
        if self.asks_for_more.is_empty() && self.asks_no_more_for.is_empty() {
            print_line!("asks for    the same functions of the same capabilities");
        }
    }
}

impl Version {
    fn of(inspection: &Inspection) -> Self {
        let about = inspection.about.as_ref().ok();
        Self {
            version: about.map(|about| about.version.clone()),
            digest: inspection.digest.to_string(),
            size: inspection.compiled.component().len(),
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let version = self.version.as_deref().unwrap_or("of no version");
        write!(f, "{version}, {}, {} bytes", self.digest, self.size)
    }
}

fn only_in(these: &Imports, those: &Imports) -> BTreeMap<Capability, Vec<String>> {
    let mut only = BTreeMap::new();
    for (capability, functions) in &these.functions {
        let known = those.functions.get(capability);
        let is_new = |function: &&String| known.is_none_or(|known| !known.contains(function));
        let functions: Vec<String> = functions.iter().filter(is_new).cloned().collect();
        if !functions.is_empty() || known.is_none() {
            only.insert(*capability, functions);
        }
    }
    only
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(functions: &[(Capability, &[&str])]) -> Imports {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Imports {
            functions: functions.iter().map(|(c, f)| (*c, owned(f))).collect(),
            ..Imports::default()
        }
    }

    #[test]
    fn an_added_function_of_a_capability_is_listed_and_an_unchanged_one_is_not() {
        let old = imported(&[(Capability::Link, &["get"]), (Capability::Route, &["add"])]);
        let new = imported(&[
            (Capability::Link, &["delete", "get"]),
            (Capability::Store, &["open"]),
        ]);
        let expected = imported(&[
            (Capability::Link, &["delete"]),
            (Capability::Store, &["open"]),
        ]);
        assert_eq!(only_in(&new, &old), expected.functions);
        let expected = imported(&[(Capability::Route, &["add"])]);
        assert_eq!(only_in(&old, &new), expected.functions);
        assert!(only_in(&new, &new).is_empty());
    }
}
