//! The gate of one invocation: it decides by the grant and records each operation.

mod disclosure;

use std::time::Instant;

use serde_json::Value;
use weir_grant::link::LinkFacts;
use weir_grant::{
    Capabilities, Capability, Invocation, Namespace, Operation, Section, Severity, VerbSet,
    allowing_rules, rule_name,
};

use crate::audit::{Audit, Intent};
use crate::outcome::{Outcome, answer_of};
use crate::permit::Permit;
use crate::refusal::{Denied, Refusal};
use disclosure::not_found;

/// Stands between one invocation of one plugin and the kernel.
pub struct Gate {
    capabilities: Capabilities,
    /// The section of the grant that a capability's rules come from.
    section: fn(Capability) -> Section,
    invocation: Invocation,
    audit: Audit,
    /// The last operation that was requested.
    last: Option<&'static str>,
}

impl Gate {
    /// Makes a gate for one invocation, with the capabilities that the grant gives the plugin.
    pub fn new(capabilities: Capabilities, invocation: Invocation, audit: Audit) -> Self {
        Self {
            capabilities,
            section: |_| Section::Node,
            invocation,
            audit,
            last: None,
        }
    }

    /// Sets the section of the grant that each capability's rules come from. Records name rules by it.
    #[must_use]
    pub fn of_sections(self, section: fn(Capability) -> Section) -> Self {
        Self { section, ..self }
    }

    /// Authorises `operation`, carries it out with `act`, and records the verdict and the answer. A change is recorded
    /// before it is made, unless it stays in the container.
    ///
    /// Errors: a [`Refusal`], and those of `act`.
    pub fn perform<O: Operation, T, E: Outcome>(
        &mut self,
        operation: O,
        act: impl FnOnce(&Permit<O>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.perform_noting(operation, |permit, _| act(permit))
    }

    /// Does the same; `act` may also note the previous value of what it changes, for the record.
    pub fn perform_noting<O: Operation, T, E: Outcome>(
        &mut self,
        operation: O,
        act: impl FnOnce(&Permit<O>, &mut Option<Value>) -> Result<T, E>,
    ) -> Result<T, E> {
        let rules = self.authorise(&operation)?;
        if self.audit.is_recorded::<O>() {
            let intent = self.intent_of(&operation);
            let rules = self.rule_names::<O>(&rules);
            self.act(operation, "allowed", &rules, intent, act)
        } else {
            act(&Permit::new(operation), &mut None)
        }
    }

    /// Authorises several operations, then carries them out in one step. Operations on links that do not exist are left
    /// out; if none remains, nothing is done.
    ///
    /// Errors: the first [`Refusal`], and those of `act`.
    pub fn perform_all<O: Operation, E: Outcome>(
        &mut self,
        operations: Vec<O>,
        act: impl FnOnce(&[Permit<O>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut authorised = Vec::with_capacity(operations.len());
        for operation in operations {
            match self.authorise(&operation) {
                Ok(rules) => authorised.push((operation, self.rule_names::<O>(&rules))),
                Err(Refusal::NotFound(_)) => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        self.act_all(authorised, "allowed", act)
    }

    /// Carries out the inverse of an operation that this gate allowed, after an `add` has failed. It needs no rule and is
    /// always recorded.
    pub fn undo<O: Operation, T, E: Outcome>(
        &mut self,
        operation: O,
        act: impl FnOnce(&Permit<O>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.act(operation, "undo", &[], Intent::Before, |permit, _| {
            act(permit)
        })
    }

    /// Carries out several inverses in one step; does nothing if there are none.
    pub fn undo_all<O: Operation, E: Outcome>(
        &mut self,
        operations: Vec<O>,
        act: impl FnOnce(&[Permit<O>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let operations = operations
            .into_iter()
            .map(|operation| (operation, Vec::new()));
        self.act_all(operations.collect(), "undo", act)
    }

    /// The indices of the rules that allow an operation. Errors: why it is not carried out; the refusal is recorded.
    fn authorise<O: Operation>(&mut self, operation: &O) -> Result<Vec<usize>, Refusal> {
        self.last = Some(O::NAME);
        let rules = match self.decide(operation) {
            Ok(rules) => rules,
            Err(denied) => {
                let refusal = self.refusal_of(operation, &denied);
                self.audit.not_done(
                    operation,
                    "denied",
                    &[],
                    Some(&denied),
                    &refusal.to_string(),
                );
                return Err(refusal);
            }
        };
        if let Some(refusal) = not_found(operation) {
            if self.audit.is_recorded::<O>() {
                let rules = self.rule_names::<O>(&rules);
                self.audit
                    .not_done(operation, "allowed", &rules, None, &refusal.to_string());
            }
            return Err(refusal);
        }
        match operation.flaw() {
            None => Ok(rules),
            Some(why) => {
                let rules = self.rule_names::<O>(&rules);
                self.audit
                    .not_done(operation, "refused", &rules, None, &why);
                Err(Refusal::Refused(why))
            }
        }
    }

    /// The indices of the rules that allow an operation. Errors: what no rule allows.
    fn decide<O: Operation>(&self, operation: &O) -> Result<Vec<usize>, Denied> {
        let allowing = allowing_rules(&self.capabilities, &self.invocation, operation);
        allowing.map_err(|unmet| Denied {
            requirement: unmet.requirement,
            closest: unmet.closest.map(|closest| {
                let section = (self.section)(O::Rule::CAPABILITY);
                closest.of(section)
            }),
        })
    }

    /// The names of rules, with their section. Only records have them.
    fn rule_names<O: Operation>(&self, rules: &[usize]) -> Vec<String> {
        let section = (self.section)(O::Rule::CAPABILITY);
        let names = rules.iter().map(|index| rule_name::<O::Rule>(*index));
        names.map(|name| section.rule(&name)).collect()
    }

    /// Whether `operation` would be allowed. Does and records nothing.
    pub fn allows<O: Operation>(&self, operation: &O) -> bool {
        allowing_rules(&self.capabilities, &self.invocation, operation).is_ok()
    }

    /// Whether the grant allows creating links of some kind in a namespace.
    pub fn may_create_links(&self, namespace: Namespace) -> bool {
        let mut rules = self.capabilities.link.iter();
        rules.any(|rule| rule.may_create_in(namespace))
    }

    /// Whether the grant allows creating a link of this kind and name in this link's namespace.
    pub fn may_have_created(&self, link: &LinkFacts) -> bool {
        let mut rules = self.capabilities.link.iter();
        rules.any(|rule| rule.may_create(link, &self.invocation))
    }

    /// Whether a rule about parameters depends on the owner of a parameter's link.
    pub fn asks_owner_of_parameters(&self) -> bool {
        let mut rules = self.capabilities.sysctl.iter();
        rules.any(|rule| rule.owners.is_some())
    }

    /// Whether a rule about packet filters depends on facts that only the host knows: the ports on which something
    /// listens, and the owners of elements.
    pub fn asks_about_elements(&self) -> bool {
        let mut rules = self.capabilities.firewall.iter();
        rules.any(|rule| rule.ports.is_some() || rule.owners.is_some())
    }

    /// Whether a rule depends on the routes of the host that an address or a route overlaps.
    pub fn asks_overlaps(&self) -> bool {
        let Capabilities { address, route, .. } = &self.capabilities;
        address.iter().any(|rule| rule.overlaps.is_some())
            || route.iter().any(|rule| rule.overlaps.is_some())
    }

    /// Returns the name of the last operation that was requested, allowed or not; none since
    /// [`begin_call`](Self::begin_call).
    pub fn last(&self) -> Option<&'static str> {
        self.last
    }

    /// Notes that the plugin's next call begins, which has not requested an operation yet.
    pub fn begin_call(&mut self) {
        self.last = None;
    }

    /// Returns the records of the invocation.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Says why records are lost or an allowed operation was not carried out, if the log could not be written. Intents
    /// that wait for the next record are written first.
    pub fn audit_failure(&mut self) -> Option<&str> {
        self.audit.failure()
    }

    /// Writes the audit log's outstanding lines, at the end of the invocation.
    pub fn finish(&mut self) {
        self.audit.finish();
    }

    /// This invocation's container id, interface name and network.
    pub fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    /// When the intent of a change is written. A kill that loses one in the container leaves nothing on the node, and what an IPAM
    /// plugin changes has its own records.
    fn intent_of<O: Operation>(&self, operation: &O) -> Intent {
        let waits = match O::Rule::CAPABILITY {
            Capability::Ipam => true,
            Capability::Store => false,
            _ => operation.severity(&self.invocation) <= Severity::Contained,
        };
        if waits {
            Intent::WithNext
        } else {
            Intent::Before
        }
    }

    /// Records the intent, carries the operation out, and records the outcome.
    fn act<O: Operation, T, E: Outcome>(
        &mut self,
        operation: O,
        verdict: &'static str,
        rules: &[String],
        intent: Intent,
        act: impl FnOnce(&Permit<O>, &mut Option<Value>) -> Result<T, E>,
    ) -> Result<T, E> {
        let permit = Permit::new(operation);
        self.carry_out(
            &[(permit.operation(), rules)],
            verdict,
            intent,
            |previous| act(&permit, previous),
        )
    }

    /// Does the same for several operations, each with the rules that allow it, in one step; nothing if there are none.
    fn act_all<O: Operation, E: Outcome>(
        &mut self,
        operations: Vec<(O, Vec<String>)>,
        verdict: &'static str,
        act: impl FnOnce(&[Permit<O>]) -> Result<(), E>,
    ) -> Result<(), E> {
        if operations.is_empty() {
            return Ok(());
        }
        let (operations, rules): (Vec<O>, Vec<Vec<String>>) = operations.into_iter().unzip();
        let permits: Vec<Permit<O>> = operations.into_iter().map(Permit::new).collect();
        let operations = permits.iter().map(Permit::operation);
        let rules = rules.iter().map(Vec::as_slice);
        let all: Vec<(&O, &[String])> = operations.zip(rules).collect();
        self.carry_out(&all, verdict, Intent::Before, |_| act(&permits))
    }

    /// Records the intent, acts, and records the outcome, with the former values that `act` notes if it succeeds.
    fn carry_out<O: Operation, T, E: Outcome>(
        &mut self,
        operations: &[(&O, &[String])],
        verdict: &'static str,
        intent: Intent,
        act: impl FnOnce(&mut Option<Value>) -> Result<T, E>,
    ) -> Result<T, E> {
        let intended = self.audit.intend(operations, verdict, intent);
        let pending = intended.map_err(Refusal::Unrecorded)?;
        let start = Instant::now();
        let mut previous = None;
        let outcome = act(&mut previous);
        let took = start.elapsed();
        let previous = previous.filter(|_| outcome.is_ok());
        let is_refused = matches!(&outcome, Err(error) if error.is_refusal());
        self.audit.answer(
            &pending,
            &answer_of(&outcome),
            is_refused,
            took,
            previous.as_ref(),
        );
        outcome
    }
}
