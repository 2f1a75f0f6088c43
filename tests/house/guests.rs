//! The programs that tests give to weir as plugins.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::visit::Visit;
use weir_kit::house;

/// The names of the guest programs, as tests install them.
pub fn names() -> BTreeSet<String> {
    let guests = fs::read_dir(house().join("tests/hostile/guests")).expect("the guests are there");
    let names = guests.map(|guest| guest.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// The strings in the tests' sources.
pub fn strings() -> BTreeSet<String> {
    let mut strings = Strings::default();
    read(&house().join("tests"), &mut strings);
    strings.0
}

fn read(directory: &Path, strings: &mut Strings) {
    for entry in fs::read_dir(directory).expect("a directory of the house") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("hostile/guests") {
            read(&path, strings);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            strings.visit_file(&syn::parse_file(&text).expect("Rust"));
        }
    }
}

#[derive(Default)]
struct Strings(BTreeSet<String>);

impl<'ast> Visit<'ast> for Strings {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.0.insert(literal.value());
    }
}
