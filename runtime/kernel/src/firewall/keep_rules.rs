//! Which rules of a wanted list a chain lacks, and where each belongs.
//!
//! A chain may change between being read and the transaction. The kernel counts the changes of rulesets, and refuses a
//! transaction with an outdated count.

use netlink_bindings::nftables::GenAttrs;
use weir_grant::firewall::Rule;

use super::kind::Kind;
use super::set::malformed;
use crate::error::{Error, Result};
use crate::netlink::NetfilterSocket;

/// Where a rule is put, with the handle of the one beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RulePosition {
    First,
    Last,
    Before(u64),
    Behind(u64),
}

/// How often rulesets have been changed; zero stands for a kernel that does not count.
pub(super) fn generation(socket: &mut NetfilterSocket) -> Result<u32> {
    let reply = socket.get(Kind::GetGeneration, 0, |_| {})?;
    match reply {
        Some(object) => GenAttrs::new(&object).get_id().map_err(malformed),
        None => Ok(0),
    }
}

/// How often a transaction is attempted while the ruleset keeps changing.
const MOST_ATTEMPTS: usize = 100;

/// Repeats an attempt at a transaction while it returns none, because the ruleset has changed since it was read.
///
/// Errors: `Busy` if the ruleset keeps changing.
pub(super) fn until_unchanged<T>(mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    for _ in 0..MOST_ATTEMPTS {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
    }
    Err(Error::busy("the ruleset keeps changing"))
}

/// The missing rules, in the order in which to insert them. A rule is identified by its comment.
pub(super) fn missing<'r>(
    wanted: Vec<&'r Rule>,
    present: &[Rule],
) -> Vec<(&'r Rule, RulePosition)> {
    let found = find(&wanted, present);
    let mut missing = Vec::new();
    let mut start = 0;
    while start < wanted.len() {
        let end = (start..wanted.len()).find(|&i| found[i].is_some());
        let end = end.unwrap_or(wanted.len());
        let run = wanted[start..end].iter().copied();
        let before = start.checked_sub(1).and_then(|before| found[before]);
        let behind = found.get(end).copied().flatten();
        match (before, behind) {
            // The last one first: each comes right behind the same rule.
            (Some(handle), _) => {
                missing.extend(run.rev().map(|r| (r, RulePosition::Behind(handle))))
            }
            (None, Some(handle)) => missing.extend(run.map(|r| (r, RulePosition::Before(handle)))),
            (None, None) => missing.extend(run.map(|r| (r, RulePosition::Last))),
        }
        start = end + 1;
    }
    missing
}

/// The handles of those rules that are there, as far as they are in order.
fn find(wanted: &[&Rule], present: &[Rule]) -> Vec<Option<u64>> {
    let mut rest = present;
    let mut next = |wanted: &Rule| {
        let at = rest
            .iter()
            .position(|rule| rule.comment == wanted.comment)?;
        let handle = rest[at].handle;
        rest = &rest[at + 1..];
        handle
    };
    wanted.iter().map(|rule| next(rule)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(comments: &str) -> Vec<Rule> {
        let rule = |(at, comment): (usize, char)| Rule {
            comment: Some(comment.to_string()).filter(|comment| comment != "-"),
            handle: Some(at as u64 + 1),
            ..Rule::default()
        };
        comments.chars().enumerate().map(rule).collect()
    }

    /// What the kernel makes of the places.
    fn kept(wanted: &str, present: &str) -> String {
        let (wanted, mut chain) = (rules(wanted), rules(present));
        for (rule, place) in missing(wanted.iter().collect(), &chain.clone()) {
            let at = |handle| chain.iter().position(|rule| rule.handle == Some(handle));
            let at = match place {
                RulePosition::First => 0,
                RulePosition::Last => chain.len(),
                RulePosition::Before(handle) => at(handle).expect("a rule"),
                RulePosition::Behind(handle) => at(handle).expect("a rule") + 1,
            };
            let handle = None;
            chain.insert(
                at,
                Rule {
                    handle,
                    ..rule.clone()
                },
            );
        }
        let comment = |rule: &Rule| rule.comment.clone().unwrap_or_else(|| "-".to_owned());
        chain.iter().map(comment).collect()
    }

    #[test]
    fn whatever_is_missing_comes_back_in_its_place() {
        for present in [
            "", "a", "b", "c", "d", "ab", "ac", "ad", "bc", "bd", "cd", "abc", "abd", "acd", "bcd",
            "abcd",
        ] {
            assert_eq!(kept("abcd", present), "abcd", "{present}");
        }
    }

    #[test]
    fn rules_of_others_stay_where_they_are() {
        assert_eq!(kept("ab", "--"), "--ab");
        assert_eq!(kept("ab", "-b-"), "-ab-");
        assert_eq!(kept("ab", "-a-"), "-ab-");
        assert_eq!(kept("abc", "-a-c-"), "-ab-c-");
    }

    #[test]
    fn what_is_kept_is_not_put_there_again() {
        for present in ["ba", "-ba", "b-a"] {
            let once = kept("ab", present);
            assert_eq!(kept("ab", &once), once, "{present}");
        }
    }
}
