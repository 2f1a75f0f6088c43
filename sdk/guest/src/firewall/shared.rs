//! What the attachments of all networks share in a plugin's table on the host: chains, sets, and the rules that look
//! the sets up.
//!
//! Root can remove any of it, with `nft flush ruleset` for instance, so every ADD checks whether it
//! is there: one short list for each chain, however many pods there are. What is missing is made again in the
//! transaction of the ADD. Elements of other attachments are theirs to name: CHECK of those attachments tells.

use super::{Chain, Command, Family, Rule, Set};
use crate::check::wrong;
use crate::{Error, ErrorCode, Namespace, Outcome, Result, firewall, log};

/// Chains, sets and rules of a table.
///
/// A rule is known by its comment: what it says is not compared. So a rule that says something new needs a new
/// comment.
pub struct Shared {
    /// The family of the table.
    pub family: Family,
    /// The chains, those that are jumped to before those that jump there.
    pub chains: Vec<Chain>,
    /// The sets and maps that the rules look up.
    pub sets: Vec<Set>,
    /// The rules, in the order that they have in their chains. Each has a comment that no other rule of its chain has.
    pub rules: Vec<Rule>,
}

/// What a chain lacks.
struct Gap<'s> {
    chain: &'s str,
    /// The comments of the rules that it does not have; none without the chain.
    rules: Option<Vec<&'s str>>,
}

impl Shared {
    /// Returns the commands that make what is missing; none where everything is there.
    ///
    /// Chains that are there keep their policies, which may be the administrator's.
    pub fn restoring(&self) -> Result<Vec<Command>> {
        let gaps = self.gaps()?;
        if gaps.is_empty() {
            return Ok(Vec::new());
        }
        for gap in gaps.iter().filter(|gap| gap.rules.is_some()) {
            log::warn("missing rules were added again", &[("chain", gap.chain)]);
        }
        let is_there = |chain: &Chain| {
            let gap = gaps.iter().find(|gap| gap.chain == chain.name);
            chain.base.is_some() && gap.is_none_or(|gap| gap.rules.is_some())
        };
        let chains = self.chains.iter().filter(|chain| !is_there(chain));
        let mut commands: Vec<Command> = chains.cloned().map(Command::AddChain).collect();
        commands.extend(self.sets.iter().cloned().map(Command::AddSet));
        commands.push(Command::KeepRules(self.rules.clone()));
        Ok(commands)
    }

    /// Fails unless all rules are there, and so the sets and chains that they name. Errors:
    /// [`codes::NOT_AS_ATTACHED`](crate::codes::NOT_AS_ATTACHED), naming what is missing.
    pub fn check(&self) -> Result<(), Error> {
        let gaps = self.gaps()?;
        if gaps.is_empty() {
            return Ok(());
        }
        let told: Vec<String> = gaps.iter().map(Gap::told).collect();
        Err(wrong(told.join("; ")))
    }

    fn gaps(&self) -> Result<Vec<Gap<'_>>> {
        let mut gaps = Vec::new();
        for Chain { name, .. } in &self.chains {
            let mut rules = self
                .rules
                .iter()
                .filter(|rule| rule.chain == *name)
                .peekable();
            if rules.peek().is_some() {
                gaps.extend(self.gap(name, rules)?);
            }
        }
        Ok(gaps)
    }

    /// What a chain lacks of rules that are to be in it, in this order.
    fn gap<'s>(
        &self,
        chain: &'s str,
        wanted: impl Iterator<Item = &'s Rule>,
    ) -> Result<Option<Gap<'s>>> {
        let found = if_any(firewall::list_rules(Namespace::Host, self.family, chain))?;
        let Some(found) = found else {
            return Ok(Some(Gap { chain, rules: None }));
        };
        let mut found = found.iter().map(comment_of);
        let mut missing: Vec<&str> = Vec::new();
        for wanted in wanted.map(comment_of) {
            let before = found.clone();
            if !found.any(|comment| comment == wanted) {
                missing.push(wanted);
                found = before;
            }
        }
        let gap = Gap {
            chain,
            rules: Some(missing),
        };
        Ok(Some(gap).filter(|gap| gap.rules.as_ref().is_some_and(|rules| !rules.is_empty())))
    }
}

fn comment_of(rule: &Rule) -> &str {
    rule.comment.as_deref().unwrap_or_default()
}

impl Gap<'_> {
    fn told(&self) -> String {
        let chain = self.chain;
        match &self.rules {
            None => format!("chain `{chain}` is missing"),
            Some(rules) => {
                let rules: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
                format!("chain `{chain}` lacks {}", rules.join(", "))
            }
        }
    }
}

/// Returns none where there is no such set or chain, or no nftables: then ADD cannot have made anything there.
pub fn if_any<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.code == ErrorCode::Unsupported => Ok(None),
        read => read.found(),
    }
}
