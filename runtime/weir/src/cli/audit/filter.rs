//! Filters of records.

use std::collections::BTreeSet;

use clap::Args;
use clap::builder::PossibleValuesParser;
use glob::Pattern;
use jiff::Timestamp;
use weir_gate::{EVENT_CAPABILITIES, EVENTS};
use weir_grant::diagnostic::expected_one_of;
use weir_grant::operation_names::{no_such, recorded_names};
use weir_grant::{Capability, Severity};

use super::time;
use crate::cli::record::{Record, Verdict};

/// The filters. A record passes if it matches each of them. One that is given several times matches any of its values.
#[derive(Args, Clone, Debug, Default)]
pub struct Filter {
    /// Only operations of this plugin. All names here are globs.
    #[arg(long, value_name = "NAME")]
    plugin: Vec<Pattern>,
    /// Only for this container: its id.
    #[arg(long, value_name = "ID")]
    container_id: Vec<Pattern>,
    /// Only for this interface of the container.
    #[arg(long, value_name = "NAME")]
    ifname: Vec<Pattern>,
    /// Only on this network.
    #[arg(long, value_name = "NAME")]
    network: Vec<Pattern>,
    /// Only of this capability, such as `link`.
    #[arg(long, value_name = "WORD", value_parser = capabilities())]
    capability: Vec<String>,
    /// Only this operation, such as `link.create` or `*.delete`.
    #[arg(long, value_name = "NAME")]
    operation: Vec<Pattern>,
    /// Only during this CNI command.
    #[arg(long, value_name = "COMMAND", ignore_case = true,
        value_parser = PossibleValuesParser::new(["ADD", "DEL", "CHECK", "STATUS", "GC"]))]
    command: Vec<String>,
    /// Only with this verdict.
    #[arg(long, value_name = "VERDICT")]
    verdict: Vec<Verdict>,
    /// Only what was denied: short for `--verdict denied`.
    #[arg(long, conflicts_with = "verdict")]
    denied: bool,
    /// Only what reaches at least this far.
    #[arg(long, value_name = "SEVERITY", value_parser = severities())]
    severity: Option<String>,
    /// Only from this time on: RFC 3339, or a duration ago, such as `10m`.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<Timestamp>,
    /// Only before this time.
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    until: Option<Timestamp>,
}

impl Filter {
    pub fn passes(&self, record: &Record) -> bool {
        let verdict = if self.denied {
            record.verdict == Verdict::Denied
        } else {
            any(&self.verdict, |v| *v == record.verdict)
        };
        verdict
            && self.reaches(record)
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
            && matches(&self.plugin, &record.subject.plugin)
            && matches(&self.container_id, &record.subject.container_id)
            && matches(&self.ifname, &record.subject.ifname)
            && (matches(&self.network, &record.subject.network)
                || matches(&self.network, record.subject.granted_as()))
            && any(&self.capability, |c| *c == record.capability)
            && matches(&self.operation, &record.operation)
            && any(&self.command, |c| {
                c.eq_ignore_ascii_case(&record.subject.command)
            })
    }

    /// Whether records of a plugin may pass.
    pub fn passes_plugin(&self, plugin: &str) -> bool {
        matches(&self.plugin, plugin)
    }

    /// Whether an operation reaches far enough. An event reaches nowhere.
    fn reaches(&self, record: &Record) -> bool {
        let wanted = self.severity.as_deref();
        let wanted = wanted.and_then(|word| Severity::ALL.iter().find(|s| s.word() == word));
        wanted.is_none_or(|least| record.severity().is_some_and(|severity| severity >= *least))
    }

    pub fn wants_plugin(&self, plugin: &str) -> bool {
        matches(&self.plugin, plugin)
    }

    pub fn wants_capability(&self, capability: Capability) -> bool {
        any(&self.capability, |wanted| wanted == capability.word())
    }

    /// Sentences about unknown names, which let nothing pass. `plugins` and `networks` are the known ones.
    pub fn unknown(&self, plugins: &BTreeSet<String>, networks: &BTreeSet<String>) -> Vec<String> {
        let known: Vec<&str> = plugins.iter().map(String::as_str).collect();
        let of_log: Vec<&str> = networks.iter().map(String::as_str).collect();
        let is_unknown =
            |pattern: &Pattern, names: &[&str]| !names.iter().any(|n| pattern.matches(n));
        let mut operations = recorded_names();
        operations.extend(EVENTS);
        let mut sentences = Vec::new();
        for pattern in self.plugin.iter().filter(|p| is_unknown(p, &known)) {
            let expected = expected_one_of(pattern.as_str(), &known);
            sentences.push(format!(
                "no plugin `{pattern}` on this node or in the log; {expected}"
            ));
        }
        for pattern in self.network.iter().filter(|p| is_unknown(p, &of_log)) {
            let expected = expected_one_of(pattern.as_str(), &of_log);
            sentences.push(format!("no network `{pattern}` in the log; {expected}"));
        }
        let unknown = self.operation.iter().filter(|p| is_unknown(p, &operations));
        sentences.extend(unknown.map(|pattern| no_such(pattern.as_str())));
        sentences
    }

    pub fn described(&self) -> Vec<(&'static str, String)> {
        let globs = |list: &[Pattern]| list.iter().map(Pattern::to_string).collect::<Vec<_>>();
        let mut verdicts: Vec<_> = self.verdict.iter().map(|v| v.word().to_owned()).collect();
        verdicts.extend(self.denied.then(|| Verdict::Denied.word().to_owned()));
        let time = |time: Option<Timestamp>| time.map(time::precise).into_iter().collect();
        let all = [
            ("plugin", globs(&self.plugin)),
            ("container", globs(&self.container_id)),
            ("interface", globs(&self.ifname)),
            ("network", globs(&self.network)),
            ("capability", self.capability.clone()),
            ("operation", globs(&self.operation)),
            ("command", self.command.clone()),
            ("verdict", verdicts),
            (
                "severity",
                self.severity
                    .iter()
                    .map(|s| format!("{s} or more"))
                    .collect(),
            ),
            ("since", time(self.since)),
            ("until", time(self.until)),
        ];
        let given = all.into_iter().filter(|(_, values)| !values.is_empty());
        given
            .map(|(name, values)| (name, values.join(" or ")))
            .collect()
    }
}

/// A filter without values matches everything.
fn any<T>(wanted: &[T], is: impl FnMut(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(is)
}

fn matches(wanted: &[Pattern], text: &str) -> bool {
    any(wanted, |pattern| pattern.matches(text))
}

fn severities() -> PossibleValuesParser {
    PossibleValuesParser::new(Severity::ALL.iter().map(|severity| severity.word()))
}

/// The capabilities of records.
fn capabilities() -> PossibleValuesParser {
    let capabilities = Capability::RECORDED.map(Capability::word).into_iter();
    PossibleValuesParser::new(capabilities.chain(EVENT_CAPABILITIES))
}
