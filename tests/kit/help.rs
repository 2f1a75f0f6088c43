//! The commands that weir has, as its help lists them.

use std::process::Command;

use crate::binary;

/// Returns every command, such as `plugin` and `plugin add`.
pub fn commands() -> Vec<String> {
    below("")
}

/// Returns the commands that have no others below them.
pub fn leaves() -> Vec<String> {
    let all = commands();
    let is_leaf = |one: &&String| {
        !all.iter()
            .any(|other| other.starts_with(&format!("{one} ")))
    };
    all.iter().filter(is_leaf).cloned().collect()
}

fn below(prefix: &str) -> Vec<String> {
    let mut weir = Command::new(binary());
    let output = weir.args(prefix.split_whitespace()).arg("--help").output();
    let text = output.expect("weir runs").stdout;
    let text = String::from_utf8(text).expect("text");
    let Some((_, listed)) = text.split_once("Commands:\n") else {
        return Vec::new();
    };
    let names = listed
        .lines()
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    names
        .flat_map(|name| {
            let own = format!("{prefix} {name}").trim().to_owned();
            let others = below(&own);
            [vec![own], others].concat()
        })
        .collect()
}
