//! What the standard plugins use of their shipped grants while they are tested: `exact_grants` reads
//! it when all tests of a run have run (`tests/run`), and finds what the grants have too much.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use serde_json::{Map, Value};

use super::audit;

/// The tests of what standard plugins do, by their programs' names: `test` is `machine` inside the
/// virtual machine. The others are about denials, about kills, or about plugins of their own.
const RECORDED: [&str; 3] = ["differential", "machine", IN_MACHINE];

/// The directory in which the records of one run of all tests are gathered.
const DIRECTORY: &str = "WEIR_GRANTS_USED";

/// The name of a test program inside the virtual machine, which hands its records out.
const IN_MACHINE: &str = "test";

/// The beginning of the lines that the virtual machine writes to standard error.
const HANDED_OUT: &str = "grants-used: ";

/// Whether this test program's operations are recorded, reads as well: where somebody gathers them.
pub fn is_recorded() -> bool {
    static RECORDS: LazyLock<bool> = LazyLock::new(|| {
        let program = std::env::current_exe().unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let name = name.rsplit_once('-').map_or(&*name, |(name, _hash)| name);
        RECORDED.contains(&name) && (name == IN_MACHINE || directory().is_some())
    });
    *RECORDS
}

/// Where records are gathered; none where one test is run, and not all of them (`tests/run`).
pub fn directory() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

/// Keeps the records of a node, unless an administrator's grants were in force on it.
pub(super) fn keep(root: &Path) {
    if !is_recorded() || root.join("etc/weir/grants.d").exists() {
        return;
    }
    let lines = audit::whole_lines(&root.join("var/log/weir/audit.jsonl"));
    let records = audit::joined(lines);
    append(records.iter().filter_map(used).collect());
}

/// Keeps what a test program in a virtual machine handed out.
pub fn keep_handed_out(standard_error: &str) {
    if directory().is_none() {
        return;
    }
    let lines = standard_error.lines();
    append(
        lines
            .filter_map(|line| line.strip_prefix(HANDED_OUT).map(str::to_owned))
            .collect(),
    );
}

/// What of a record says which grant was used, and for what.
fn used(record: &Value) -> Option<String> {
    // Native plugins have none, and of a definition's text another section counts.
    let of_none = ["plugin", "grant", "denial", "native"]
        .iter()
        .any(|word| record["capability"] == *word);
    let of_grant = record["verdict"] != "undo" && record["definition"].is_null() && !of_none;
    let kept = [
        "plugin",
        "network",
        "ifname",
        "container_id",
        "operation",
        "arguments",
        "shortened_from",
        "verdict",
        "rules",
        "closest",
    ];
    let kept = kept.into_iter().filter(|key| !record[key].is_null());
    let kept: Map<String, Value> = kept
        .map(|key| (key.to_owned(), record[key].clone()))
        .collect();
    of_grant.then(|| Value::Object(kept).to_string())
}

/// Appends those that this program has not appended before.
fn append(records: Vec<String>) {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let new: Vec<String> = records
        .into_iter()
        .filter(|r| seen.insert(r.clone()))
        .collect();
    if new.is_empty() {
        return;
    }
    let Some(directory) = directory() else {
        let lines: String = new.iter().map(|r| format!("{HANDED_OUT}{r}\n")).collect();
        let _ = std::io::stderr().write_all(lines.as_bytes());
        return;
    };
    let file = directory.join(format!("{}.jsonl", std::process::id()));
    let lines: String = new.iter().map(|r| format!("{r}\n")).collect();
    let written = fs::create_dir_all(&directory)
        .and_then(|()| File::options().append(true).create(true).open(&file))
        .and_then(|mut file| file.write_all(lines.as_bytes()));
    written.unwrap_or_else(|e| eprintln!("{}: {e}", file.display()));
}
