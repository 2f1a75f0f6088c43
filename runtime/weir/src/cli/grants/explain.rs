//! `weir grants explain`: would an operation be allowed, and by which rule?

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use weir_files::Paths;
use weir_grant::flow::flow;
use weir_grant::operation_names::by_name;
use weir_grant::pattern::Pattern;
use weir_grant::phrase::joined;
use weir_grant::query::Query;
use weir_grant::rule::rules_of;
use weir_grant::{
    Capabilities, Capability, Closest, Decision, Document, HostInterfaces, Invocation, Section,
    Severity, internal_grant,
};
use weir_sandbox::{Loaded, Undecided, read_grant};

use crate::cli::policy::least::{LackingRule, lacking_rules};
use crate::cli::policy::suggest::WithoutRule;

use super::document::wrapped;
use super::grant_state::{self, Grant, State};
use super::replay::replay;
use crate::cli::node_networks;
use crate::cli::output::{Answer, Format, complain, print_line, say};
use crate::cli::outside::Outside;
use crate::cli::record::{Record, Verdict};

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name.
    #[arg(required_unless_present = "record")]
    plugin: Option<String>,
    /// The operation, such as `link.create`; an unknown one lists all.
    #[arg(required_unless_present = "record")]
    operation: Option<String>,
    /// What it is about, such as `namespace=host kind=bridge name=cni0`.
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// The network [default: an answer for each grant in force].
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// What `{ifname}` stands for.
    #[arg(long, value_name = "NAME", default_value = "eth0")]
    ifname: String,
    /// What `{containerid}` stands for.
    #[arg(long, value_name = "ID", default_value = "container")]
    container_id: String,
    /// A document to use instead of the grant in force.
    #[arg(long, value_name = "FILE")]
    grant: Option<PathBuf>,
    /// Read records of the audit log from standard input, and explain the operations in them.
    #[arg(long, conflicts_with_all = ["operation", "fields", "network"])]
    record: bool,
    #[command(flatten)]
    format: Format,
}

struct Question {
    plugin: String,
    /// None if it was not given.
    network: Option<String>,
    invocation: Invocation,
    /// The pod's interfaces, which weir itself may act on.
    interfaces: Vec<String>,
    operation: Box<dyn Query>,
    /// Why weir itself refuses it, even if a rule allows it.
    refused: Option<String>,
}

/// The documents that are asked.
enum Documents {
    /// A document that need not be in force.
    One(Box<Loaded>),
    /// The node's.
    Node(Vec<Grant>),
}

#[derive(Default, Serialize)]
struct Explanation {
    plugin: String,
    operation: &'static str,
    arguments: Value,
    allowed: bool,
    /// Why it is denied even if a rule allows it: no grant applies, or it is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    /// Why weir itself refuses it, although the rules allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// What it does, in words, and how far that reaches.
    act: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
    /// What must be allowed for the operation to be.
    needs: Vec<String>,
    /// The member of `spec` whose rules apply: `capabilities`, or `tenants.capabilities`.
    #[serde(skip_serializing_if = "str::is_empty")]
    section: &'static str,
    /// The document's name, and where it is from; none if no grant applies.
    grant: Option<String>,
    from: Option<String>,
    /// That grant's state; none for a document that need not be in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_state: Option<State>,
    /// The globs of the networks that it covers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    networks: Vec<String>,
    /// The rules that allow it, or the one that came closest.
    rules: Vec<Rule>,
    /// What no rule allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    /// The field in which the closest rule missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// What lets networks use an interface of the host that weir's configuration does not list.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_list: Option<String>,
    /// For a denial, the least rules that would allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    would_allow: Vec<LackingRule>,
    /// For a denial, what no rule can allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_rule: Vec<WithoutRule>,
}

#[derive(Serialize)]
struct Rule {
    /// `link[0]`.
    name: String,
    rule: Value,
}

/// No if an operation is denied or unknown.
pub fn run(paths: &Paths, arguments: &Arguments) -> Result<Answer> {
    let documents = match &arguments.grant {
        Some(file) => Documents::One(Box::new(read_grant(file)?)),
        None => Documents::Node(grant_state::grants(paths)?),
    };
    let listed = weir_gate::host_interfaces(paths).map_err(|why| anyhow!(why))?;
    if arguments.record {
        return explain_records(arguments, &documents, &listed);
    }
    let question = question_of(arguments, listed)?;
    documents.know(paths, &question.plugin)?;
    if let Some(network) = &arguments.network {
        node_networks::report_unknown(paths, network);
    }
    let explanations: Vec<Explanation> = match documents.in_force(&question).as_slice() {
        // Each grant has its own networks.
        several @ [_, _, ..] => several
            .iter()
            .map(|grant| Explanation::by_grant(grant, &question))
            .collect(),
        _ => vec![documents.explain(&question)],
    };
    match explanations.as_slice() {
        [one] => arguments.format.print(one, print)?,
        _ => arguments
            .format
            .print(&explanations, |all| all.iter().for_each(print))?,
    }
    Ok(explanations.iter().all(|e| e.allowed).into())
}

/// Explains each record on standard input on its own, since a plugin chooses the content of its records.
fn explain_records(
    arguments: &Arguments,
    documents: &Documents,
    listed: &HostInterfaces,
) -> Result<Answer> {
    let plugin = arguments.plugin.as_deref();
    let format = arguments.format;
    let passes = |record: &Record| plugin.is_none_or(|plugin| record.subject.plugin == plugin);
    let mut explanations = Vec::new();
    let (mut count, mut allowed) = (0_u64, true);
    let unknown = replay(Path::new("-"), passes, |record, operation| {
        let refused = match record.verdict {
            Verdict::Refused => record.answer.clone(),
            _ => operation.flaw(),
        };
        let question = Question {
            refused,
            plugin: record.subject.plugin.clone(),
            network: Some(record.subject.granted_as().to_owned()),
            invocation: Invocation {
                host_interfaces: listed.clone(),
                ..record.subject.invocation()
            },
            interfaces: interfaces(record),
            operation,
        };
        let explanation = documents.explain(&question);
        count += 1;
        allowed &= explanation.allowed;
        if format.is_json() {
            explanations.push(explanation)
        } else {
            print(&explanation)
        }
        Ok(())
    })?;
    if format.is_json() {
        format.print(&explanations, |_| {})?;
    }
    for sentence in unknown.sentences() {
        complain(&sentence);
    }
    if count == 0 && !unknown.has_records() {
        bail!("standard input has no record of a plugin's operation");
    }
    Ok((allowed && !unknown.has_records()).into())
}

/// The pod's interfaces that a record names: the attachment's, and those of an allowed route.
fn interfaces(record: &Record) -> Vec<String> {
    let mut names = vec![record.subject.ifname.clone()];
    if record.verdict == Verdict::Allowed {
        let route = &record.arguments["route"];
        let hops = route["next_hops"].as_array().into_iter().flatten();
        let links = hops.chain([route]).map(|hop| &hop["link"]["name"]);
        names.extend(links.filter_map(|name| Some(name.as_str()?.to_owned())));
    }
    names
}

fn question_of(arguments: &Arguments, host_interfaces: HostInterfaces) -> Result<Question> {
    let operation = arguments.operation.as_deref().unwrap_or_default();
    let fields = fields(&arguments.fields)?;
    let operation = by_name(operation, &fields).map_err(|why| anyhow!(why))?;
    Ok(Question {
        refused: operation.flaw(),
        plugin: arguments.plugin.clone().unwrap_or_default(),
        network: arguments.network.clone(),
        invocation: Invocation {
            container_id: arguments.container_id.clone(),
            ifname: arguments.ifname.clone(),
            network: arguments.network.clone().unwrap_or_default(),
            host_interfaces,
        },
        interfaces: vec![arguments.ifname.clone()],
        operation,
    })
}

/// The fields of an operation, as they are typed: `FIELD=VALUE`.
pub(super) fn fields(typed: &[String]) -> Result<Vec<(String, String)>> {
    let split = typed.iter().map(|field| {
        let (name, value) = field
            .split_once('=')
            .with_context(|| format!("`{field}` is not a field; expected FIELD=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    });
    split.collect()
}

impl Documents {
    /// Errors: no document is about the plugin, which may be misspelt or run outside the sandbox.
    fn know(&self, paths: &Paths, plugin: &str) -> Result<()> {
        match Outside::of(paths, plugin)? {
            Some(Outside::Weir) => return Ok(()),
            Some(native) => bail!("{native}"),
            None => {}
        }
        match self {
            Self::Node(grants) if !grants.iter().any(|grant| grant.plugin() == plugin) => {
                bail!(grant_state::no_grant(plugin, grants))
            }
            _ => Ok(()),
        }
    }

    /// The plugin's grants in force, if no network was given.
    fn in_force(&self, question: &Question) -> Vec<&Grant> {
        match self {
            Self::Node(grants) if question.network.is_none() => grants
                .iter()
                .filter(|grant| grant.plugin() == question.plugin && grant.is_in_force())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Asks the gate's matcher by the rules of the grant that decides.
    fn explain(&self, question: &Question) -> Explanation {
        match self {
            _ if question.plugin == internal_grant::NAME => Explanation::by_own(question),
            Self::One(loaded) => Explanation {
                because: uncovered(&loaded.document, question),
                ..Explanation::new(question)
            }
            .by_document(loaded, question),
            Self::Node(grants) => match deciding_grant(grants, question) {
                Ok(grant) => Explanation::by_grant(grant, question),
                Err(why) => Explanation {
                    because: Some(why),
                    ..Explanation::new(question)
                },
            },
        }
    }
}

fn uncovered(document: &Document, question: &Question) -> Option<String> {
    let network = question.network.as_deref()?;
    let is_covered = document.covers_network(network);
    (!is_covered).then(|| format!("it does not cover the network `{network}`"))
}

fn deciding_grant<'a>(grants: &'a [Grant], question: &Question) -> Result<&'a Grant, String> {
    let (plugin, network) = (&question.plugin, question.network.as_deref());
    let decided = grant_state::applying(grants, plugin, network);
    decided.map_err(|undecided| match (undecided, network) {
        (Undecided::NoGrant, _) => grant_state::no_grant(plugin, grants),
        (_, Some(network)) => {
            format!("no grant of plugin `{plugin}` covers the network `{network}`")
        }
        (_, None) => format!("no grant of plugin `{plugin}` covers a network"),
    })
}

impl Explanation {
    /// A denial without a grant.
    fn new(question: &Question) -> Self {
        let operation = &question.operation;
        Self {
            plugin: question.plugin.clone(),
            operation: operation.name(),
            arguments: operation.arguments(),
            act: operation.act(),
            severity: Some(operation.severity(&question.invocation)),
            needs: operation.needs().iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    fn by_grant(grant: &Grant, question: &Question) -> Self {
        let explanation = Self {
            grant_state: Some(grant.state),
            because: grant.because.clone(),
            ..Self::new(question)
        };
        explanation.by_document(&grant.loaded, question)
    }

    /// By what weir may do on its own behalf.
    fn by_own(question: &Question) -> Self {
        let interfaces = question
            .interfaces
            .iter()
            .map(|name| Pattern::literal(name));
        let explanation = Self {
            grant: Some(internal_grant::NAME.to_owned()),
            from: Some("fixed in the binary".to_owned()),
            networks: vec!["*".to_owned(), "*/*".to_owned()],
            ..Self::new(question)
        };
        let capabilities = internal_grant::capabilities(interfaces.collect());
        explanation.decided(question, Section::Node, &capabilities)
    }

    /// By a document's rules for the question's network, whether it is in force or not.
    fn by_document(self, loaded: &Loaded, question: &Question) -> Self {
        let Loaded { document, origin } = loaded;
        let section = Section::of(&question.invocation.network);
        let explanation = Self {
            grant: Some(document.metadata.name.clone()),
            from: Some(origin.to_string()),
            networks: document.networks().collect(),
            ..self
        };
        match document.spec.section(section) {
            Some(capabilities) => explanation.decided(question, section, capabilities),
            None => explanation.decided(question, section, &Capabilities::default()),
        }
    }

    /// Allowed unless there is already a reason against it.
    fn decided(self, question: &Question, section: Section, capabilities: &Capabilities) -> Self {
        let rule = |name: &String| rule(section, capabilities, name);
        let own = Self {
            section: section.key(),
            ..self
        };
        let operation = &question.operation;
        match operation.decide(capabilities, &question.invocation) {
            Decision::Allowed { rules } => Self {
                allowed: own.because.is_none() && question.refused.is_none(),
                refused: question.refused.clone(),
                rules: rules.iter().filter_map(rule).collect(),
                ..own
            },
            Decision::Denied {
                requirement,
                closest,
            } => {
                // No rule allows what weir refuses in any case.
                let lacking = match question.refused {
                    Some(_) => Ok(Vec::new()),
                    None => lacking_rules(&**operation, &question.invocation, capabilities),
                };
                let (would_allow, without_rule) = match lacking {
                    Ok(rules) => (rules, Vec::new()),
                    Err(without_rule) => (Vec::new(), without_rule),
                };
                Self {
                    missing: Some(requirement),
                    rules: closest
                        .iter()
                        .filter_map(|closest| rule(&closest.rule))
                        .collect(),
                    to_list: closest.as_ref().and_then(Closest::to_list),
                    field: closest.map(|closest| closest.field),
                    refused: question.refused.clone(),
                    would_allow,
                    without_rule,
                    ..own
                }
            }
        }
    }
}

/// The rule that the log calls `link[0]`, or `tenants.link[0]`.
fn rule(section: Section, capabilities: &Capabilities, name: &str) -> Option<Rule> {
    let (word, index) = name.trim_end_matches(']').split_once('[')?;
    let rules = rules_of(capabilities, Capability::from_word(word)?);
    let rule = rules.get(index.parse::<usize>().ok()?)?.to_json();
    let name = section.rule(name);
    Some(Rule { name, rule })
}

fn print(explanation: &Explanation) {
    let Explanation {
        plugin,
        operation,
        because,
        ..
    } = explanation;
    let (Some(grant), Some(from)) = (&explanation.grant, &explanation.from) else {
        let why = because.as_deref().unwrap_or_default();
        return say!("denied: {operation}; {why}");
    };
    let networks = if explanation.networks.iter().any(|glob| glob == "*") {
        String::new()
    } else {
        format!(" on {}", joined(explanation.networks.clone(), "and"))
    };
    let by = if plugin == internal_grant::NAME {
        format!("what {plugin} itself may do ({from})")
    } else {
        format!("the grant `{grant}` ({from}) of plugin {plugin}{networks}")
    };
    match (because, &explanation.missing) {
        (Some(why), missing) => {
            say!(
                "denied: {operation}; the plugin does not run, because {by} is not in force for it: {why}"
            );
            match missing {
                None => print_line!("  its rules would allow it"),
                Some(missing) => say!("  nor do its rules allow it to {missing}"),
            }
        }
        (None, None) if explanation.refused.is_some() => {
            let why = explanation.refused.as_deref().unwrap_or_default();
            say!("refused: {operation}; {by} allows it, but weir itself refuses it: {why}");
        }
        (None, None) if explanation.needs.is_empty() => {
            say!("allowed: {operation} needs no rule itself; each thing it shows does");
        }
        (None, None) => {
            say!("allowed: {operation}, by {by}");
            print_act(explanation);
        }
        (None, Some(missing)) => {
            say!("denied: {operation}; {by} does not allow it to {missing}");
        }
    }
    match (&explanation.field, explanation.rules.as_slice()) {
        (Some(field), [rule]) => {
            say!("  the closest rule does not match in `{field}`:");
            print_rule(rule);
            if let Some(to_list) = &explanation.to_list {
                say!("  {to_list}");
            }
        }
        (None, []) if explanation.missing.is_some() => {
            print_line!("  it has no rule for this capability");
        }
        (_, rules) => rules.iter().for_each(print_rule),
    }
    if plugin != internal_grant::NAME {
        print_would_allow(explanation);
    }
}

/// What would allow a denied operation, and how much else that would allow.
fn print_would_allow(explanation: &Explanation) {
    if let (Some(why), Some(_)) = (&explanation.refused, &explanation.missing) {
        say!("  no rule can allow it, since weir itself refuses it: {why}");
    }
    let section = &explanation.section;
    match explanation.would_allow.as_slice() {
        [] => {}
        [rule] => say!(
            "  the least rule that would allow it, below `spec.{section}.{}`:",
            rule.capability
        ),
        _ => say!(
            "  it needs all of these rules, the least that would allow it, below `spec.{section}`:"
        ),
    }
    for rule in &explanation.would_allow {
        let capability = match explanation.would_allow.len() {
            1 => String::new(),
            _ => format!("{}: ", rule.capability),
        };
        say!("    {capability}{}", rule.line());
        let mut networks = explanation.networks.clone();
        // The section is about these and no others.
        networks.retain(|glob| Section::of(glob).key() == *section);
        let on = if networks.is_empty() {
            "on no network".to_owned()
        } else {
            format!("on {}", joined(networks, "and"))
        };
        let allows = format!("allows every container {on}: {}", rule.allows());
        print_line!("{}", wrapped(&allows, "    "));
    }
    for WithoutRule { need, because } in &explanation.without_rule {
        say!("  no rule can allow it to {need}: {because}");
    }
}

/// What it does, and what must be allowed if that is more than one thing.
fn print_act(explanation: &Explanation) {
    let severity = explanation
        .severity
        .map(|severity| format!(" ({})", severity.phrase()));
    say!("  to {}{}", explanation.act, severity.unwrap_or_default());
    if let needs @ [_, _, ..] = explanation.needs.as_slice() {
        needs
            .iter()
            .for_each(|need| say!("  with a rule to {need}"));
    }
}

fn print_rule(rule: &Rule) {
    let text = format!("{} {}", rule.name, flow(&rule.rule));
    print_line!("{}", wrapped(&text, "    "));
}
