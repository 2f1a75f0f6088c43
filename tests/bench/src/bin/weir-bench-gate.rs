//! `weir-bench-gate RECORDS DIRECTORY`: what the gate and the audit log take of one ADD.
//!
//! RECORDS are the audit records of an ADD, reads among them. Their operations go through gates as they
//! went then, with the grants of the plugins and a log below the directory, and nothing is done where the kernel
//! was asked. Once in a process, as in weir: code that has not run yet is a part of the cost. Prints
//! milliseconds.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use nix::libc::{MADV_POPULATE_READ, madvise};
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_files::Paths;
use weir_gate::{Audit, Gate, Log, Refusal, Subject};
use weir_grant::{
    Document, Invocation, Operation, address, firewall, ipam, link, neighbour, route, store, sysctl,
};

/// As in weir: musl's allocator and its copying would be half of what is measured.
#[global_allocator]
static HEAP: weir_heap::Heap = weir_heap::Heap::new();

/// An operation that waits for its gate.
type Act = Box<dyn FnOnce(&mut Gate) -> Result<(), Refusal>>;

/// What one plugin did.
struct Part {
    subject: Subject,
    /// As it is in the binary.
    grant: String,
    acts: Vec<Act>,
}

fn main() -> ExitCode {
    match run() {
        Ok(took) => {
            println!("{}", took.as_secs_f64() * 1e3);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("weir-bench-gate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Duration> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [records, log] = &arguments[..] else {
        return Err(anyhow!("usage: weir-bench-gate RECORDS DIRECTORY"));
    };
    let parts = parts(&fs::read_to_string(records)?)?;
    map_code();
    let start = Instant::now();
    perform(parts, Path::new(log))?;
    Ok(start.elapsed())
}

/// Maps the program's code, as weir's is from the start on where it lies in large pages. Otherwise the page faults would be
/// measured as well. Before Linux 5.14 they are.
fn map_code() {
    unsafe extern "C" {
        // Set by the linker: where the program begins, and where its code ends.
        static __executable_start: u8;
        static etext: u8;
    }
    let start = &raw const __executable_start;
    let length = (&raw const etext).addr() - start.addr();
    // SAFETY: nothing is written there. What is not mapped is mapped when it runs.
    unsafe { madvise(start.cast_mut().cast(), length, MADV_POPULATE_READ) };
}

/// From reading the grants to the last record. The log is below a directory.
fn perform(parts: Vec<Part>, log: &Path) -> Result<()> {
    let log = Arc::new(Log::open(&Paths::below(log)));
    for part in parts {
        let grant: Document = serde_json::from_str(&part.grant)?;
        let invocation = Invocation::new(
            &part.subject.container_id,
            &part.subject.ifname,
            &part.subject.network,
        );
        let audit = Audit::new(part.subject, log.clone(), false);
        let mut gate = Gate::new(grant.spec.capabilities, invocation, audit);
        for act in part.acts {
            act(&mut gate)?;
        }
        if let Some(why) = gate.audit_failure() {
            return Err(anyhow!("the audit log: {why}"));
        }
    }
    Ok(())
}

/// The operations of the records, by plugin.
fn parts(records: &str) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line)?;
        let plugin = text(&record, "plugin");
        let place = parts.iter().position(|part| part.subject.plugin == plugin);
        let place = match place {
            Some(place) => place,
            None => {
                parts.push(part(&record)?);
                parts.len() - 1
            }
        };
        parts[place].acts.push(act(&record)?);
    }
    ensure!(!parts.is_empty(), "there are no records");
    Ok(parts)
}

fn part(record: &Value) -> Result<Part> {
    let plugin = text(record, "plugin");
    let mut grant = shipped(&plugin)?;
    // What tenants may do is beside it in the binary, and is read where a tenant's network is meant.
    grant.spec.tenants = None;
    Ok(Part {
        grant: serde_json::to_string(&grant)?,
        acts: Vec::new(),
        subject: Subject {
            command: "ADD".into(),
            container_id: text(record, "container_id"),
            ifname: text(record, "ifname"),
            network: text(record, "network"),
            digest: text(record, "digest"),
            plugin,
            ..Subject::default()
        },
    })
}

/// The grant with which a plugin is shipped.
fn shipped(plugin: &str) -> Result<Document> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let file = plugins.join(plugin).join("grant.yaml");
    let text = fs::read(&file).with_context(|| file.display().to_string())?;
    let grant = Document::read(&text);
    grant.map_err(|mistakes| anyhow!("{}: {mistakes:?}", file.display()))
}

fn text(record: &Value, key: &str) -> String {
    record[key].as_str().unwrap_or_default().to_owned()
}

/// The operation of a record. Two may have one name; their arguments tell them apart.
fn act(record: &Value) -> Result<Act> {
    const KNOWN: [fn(&str, &Value) -> Option<Act>; 26] = [
        of::<link::Create>,
        of::<link::Read>,
        of::<link::List>,
        of::<link::Update>,
        of::<link::UpdatePort>,
        of::<link::UpdateBridge>,
        of::<link::GetPeer>,
        of::<link::WaitUp>,
        of::<address::Add>,
        of::<address::List>,
        of::<address::Settle>,
        of::<route::Add>,
        of::<route::List>,
        of::<neighbour::Announce>,
        of::<firewall::Apply>,
        of::<sysctl::Read>,
        of::<sysctl::Write>,
        of::<store::OpenWrite>,
        of::<store::Get>,
        of::<store::Put>,
        of::<store::Claim>,
        of::<store::Delete>,
        of::<store::Keys>,
        of::<store::Find>,
        of::<store::ReadFile>,
        of::<ipam::Run>,
    ];
    let name = text(record, "operation");
    let mut acts = KNOWN
        .iter()
        .filter_map(|of| of(&name, &record["arguments"]));
    acts.next()
        .with_context(|| format!("the operation `{name}` of an ADD is not known here: {record}"))
}

fn of<O: Operation + DeserializeOwned + 'static>(name: &str, arguments: &Value) -> Option<Act> {
    if O::NAME != name {
        return None;
    }
    let operation: O = serde_json::from_value(arguments.clone()).ok()?;
    Some(Box::new(move |gate| {
        match gate.perform(operation, |_| Ok(())) {
            // It was not there then either.
            Err(Refusal::NotFound(_)) => Ok(()),
            outcome => outcome,
        }
    }))
}
