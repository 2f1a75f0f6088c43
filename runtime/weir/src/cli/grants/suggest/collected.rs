//! The parts of the records that a suggestion needs.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;

use anyhow::{Result, anyhow};
use ipnet::IpNet;
use weir_grant::document::{API_VERSION, Digest, KIND, Metadata, PluginReference, Spec, Tenants};
use weir_grant::pattern::Pattern;
use weir_grant::query::Query;
use weir_grant::{Capabilities, Document, HostInterfaces, Invocation, Limits, Section};

use super::Suggestion;
use crate::cli::grants::replay::Unknown;
use crate::cli::policy::suggest::{Recorded, WithoutRule, networks_given, suggest};
use crate::cli::record::{Record, Verdict};

/// One operation of the plugin.
pub(super) struct Operation {
    pub(super) recorded: Recorded,
    /// The section of the grant that decided.
    pub(super) section: Section,
    pub(super) was_allowed: bool,
}

/// What the grants allow under which the plugin ran.
pub(super) type Bounds<'a> = BTreeMap<Section, Vec<&'a Capabilities>>;

#[derive(Default)]
pub(super) struct Collected {
    /// Each operation of the plugin, once.
    pub(super) distinct: Vec<Operation>,
    /// Hashes of those, since there may be very many.
    seen: HashSet<u64>,
    hasher: RandomState,
    /// For each command, the hashes of the plugin's invocations, and whether a read of the invocation is recorded.
    invocations: BTreeMap<String, HashMap<u64, bool>>,
    /// The networks in which addresses were given, by whichever plugin, on each network.
    given: BTreeMap<String, BTreeSet<IpNet>>,
    /// The networks that the plugin ran on.
    pub(super) networks: BTreeSet<String>,
    attachments: BTreeSet<Attachment>,
    /// The last digest in a record.
    pub(super) digest: Option<Digest>,
    pub(super) operations: u64,
    denied: u64,
    /// What weir refuses whatever the grant says.
    refused: BTreeSet<WithoutRule>,
    /// The interfaces of the host that weir's configuration lists.
    host_interfaces: HostInterfaces,
}

/// The attachments for which some plugin was called, by command: one that did nothing then has no record of it.
#[derive(Default)]
pub(super) struct Called(BTreeMap<String, BTreeSet<Attachment>>);

impl Called {
    pub(super) fn note(&mut self, record: &Record) {
        if let Some(attachment) = attachment(record) {
            let of_command = self.0.entry(record.subject.command.to_string());
            of_command.or_default().insert(attachment);
        }
    }
}

/// Container id and interface.
type Attachment = (String, String);

const ADD: &str = "ADD";
const CHECK: &str = "CHECK";
const DEL: &str = "DEL";

fn attachment(record: &Record) -> Option<Attachment> {
    let subject = &record.subject;
    let is_one = !subject.container_id.is_empty();
    is_one.then(|| (subject.container_id.clone(), subject.ifname.clone()))
}

impl Collected {
    pub(super) fn new(host_interfaces: HostInterfaces) -> Self {
        Self {
            host_interfaces,
            ..Self::default()
        }
    }

    /// Takes a record of the plugin, or of an address that another plugin gave; denied ones only `with_denied`.
    pub(super) fn take(
        &mut self,
        plugin: &str,
        with_denied: bool,
        record: &Record,
        operation: Box<dyn Query>,
    ) {
        let is_own = record.subject.plugin == plugin;
        if record.verdict == Verdict::Refused {
            return;
        }
        let is_denied = record.verdict == Verdict::Denied;
        if is_denied && !with_denied {
            self.denied += u64::from(is_own);
            return;
        }
        if is_own && let Some(because) = operation.flaw() {
            let need = operation.act();
            self.refused.insert(WithoutRule { need, because });
            return;
        }
        if record.operation == "address.add" {
            let given = self
                .given
                .entry(record.subject.granted_as().to_owned())
                .or_default();
            given.extend(networks_given(&*operation));
        }
        if is_own {
            self.operations += 1;
            self.take_own(record, operation);
        }
    }

    fn take_own(&mut self, record: &Record, operation: Box<dyn Query>) {
        let subject = &record.subject;
        self.attachments.extend(attachment(record));
        self.networks.insert(subject.granted_as().to_owned());
        self.digest = subject.digest.parse().ok().or(self.digest.take());
        let was_allowed = record.verdict == Verdict::Allowed;
        let invocation = (&record.invocation, &subject.container_id, &subject.ifname);
        let invocation = self.hasher.hash_one(invocation);
        let of_command = self
            .invocations
            .entry(subject.command.to_string())
            .or_default();
        *of_command.entry(invocation).or_default() |= was_allowed && operation.is_read();
        let identity = (
            (&subject.container_id, &subject.ifname, subject.granted_as()),
            (&record.operation, record.arguments.to_string()),
            (was_allowed, section(record).key()),
        );
        if self.seen.insert(self.hasher.hash_one(identity)) {
            let invocation = Invocation {
                host_interfaces: self.host_interfaces.clone(),
                ..subject.invocation()
            };
            self.distinct.push(Operation {
                recorded: Recorded {
                    invocation,
                    operation,
                },
                section: section(record),
                was_allowed,
            });
        }
    }

    /// Whether reads were recorded: of each command in all invocations, or in none.
    pub(super) fn has_reads(&self) -> bool {
        let read = |read: &bool| *read;
        let mut commands = self.invocations.values();
        let is_any = commands.clone().any(|of| of.values().any(read));
        is_any && commands.all(|of| of.values().all(read) || !of.values().any(read))
    }

    /// The commands that show what the plugin needs, and that no record shows: an ADD of the plugin itself, as in a log whose
    /// older files are gone, and the other commands of any plugin for its attachments. A CHECK is needed only if reads were
    /// recorded, for it changes nothing. `weir grants learn` has called each command.
    pub(super) fn unrecorded(&self, called: &Called, is_learned: bool) -> Vec<&'static str> {
        let commands = match (self.has_reads(), is_learned) {
            (true, true) => &[ADD][..],
            (true, false) => &[ADD, CHECK, DEL],
            (false, _) => &[ADD, DEL],
        };
        let is_recorded = |command: &str| {
            let others = called.0.get(command).filter(|_| command != ADD);
            let is_called = others.is_some_and(|others| !others.is_disjoint(&self.attachments));
            is_called || self.invocations.contains_key(command)
        };
        let mut unrecorded = commands.to_vec();
        unrecorded.retain(|command| !self.attachments.is_empty() && !is_recorded(command));
        unrecorded
    }

    /// A suggestion that allows what was recorded, within these bounds.
    pub(super) fn suggestion(
        self,
        plugin: &str,
        left_out: Unknown,
        built_in: bool,
        bounds: &Bounds<'_>,
    ) -> Result<Suggestion> {
        let reads = self.has_reads();
        let of_network = |network: &String| self.given.get(network);
        let given = self.networks.iter().filter_map(of_network).flatten();
        let given: Vec<IpNet> = given.copied().collect();
        let (mut own, mut of_tenants) = (Vec::new(), Vec::new());
        for Operation {
            recorded, section, ..
        } in self.distinct
        {
            match section {
                Section::Node => own.push(recorded),
                Section::Tenants => of_tenants.push(recorded),
            }
        }
        let mut without_rule: Vec<WithoutRule> = self.refused.into_iter().collect();
        let mut suggest = |recorded: &[Recorded], section: Section| {
            let within = bounds.get(&section).map_or(&[][..], Vec::as_slice);
            let suggested = suggest(recorded, &given, within).map_err(|why| anyhow!(why))?;
            without_rule.extend(suggested.without_rule);
            Ok::<_, anyhow::Error>(suggested.capabilities)
        };
        let tenants = match of_tenants.as_slice() {
            [] => None,
            recorded => Some(Tenants {
                capabilities: suggest(recorded, Section::Tenants)?,
                pods: Vec::new(),
            }),
        };
        let document = Document {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: Metadata {
                name: plugin.to_owned(),
            },
            spec: Spec {
                plugin: PluginReference {
                    name: plugin.to_owned(),
                    digest: self.digest.filter(|_| !built_in),
                },
                networks: self.networks.iter().map(|n| Pattern::literal(n)).collect(),
                capabilities: suggest(&own, Section::Node)?,
                tenants,
                limits: Limits::default(),
            },
        };
        Ok(Suggestion {
            operations: self.operations,
            attachments: self.attachments.len(),
            reads,
            reads_from: BTreeSet::new(),
            reads_for: BTreeMap::new(),
            doubts: Vec::new(),
            not_granted: Vec::new(),
            not_recorded: BTreeSet::new(),
            denied: self.denied,
            left_out,
            without_rule,
            limits_from: None,
            document,
        })
    }
}

/// The section whose rules allowed it, or else that of its network. A pod's ports on a network of the node's own are bounded
/// by the tenants' rules.
fn section(record: &Record) -> Section {
    match record.rules.first() {
        Some(rule) => Section::of_rule(rule).0,
        None => Section::of(record.subject.granted_as()),
    }
}
