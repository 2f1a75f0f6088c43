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

use anyhow::{Context, Result, anyhow};
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

/// An operation that waits for its gate and the log.
type Act = Box<dyn FnOnce(&mut Gate, &Arc<Log>) -> Result<(), Refusal>>;

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
    let part = whole(&fs::read_to_string(records)?)?;
    map_code();
    ask_processor();
    let start = Instant::now();
    let log = Arc::new(Log::open(&Paths::below(Path::new(log))));
    perform(part, &log)?;
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

/// Asks the processor what it can do, as the engine's reader has before weir's first operation. SHA-256 then uses the same answers.
fn ask_processor() {
    #[cfg(target_arch = "x86_64")]
    std::hint::black_box(std::is_x86_feature_detected!("avx2"));
}

/// From reading a grant to the last record.
fn perform(part: Part, log: &Arc<Log>) -> Result<()> {
    let grant: Document = serde_json::from_str(&part.grant)?;
    let invocation = Invocation::new(
        &part.subject.container_id,
        &part.subject.ifname,
        &part.subject.network,
    );
    let audit = Audit::new(part.subject, Arc::clone(log), false);
    let mut gate = Gate::new(grant.spec.capabilities, invocation, audit);
    for act in part.acts {
        act(&mut gate, log)?;
    }
    match gate.audit_failure() {
        Some(why) => Err(anyhow!("the audit log: {why}")),
        None => Ok(()),
    }
}

/// What the plugin of the first record did. It ran the other one as its IPAM plugin.
fn whole(records: &str) -> Result<Part> {
    let records = records.lines().map(serde_json::from_str);
    let records: Vec<Value> = records.collect::<Result<_, _>>()?;
    let main = text(records.first().context("there are no records")?, "plugin");
    let (own, ipam) = records
        .into_iter()
        .partition(|record| text(record, "plugin") == main);
    part(own, Some(part(ipam, None)?))
}

/// What one plugin did, the IPAM plugin that it ran among it.
fn part(records: Vec<Value>, mut ipam: Option<Part>) -> Result<Part> {
    let first = records.first().context("a plugin has no records")?;
    let plugin = text(first, "plugin");
    let mut grant = shipped(&plugin)?;
    // What tenants may do is beside it in the binary, and is read where a tenant's network is meant.
    grant.spec.tenants = None;
    let subject = Subject {
        command: "ADD".into(),
        container_id: text(first, "container_id"),
        ifname: text(first, "ifname"),
        network: text(first, "network"),
        digest: text(first, "digest"),
        plugin,
        ..Subject::default()
    };
    let acts = records.iter().map(|record| match operation(record) {
        Some(run) => Ok(running(
            run,
            ipam.take().context("it runs one IPAM plugin")?,
        )),
        None => act(record),
    });
    Ok(Part {
        acts: acts.collect::<Result<_>>()?,
        grant: serde_json::to_string(&grant)?,
        subject,
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
    const KNOWN: [fn(&Value) -> Option<Act>; 25] = [
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
    ];
    let mut acts = KNOWN.iter().filter_map(|of| of(record));
    acts.next()
        .with_context(|| format!("an operation of an ADD is not known here: {record}"))
}

fn of<O: Operation + DeserializeOwned + 'static>(record: &Value) -> Option<Act> {
    let operation: O = operation(record)?;
    Some(Box::new(move |gate, _| {
        match gate.perform(operation, |_| Ok(())) {
            // It was not there then either.
            Err(Refusal::NotFound(_)) => Ok(()),
            outcome => outcome,
        }
    }))
}

/// Runs an IPAM plugin.
fn running(operation: ipam::Run, ipam: Part) -> Act {
    Box::new(move |gate, log| {
        let _guard = gate.audit().run_another();
        gate.perform(operation, |_| {
            perform(ipam, log).map_err(|e| Refusal::Refused(e.to_string()))
        })
    })
}

/// The operation of a record, if it is of that type.
fn operation<O: Operation + DeserializeOwned>(record: &Value) -> Option<O> {
    let is_it = record["operation"] == O::NAME;
    is_it.then(|| serde_json::from_value(record["arguments"].clone()).ok())?
}
