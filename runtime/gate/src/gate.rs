//! The gate of one invocation: what the grant allows, and what is recorded of it.

mod disclosure;

use std::time::{Duration, Instant};

use serde_json::Value;
use weir_grant::link::LinkFacts;
use weir_grant::{
    Capabilities, Capability, Decision, Invocation, Namespace, Operation, Section, VerbSet, decide,
};

use crate::audit::{Audit, Pending};
use crate::outcome::{Outcome, answer_of};
use crate::permit::Permit;
use crate::refusal::{Denied, Refusal};
use disclosure::not_found;

/// Stands between one invocation of one plugin and the kernel.
pub struct Gate {
    capabilities: Capabilities,
    /// Whose rules are of which section.
    section: fn(Capability) -> Section,
    invocation: Invocation,
    audit: Audit,
}

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

    /// Authorises `operation`, carries it out with `act`, and records the verdict and the answer. What changes something
    /// is recorded before it is done.
    ///
    /// Errors: a [`Refusal`], and whatever `act` answers.
    pub fn perform<O, T, E>(
        &mut self,
        operation: O,
        act: impl FnOnce(&Permit<O>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        O: Operation,
        E: Outcome,
    {
        self.perform_noting(operation, |permit, _| act(permit))
    }

    /// The same where `act` may note the value that something had before, for the record.
    pub fn perform_noting<O, T, E>(
        &mut self,
        operation: O,
        act: impl FnOnce(&Permit<O>, &mut Option<Value>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        O: Operation,
        E: Outcome,
    {
        let rules = self.authorise(&operation)?;
        if self.audit.is_recorded::<O>() {
            self.act(operation, "allowed", &rules, act)
        } else {
            act(&Permit::new(operation), &mut None)
        }
    }

    /// The same for several that are carried out in one step, each of which is authorised before any is carried out.
    /// Those of links that are not there are left out; where none is left, nothing is done.
    ///
    /// Errors: the first [`Refusal`], and whatever `act` answers.
    pub fn perform_all<O, E>(
        &mut self,
        operations: Vec<O>,
        act: impl FnOnce(&[Permit<O>]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        O: Operation,
        E: Outcome,
    {
        let mut authorised = Vec::with_capacity(operations.len());
        for operation in operations {
            match self.authorise(&operation) {
                Ok(rules) => authorised.push((operation, rules)),
                Err(Refusal::NotFound(_)) => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        self.act_all(authorised, "allowed", act)
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
        E: Outcome,
    {
        self.act(operation, "undo", &[], |permit, _| act(permit))
    }

    /// The same for several that are carried out in one step; nothing where there are none.
    pub fn undo_all<O, E>(
        &mut self,
        operations: Vec<O>,
        act: impl FnOnce(&[Permit<O>]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        O: Operation,
        E: Outcome,
    {
        let operations = operations
            .into_iter()
            .map(|operation| (operation, Vec::new()));
        self.act_all(operations.collect(), "undo", act)
    }

    /// The rules that allow an operation. Errors: why it is not carried out, which is recorded.
    fn authorise<O: Operation>(&mut self, operation: &O) -> Result<Vec<String>, Refusal> {
        let rules = match self.decide(operation) {
            Ok(rules) => rules,
            Err(denied) => {
                let told = self.told(operation, &denied);
                self.audit
                    .not_done(operation, "denied", &[], Some(&denied), &told.to_string());
                return Err(told);
            }
        };
        if let Some(refusal) = not_found(operation) {
            if self.audit.is_recorded::<O>() {
                self.audit
                    .not_done(operation, "allowed", &rules, None, &refusal.to_string());
            }
            return Err(refusal);
        }
        match operation.flaw() {
            None => Ok(rules),
            Some(why) => {
                self.audit
                    .not_done(operation, "refused", &rules, None, &why);
                Err(Refusal::Refused(why))
            }
        }
    }

    /// The rules that allow an operation, called by their section. Errors: what no rule allows.
    fn decide<O: Operation>(&self, operation: &O) -> Result<Vec<String>, Denied> {
        let section = (self.section)(O::Rule::CAPABILITY);
        match decide(&self.capabilities, &self.invocation, operation) {
            Decision::Allowed { rules } => {
                Ok(rules.iter().map(|rule| section.rule(rule)).collect())
            }
            Decision::Denied {
                requirement,
                closest,
            } => Err(Denied {
                requirement,
                closest: closest.map(|closest| closest.of(section)),
            }),
        }
    }

    /// Whether `operation` would be allowed. Nothing is done, and nothing recorded.
    pub fn allows<O: Operation>(&self, operation: &O) -> bool {
        let decision = decide(&self.capabilities, &self.invocation, operation);
        matches!(decision, Decision::Allowed { .. })
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

    /// Bytes of records that the invocation has made.
    pub fn recorded(&self) -> usize {
        self.audit.recorded()
    }

    /// Names the invocation in its records.
    pub fn recorded_as(&self) -> &str {
        self.audit.invocation()
    }

    /// Whether it stands before an ADD.
    pub fn is_add(&self) -> bool {
        self.audit.is_add()
    }

    /// Writes what is still due in the audit log: an invocation's end.
    pub fn finish(&mut self) {
        self.audit.finish();
    }

    /// This invocation's container id, interface name and network.
    pub fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    /// Records that it is about to be done, does it, and says what came of it.
    fn act<O, T, E>(
        &mut self,
        operation: O,
        verdict: &'static str,
        rules: &[String],
        act: impl FnOnce(&Permit<O>, &mut Option<Value>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        O: Operation,
        E: Outcome,
    {
        let intended = self.audit.intend(&[(&operation, rules)], verdict);
        let pending = intended.map_err(Refusal::Unrecorded)?;
        let start = Instant::now();
        let mut previous = None;
        let outcome = act(&Permit::new(operation), &mut previous);
        let took = start.elapsed();
        self.answer(
            &pending,
            &outcome,
            took,
            previous.filter(|_| outcome.is_ok()),
        );
        outcome
    }

    /// The same for several, each with the rules that allow it, in one step; nothing where there are none.
    fn act_all<O, E>(
        &mut self,
        operations: Vec<(O, Vec<String>)>,
        verdict: &'static str,
        act: impl FnOnce(&[Permit<O>]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        O: Operation,
        E: Outcome,
    {
        if operations.is_empty() {
            return Ok(());
        }
        let all: Vec<(&O, &[String])> = operations
            .iter()
            .map(|(operation, rules)| (operation, rules.as_slice()))
            .collect();
        let intended = self.audit.intend(&all, verdict);
        let pending = intended.map_err(Refusal::Unrecorded)?;
        let start = Instant::now();
        let operations = operations.into_iter();
        let permits: Vec<_> = operations
            .map(|(operation, _)| Permit::new(operation))
            .collect();
        let outcome = act(&permits);
        self.answer(&pending, &outcome, start.elapsed(), None);
        outcome
    }

    /// Records what came of what was about to be done.
    fn answer<T, E: Outcome>(
        &mut self,
        pending: &Pending,
        outcome: &Result<T, E>,
        took: Duration,
        previous: Option<Value>,
    ) {
        let answer = answer_of(outcome);
        let is_refused = matches!(outcome, Err(error) if error.is_refusal());
        self.audit
            .answer(pending, &answer, is_refused, took, previous.as_ref());
    }
}
