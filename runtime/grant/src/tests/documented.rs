//! The table of capabilities in `docs/grants.md` has every key and every verb.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Capability;

#[test]
fn each_key_and_each_verb_of_a_capability_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grants.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, table) = page.split_once("\n## Capabilities\n").expect("the section");
    for capability in Capability::ALL {
        let word = capability.word();
        let Some(description) = capability.description().filter(|d| !d.is_name) else {
            continue;
        };
        let keys = description.fields.iter().map(|field| field.key);
        let keys = keys.filter(|key| *key != "verbs").collect();
        let verbs = description.verbs.iter().map(|verb| verb.word()).collect();
        let row = table.lines().find_map(|line| columns(line, word));
        let expected: [BTreeSet<&str>; 2] = [keys, verbs];
        assert_eq!(row, Some(expected), "the row of `{word}` in docs/grants.md");
    }
}

/// The words in the second and the third column of the row of a capability.
fn columns<'a>(line: &'a str, word: &str) -> Option<[BTreeSet<&'a str>; 2]> {
    let row = line.strip_prefix(&format!("| `{word}` |"))?;
    let (keys, verbs) = row.split_once('|')?;
    Some([keys, verbs].map(|column| column.split('`').skip(1).step_by(2).collect()))
}
