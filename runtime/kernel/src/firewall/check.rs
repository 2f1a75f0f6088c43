//! Checks of names and comments.
//!
//! The kernel takes any bytes. nft(8) prints them unescaped: a quote or a line feed could change the meaning of an
//! administrator's saved ruleset.

use weir_grant::firewall::{Chain, Command, ElementData, Elements, Rule, Statement, Verdict};
use weir_grant::firewall::{Condition, NatTarget};

use crate::error::{Error, Result};

/// `NFT_NAME_MAXLEN` without the final zero byte.
const LONGEST_NAME: usize = 255;

/// nft(8)'s limit.
const LONGEST_COMMENT: usize = 128;

/// `IFNAMSIZ` without the final zero byte.
const LONGEST_LINK_NAME: usize = 15;

/// Checks the name of a chain, set or map. Errors: `Invalid`.
pub(super) fn name(name: &str) -> Result<()> {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let continues = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b));
    if starts && continues && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{}` is not a name for a chain or set: a letter or `_`, then letters, digits, `_`, `-`, \
         `.` and `/`, at most {LONGEST_NAME} in all",
        name.escape_debug()
    )))
}

/// Checks the name of a link. Errors: `Invalid`.
pub(super) fn link_name(name: &str) -> Result<()> {
    let allowed = |c: char| !c.is_control() && !c.is_whitespace() && !"\"/".contains(c);
    if (1..=LONGEST_LINK_NAME).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{}` is not the name of a link: 1 to {LONGEST_LINK_NAME} bytes, without blanks, `/` and \
         quotes",
        name.escape_debug()
    )))
}

/// Checks a comment of a rule or element. Errors: `Invalid`.
pub(super) fn comment(comment: &str) -> Result<()> {
    let allowed = |c: char| !c.is_control() && c != '"';
    if comment.len() <= LONGEST_COMMENT && comment.chars().all(allowed) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the comment `{}` must have at most {LONGEST_COMMENT} bytes, without quotes and control \
         characters",
        comment.escape_debug()
    )))
}

/// Checks all names and comments in a command. Errors: `Invalid`.
pub(super) fn command(command: &Command) -> Result<()> {
    match command {
        Command::AddChain(chain) | Command::CreateChain(chain) => new_chain(chain),
        Command::DeleteChain(chain) | Command::FlushChain(chain) => name(chain),
        Command::AppendRule(new) | Command::InsertRule(new) => rule(new),
        Command::KeepRules(kept) => kept_rules(kept),
        Command::DeleteRule(rule) => name(&rule.chain),
        Command::AddSet(set) | Command::CreateSet(set) => name(&set.name),
        Command::DeleteSet(set) | Command::FlushSet(set) => name(set),
        Command::AddElements(new) | Command::CreateElements(new) => elements(new),
        Command::DeleteElements(old) => name(&old.set),
        Command::DeleteTable => Ok(()),
    }
}

fn new_chain(chain: &Chain) -> Result<()> {
    name(&chain.name)?;
    let device = chain.base.as_ref().and_then(|base| base.device.as_deref());
    device.map_or(Ok(()), link_name)
}

fn rule(rule: &Rule) -> Result<()> {
    name(&rule.chain)?;
    for condition in &rule.conditions {
        if let Condition::InSet { set, .. } = condition {
            name(set)?;
        }
    }
    for statement in &rule.statements {
        match statement {
            Statement::Jump(chain) | Statement::Goto(chain) => name(chain)?,
            Statement::VerdictMap(lookup) => name(&lookup.map)?,
            Statement::Snat(nat) | Statement::Dnat(nat) => {
                if let NatTarget::FromMap { lookup, .. } = &nat.target {
                    name(&lookup.map)?;
                }
            }
            _ => {}
        }
    }
    rule.comment.as_deref().map_or(Ok(()), comment)
}

/// Such a rule is identified by its comment.
fn kept_rules(rules: &[Rule]) -> Result<()> {
    for (index, kept) in rules.iter().enumerate() {
        rule(kept)?;
        let is_same = |other: &Rule| other.chain == kept.chain && other.comment == kept.comment;
        if kept.comment.is_none() || rules[..index].iter().any(is_same) {
            return Err(Error::invalid(format!(
                "rule {} of those to keep must have a comment, and one that no other rule of chain `{}` has",
                index + 1,
                kept.chain
            )));
        }
    }
    Ok(())
}

fn elements(elements: &Elements) -> Result<()> {
    name(&elements.set)?;
    for element in &elements.elements {
        if let ElementData::Verdict(Verdict::Jump(chain) | Verdict::Goto(chain)) = &element.data {
            name(chain)?;
        }
        element.comment.as_deref().map_or(Ok(()), comment)?;
    }
    Ok(())
}
