//! Rules that are kept in the tables of others.

use super::*;

/// The rules of the chain `c`, each with a comment.
fn kept(comments: &str) -> Command {
    let rule = |comment: char| Rule {
        comment: Some(comment.to_string()),
        ..rule("c", Vec::new(), vec![Statement::Counter])
    };
    Command::KeepRules(comments.chars().map(rule).collect())
}

fn comments(plugin: &mut Plugin) -> String {
    let rules = plugin.rules("c").expect("rules").into_iter();
    rules
        .map(|rule| rule.comment.unwrap_or_else(|| s("-")))
        .collect()
}

#[test]
fn rules_that_are_kept_come_back_in_their_places() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let kept_in = |chain: &str| vec![Command::AddChain(regular(chain)), kept("abcd")];
        plugin.apply(kept_in("c")).expect("kept");
        assert_eq!(comments(&mut plugin), "abcd");
        for gone in ["a", "b", "d", "ab", "bc", "ad", "bcd", "abc", "abcd"] {
            let rules = plugin.rules("c").expect("rules");
            let is_gone = |rule: &&Rule| rule.comment.as_ref().is_some_and(|c| gone.contains(c));
            for rule in rules.iter().filter(is_gone) {
                let handle = rule.handle.expect("a handle");
                let chain = s("c");
                plugin
                    .apply(vec![Command::DeleteRule(RuleHandle { chain, handle })])
                    .expect("deleted");
            }
            let undo = plugin.apply(kept_in("c")).expect("kept again");
            assert_eq!(comments(&mut plugin), "abcd", "without {gone}");
            // They are everybody's.
            assert!(undo.is_empty(), "{undo:?}");
        }
        let handles = |plugin: &mut Plugin| plugin.rules("c").expect("rules");
        let before = handles(&mut plugin);
        plugin.apply(kept_in("c")).expect("nothing to do");
        assert_eq!(handles(&mut plugin), before);
    });
}

#[test]
fn rules_that_are_kept_in_a_new_table_are_undone_with_it() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let undo = plugin.apply(vec![Command::AddChain(regular("c")), kept("ab")]);
        for outcome in plugin.undo(undo.expect("kept")) {
            outcome.expect("undone");
        }
        assert_eq!(nft(&["list", "ruleset"], ""), "");
    });
}

/// Another transaction comes between what is read of a chain and what is done to it: the kernel refuses the second.
#[test]
fn rules_that_many_keep_at_once_come_once() {
    in_new_namespace(|| {
        let mut first = Plugin::new(Family::Inet);
        first
            .apply(vec![Command::AddChain(regular("c"))])
            .expect("a chain");
        let place = File::open("/proc/thread-self/ns/net").expect("the namespace");
        for _ in 0..20 {
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        setns(&place, CloneFlags::CLONE_NEWNET).expect("enter the namespace");
                        let mut plugin = Plugin::new(Family::Inet);
                        plugin.apply(vec![kept("abcd")]).expect("kept");
                    });
                }
            });
            assert_eq!(comments(&mut first), "abcd");
            first
                .apply(vec![Command::FlushChain(s("c"))])
                .expect("flushed");
        }
    });
}

#[test]
fn what_cannot_be_kept_is_reported() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let missing = plugin.apply(vec![kept("a")]).expect_err("no chain");
        assert_eq!(missing.code, Code::NotFound);
        assert!(missing.message.contains("keep 1 rules"), "{missing:?}");
        for (commands, expected) in [
            (vec![kept("aa")], "must have a comment"),
            (
                vec![Command::KeepRules(vec![rule("c", Vec::new(), Vec::new())])],
                "must have a comment",
            ),
            (
                vec![Command::FlushChain(s("c")), kept("a")],
                "kept before others are removed",
            ),
        ] {
            let commands = [Command::AddChain(regular("c"))]
                .into_iter()
                .chain(commands);
            let error = plugin.apply(commands.collect()).expect_err("refused");
            assert_eq!(error.code, Code::Invalid);
            assert!(error.message.contains(expected), "{error:?}");
        }
    });
}
