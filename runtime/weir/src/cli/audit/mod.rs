//! `weir audit`: what plugins did and were denied, from the audit log, and whether the log is as it was written.

mod acts;
mod changes;
mod checkpoint;
mod count;
mod ecs;
mod filter;
mod follow;
mod page;
mod parts;
mod rules;
mod summary;
mod tally;
mod text;
pub(in crate::cli) mod time;
mod timeline;
mod unused;
mod verify;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_files::Paths;
use weir_gate::escape;
use weir_grant::{Severity, internal_grant};
use weir_network::Settings;
use weir_sandbox::Catalogue;

use super::grants::grant_state::grants;
use super::output::{Answer, Format, StandardOutput, complain, print_text};
use super::record::{Log, Record, Verdict};
use filter::Filter;
use parts::Parts;
use tally::Tally;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    filter: Filter,
    /// Read this file instead of the log, such as a rotated one; several are read one after another.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Print new records as they are written, also when the log is rotated.
    #[arg(long, conflicts_with_all = ["summary", "html", "until", "fail_on_denied"])]
    follow: bool,
    /// Print counts for each plugin and capability, and denials, instead of records.
    #[arg(long, conflicts_with = "html")]
    summary: bool,
    /// Print the rules of the grants in force that allowed nothing that was recorded, instead of records.
    ///
    /// Only the filters for the plugin and the time apply.
    #[arg(long, conflicts_with_all = ["summary", "html", "follow", "container_id", "ifname", "network", "capability",
        "operation", "command", "verdict", "denied", "severity"])]
    unused: bool,
    /// Write one self-contained page for a browser or a printer; `-` is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    html: Option<PathBuf>,
    /// Show the arguments of each operation instead of a description.
    #[arg(long, conflicts_with_all = ["summary", "html", "output"])]
    arguments: bool,
    /// Print the records as JSON Lines of the Elastic Common Schema.
    #[arg(long, conflicts_with_all = ["summary", "unused", "html", "arguments", "output"])]
    ecs: bool,
    /// Exit with 3 if one of the records is a denial.
    #[arg(long)]
    fail_on_denied: bool,
    #[command(flatten)]
    format: Format,
}

const SCHEMA: &str = include_str!("../../../../../docs/audit.schema.json");

#[derive(Subcommand)]
enum Command {
    /// Check by the hash chain that no line was changed, taken out, added or cut off: exit code 3 if one was, 1 if that
    /// cannot be determined.
    ///
    /// A line after the chain began that it does not cover counts as added. Only noted are lines from before the chain
    /// began, what a crash has left of a write at the end, and a chain line that is repeated.
    Verify(verify::Arguments),
    /// Print the current end of the hash chain, as one line of JSON for `weir audit verify --checkpoint`.
    ///
    /// Store it where root on this node cannot change it.
    Checkpoint(checkpoint::Arguments),
    /// Print the JSON Schema of a record, for what takes the log in.
    Schema,
}

pub fn run(arguments: &Arguments) -> Result<Answer> {
    match &arguments.command {
        Some(Command::Verify(arguments)) => return verify::run(arguments),
        Some(Command::Checkpoint(arguments)) => return checkpoint::run(arguments),
        Some(Command::Schema) => {
            print_text!("{SCHEMA}");
            return Ok(Answer::Yes);
        }
        None => {}
    }
    let paths = Paths::from_environment();
    let files = match arguments.file.as_slice() {
        [] => vec![paths.audit_log()],
        files => files.to_vec(),
    };
    if arguments.follow {
        return follow(arguments, &files);
    }
    let denied = if arguments.unused {
        unused(&paths, arguments, &files)?
    } else if arguments.html.is_some() || arguments.summary {
        let tally = tally(arguments, &files, |_| {})?;
        if let Some(target) = &arguments.html {
            let chain = arguments.file.is_empty().then(|| verify::of_node(&paths));
            let page = page::page(&paths, &files, &arguments.filter, &tally, chain.as_ref());
            write_page(&page, target)?;
        } else {
            summary::print(arguments.format, &files, &tally)?;
        }
        tally.count.denied > 0
    } else {
        print(arguments, &files)?
    };
    if arguments.file.is_empty() && arguments.html.is_none() {
        warn_of_changes(&paths);
    }
    Ok((!denied || !arguments.fail_on_denied).into())
}

/// Warns on standard error if the log of this node is not as it was written. The page says so itself.
fn warn_of_changes(paths: &Paths) {
    let chain = verify::of_node(paths);
    if !chain.is_intact {
        complain(&format!("warning: the audit log is {}", chain.text));
    }
}

/// Prints what the grants allow beyond the records. Returns whether one of them is a denial.
fn unused(paths: &Paths, arguments: &Arguments, files: &[PathBuf]) -> Result<bool> {
    let grants = grants(paths)?;
    let mut parts = Parts::of(&grants)?;
    let tally = tally(arguments, files, |record| parts.add(record))?;
    let Arguments { format, filter, .. } = arguments;
    unused::print(&grants, *format, filter, &tally, &parts)?;
    Ok(tally.count.denied > 0)
}

/// Prints the records. Returns whether one of them is a denial.
fn print(arguments: &Arguments, files: &[PathBuf]) -> Result<bool> {
    let mut printer = Printer::new(arguments);
    let mut denied = false;
    let broken = read(arguments, files, |record| {
        denied |= record.verdict == Verdict::Denied;
        printer.print(record)
    })?;
    printer.flush()?;
    warn_of(broken);
    Ok(denied)
}

fn follow(arguments: &Arguments, files: &[PathBuf]) -> Result<Answer> {
    let [file] = files else {
        let count = files.len();
        bail!("`--follow` reads one log, and `--file` names {count}");
    };
    let mut printer = Printer::new(arguments);
    let broken = follow::follow(file, |new| {
        match new {
            Some(record) if arguments.filter.passes(record) => printer.print(record),
            Some(_) => Ok(()),
            None => printer.flush(),
        }
        .context("print a record")
    })?;
    warn_of(broken);
    Ok(Answer::Yes)
}

/// Counts the records. `take` gets each of them as well.
fn tally(arguments: &Arguments, files: &[PathBuf], mut take: impl FnMut(&Record)) -> Result<Tally> {
    let mut tally = Tally::default();
    tally.unreadable = read(arguments, files, |record| {
        tally.add(record);
        take(record);
        Ok(())
    })?;
    Ok(tally)
}

/// Passes the records that pass the filters to `take`. Returns how many lines were not records.
fn read(
    arguments: &Arguments,
    files: &[PathBuf],
    mut take: impl FnMut(&Record) -> io::Result<()>,
) -> Result<u64> {
    let mut broken = 0;
    let (mut plugins, mut networks, mut passed) = (BTreeSet::new(), BTreeSet::new(), false);
    for path in files {
        let Some(log) = open(path, !arguments.file.is_empty())? else {
            continue;
        };
        let mut passing = |record: &Record| {
            if arguments.filter.passes(record) {
                passed = true;
                take(record)
            } else {
                plugins.insert(record.subject.plugin.clone());
                networks.insert(record.subject.granted_as().to_owned());
                Ok(())
            }
        };
        broken += log
            .read_whole(&mut passing)
            .with_context(|| format!("read `{}`", path.display()))?;
    }
    if !passed {
        networks.remove("");
        report_unknown(arguments, plugins, &networks)?;
    }
    Ok(broken)
}

/// Reports unknown names in the filters, which let no record pass.
fn report_unknown(
    arguments: &Arguments,
    mut plugins: BTreeSet<String>,
    networks: &BTreeSet<String>,
) -> Result<()> {
    let paths = Paths::from_environment();
    let here = Catalogue::new(&paths).list();
    let here = here.context("list the plugins of this node")?;
    plugins.extend(here.into_iter().map(|listed| listed.name));
    // Without a readable configuration, no native plugin runs.
    let native = Settings::load(&paths).unwrap_or_default().native_plugins;
    plugins.extend(native.into_iter().map(|entry| entry.name));
    plugins.insert(internal_grant::NAME.to_owned());
    let sentences = arguments.filter.unknown(&plugins, networks);
    sentences.iter().for_each(|sentence| complain(sentence));
    Ok(())
}

/// The node's own log exists from its first record on; a file that was named must exist.
fn open(path: &Path, must_exist: bool) -> Result<Option<Log>> {
    match Log::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => {
            let shown = path.display();
            complain(&format!(
                "nothing is recorded yet: `{shown}` does not exist"
            ));
            Ok(None)
        }
        log => log
            .map(Some)
            .with_context(|| format!("open `{}`", path.display())),
    }
}

fn warn_of(broken: u64) {
    if let Some(warning) = super::record::not_records(broken) {
        complain(&warning);
    }
}

fn write_page(page: &str, target: &Path) -> Result<()> {
    if target == Path::new("-") {
        StandardOutput.write_all(page.as_bytes())?;
        return Ok(());
    }
    fs::write(target, page).with_context(|| format!("write `{}`", target.display()))
}

/// A record, with what its operation does.
#[skip_serializing_none]
#[derive(Serialize)]
struct RecordWithAct<'a> {
    #[serde(flatten)]
    record: &'a Record,
    /// In words.
    act: Option<String>,
    severity: Option<Severity>,
    /// Printed as null, for a denial without a rule: the record leaves it out.
    closest: Option<()>,
}

impl<'a> RecordWithAct<'a> {
    fn of(record: &'a Record) -> Self {
        Self {
            record,
            act: record.act(),
            severity: record.severity(),
            closest: (record.requirement.is_some() && record.closest.is_none()).then_some(()),
        }
    }
}

/// Writes records to standard output, a line for each.
struct Printer {
    out: BufWriter<StandardOutput>,
    form: Form,
}

/// How a record is written.
enum Form {
    Json,
    Ecs,
    /// In words, or with the operation's arguments.
    Sentence {
        arguments: bool,
    },
}

impl Printer {
    fn new(arguments: &Arguments) -> Self {
        let form = if arguments.ecs {
            Form::Ecs
        } else if arguments.format.is_json() {
            Form::Json
        } else {
            Form::Sentence {
                arguments: arguments.arguments,
            }
        };
        Self {
            out: BufWriter::new(StandardOutput),
            form,
        }
    }

    fn print(&mut self, record: &Record) -> io::Result<()> {
        let line = match self.form {
            Form::Json => escape(serde_json::to_string(&RecordWithAct::of(record))?),
            Form::Ecs => escape(ecs::document(record).to_string()),
            Form::Sentence { arguments } => text::sentence(record, arguments),
        };
        writeln!(self.out, "{line}")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
