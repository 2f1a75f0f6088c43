//! The gate: authorises an operation, hands out the permit, records what came of it.
//!
//! Floor 2 of the house. Every privileged act of a plugin goes through [`Gate::perform`], because
//! the functions of the kernel layer take a [`Permit`] and only this module makes one. "Authorised
//! and recorded" is so a property that the compiler checks.

mod audit;
mod event;
mod permit;
mod shorten;
mod text;

use std::fmt;
use std::time::Instant;

use audit::Verdict;
pub use audit::{Audit, Subject};
pub use event::{EVENT_CAPABILITIES, EVENTS, Event};
pub use permit::Permit;
pub use text::{escape, misleads};

use crate::grant::link::LinkFacts;
use crate::grant::{
    Capabilities, Capability, Decision, Invocation, Namespace, Operation, Rule, Section, decide,
};

/// Stands between one invocation of one plugin and the kernel.
pub struct Gate {
    capabilities: Capabilities,
    /// Whose rules are of which section.
    section: fn(Capability) -> Section,
    invocation: Invocation,
    audit: Audit,
}

/// A refused operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// `create bridge `br0` in host`.
    pub requirement: String,
    /// `link[0]: names`, `tenants.link[0]: names`: the rule that came closest, and the field in which it missed.
    pub closest: Option<String>,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the grant does not allow to {}", self.requirement)?;
        match &self.closest {
            Some(closest) => write!(f, " (closest rule: {closest})"),
            None => write!(f, " (it has no rule for this capability)"),
        }
    }
}

impl std::error::Error for Denied {}

impl Gate {
    /// A gate for one invocation. `capabilities` are the ones that the grant gives the plugin there.
    pub fn new(capabilities: Capabilities, invocation: Invocation, audit: Audit) -> Self {
        Self {
            capabilities,
            section: |_| Section::Node,
            invocation,
            audit,
        }
    }

    /// The same, with rules of these sections of a grant: records call them by it.
    #[must_use]
    pub fn of_sections(self, section: fn(Capability) -> Section) -> Self {
        Self { section, ..self }
    }

    /// Authorises `operation`, carries it out with `act`, and records the verdict and the answer.
    ///
    /// Errors: `Denied`, and whatever `act` answers.
    pub fn perform<O, T, E>(
        &mut self,
        operation: O,
        act: impl FnOnce(&Permit<O>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        O: Operation,
        E: From<Denied> + fmt::Display,
    {
        let section = (self.section)(O::Rule::CAPABILITY);
        match decide(&self.capabilities, &self.invocation, &operation) {
            Decision::Allowed { rules } => {
                let rules = rules.iter().map(|rule| section.rule(rule)).collect();
                Ok(self.carry_out(operation, Verdict::Allowed(rules), act)?)
            }
            Decision::Denied {
                requirement,
                closest,
            } => {
                let denied = Denied {
                    requirement,
                    closest: closest.map(|rule| section.rule(&rule)),
                };
                self.audit
                    .record(&operation, &Verdict::Denied(&denied), "", None);
                Err(denied.into())
            }
        }
    }

    /// Carries out the inverse of an operation that this gate allowed: what the host does when an
    /// `add` fails half-way. Needs no rule; is always recorded.
    pub fn undo<O, T, E>(
        &mut self,
        operation: O,
        act: impl FnOnce(&Permit<O>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        O: Operation,
        E: fmt::Display,
    {
        self.carry_out(operation, Verdict::Undo, act)
    }

    /// The same for several that are carried out in one step; nothing where there are none.
    pub fn undo_all<O, E>(
        &mut self,
        operations: Vec<O>,
        act: impl FnOnce(&[Permit<O>]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        O: Operation,
        E: fmt::Display,
    {
        if operations.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let permits: Vec<_> = operations.into_iter().map(Permit::new).collect();
        let outcome = act(&permits);
        let (answer, took) = (answer_of(&outcome), Some(start.elapsed()));
        for permit in &permits {
            self.audit
                .record(permit.operation(), &Verdict::Undo, &answer, took);
        }
        outcome
    }

    /// Whether `operation` would be allowed. Nothing is done, and nothing recorded.
    pub fn allows<O: Operation>(&self, operation: &O) -> bool {
        let decision = decide(&self.capabilities, &self.invocation, operation);
        matches!(decision, Decision::Allowed { .. })
    }

    /// Whether the grant has a rule that could be about a link of that name.
    pub fn mentions_link(&self, namespace: Namespace, name: &str) -> bool {
        self.capabilities
            .mention_link(namespace, name, &self.invocation)
    }

    /// Whether the grant lets links be created in a namespace, of whatever kind.
    pub fn may_create_links(&self, namespace: Namespace) -> bool {
        self.capabilities
            .link
            .iter()
            .any(|rule| rule.may_create_in(namespace))
    }

    /// Whether the grant lets a link of this kind and name be created where this one is.
    pub fn may_have_created(&self, link: &LinkFacts) -> bool {
        let rules = &self.capabilities.link;
        rules
            .iter()
            .any(|rule| rule.may_create(link, &self.invocation))
    }

    /// Whether a rule about parameters asks whose link they are of.
    pub fn asks_owner_of_parameters(&self) -> bool {
        self.capabilities
            .sysctl
            .iter()
            .any(|rule| rule.owners.is_some())
    }

    /// Whether a rule about packet filters asks for what only the host can tell: ports that are listened at, and whose
    /// elements are.
    pub fn asks_about_elements(&self) -> bool {
        let rules = &self.capabilities.firewall;
        rules
            .iter()
            .any(|rule| rule.ports.is_some() || rule.owners.is_some())
    }

    /// Whether a rule asks what of the host an address or a route overlaps.
    pub fn asks_overlaps(&self) -> bool {
        let Capabilities { address, route, .. } = &self.capabilities;
        address.iter().any(|rule| rule.overlaps.is_some())
            || route.iter().any(|rule| rule.overlaps.is_some())
    }

    /// Why audit records are missing, where they could not be written. An act that cannot be
    /// recorded must not stand.
    pub fn audit_failure(&self) -> Option<&str> {
        self.audit.failure()
    }

    /// This invocation's container id, interface name and network.
    pub fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    fn carry_out<O, T, E>(
        &mut self,
        operation: O,
        verdict: Verdict<'_>,
        act: impl FnOnce(&Permit<O>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        O: Operation,
        E: fmt::Display,
    {
        let start = Instant::now();
        let permit = Permit::new(operation);
        let outcome = act(&permit);
        let (answer, took) = (answer_of(&outcome), Some(start.elapsed()));
        self.audit
            .record(permit.operation(), &verdict, &answer, took);
        outcome
    }
}

/// What a record says of an outcome.
fn answer_of<T, E: fmt::Display>(outcome: &Result<T, E>) -> String {
    match outcome {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.to_string(),
    }
}
