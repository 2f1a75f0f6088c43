//! What an operation on a table needs, and which rules allow it.

use super::super::Capabilities;
use super::super::invocation::Invocation;
use super::super::operation::{Decision, decide};
use super::*;

const MASQUERADE: &str = r#"{"firewall": [{
    "namespace": "host", "families": ["inet"], "verbs": ["read", "write"],
    "hooks": ["postrouting"], "statements": ["verdict-map", "jump", "return", "masquerade"]
}]}"#;

fn capabilities(json: &str) -> Capabilities {
    serde_json::from_str(json).expect("a grant")
}

fn apply(commands: Vec<Command>) -> Apply {
    Apply::new(Namespace::Host, Family::Inet, "weir_bridge", commands)
}

fn base(hook: Hook, policy: Policy) -> Command {
    Command::AddChain(Chain {
        name: "c".to_owned(),
        base: Some(BaseChain {
            chain_type: ChainType::Nat,
            hook,
            priority: 100,
            policy,
            device: None,
        }),
    })
}

fn rule(statements: Vec<Statement>) -> Command {
    Command::AppendRule(Rule {
        chain: "c".to_owned(),
        statements,
        ..Rule::default()
    })
}

fn element(verdict: Verdict) -> Command {
    Command::CreateElements(Elements {
        set: "m".to_owned(),
        elements: vec![Element {
            key: vec![Value::Address([10, 0, 0, 1].into())],
            data: ElementData::Verdict(verdict),
            ..Element::default()
        }],
    })
}

fn decision<O: Operation>(grant: &str, operation: &O) -> Decision {
    decide(&capabilities(grant), &Invocation::default(), operation)
}

fn denied(requirement: &str, closest: Option<&str>) -> Decision {
    Decision::Denied {
        requirement: requirement.to_owned(),
        closest: closest.map(Into::into),
    }
}

/// What is denied because a rule allows everything but `drop`.
fn needs_drop(act: &str) -> String {
    let table = "nftables table `inet weir_bridge` in host";
    format!("{act}, in {table}, which needs a rule to write `drop` on hook postrouting to {table}")
}

fn allowed() -> Decision {
    Decision::Allowed {
        rules: vec!["firewall[0]".to_owned()],
    }
}

#[test]
fn what_is_listed_is_allowed() {
    let commands = vec![
        base(Hook::Postrouting, Policy::Accept),
        rule(vec![Statement::Return]),
        rule(vec![Statement::Masquerade(NatOptions::default())]),
        element(Verdict::Jump("net".to_owned())),
    ];
    assert_eq!(decision(MASQUERADE, &apply(commands)), allowed());
}

#[test]
fn without_a_rule_nothing_is_allowed() {
    let expected = denied("write nftables table `inet weir_bridge` in host", None);
    assert_eq!(decision("{}", &apply(Vec::new())), expected);
}

#[test]
fn a_hook_that_is_not_listed_is_denied() {
    let operation = apply(vec![base(Hook::Input, Policy::Accept)]);
    let requirement = "add chain `c` on hook input, in nftables table `inet weir_bridge` in host, which needs a rule to \
        write a chain on hook input to nftables table `inet weir_bridge` in host";
    let expected = denied(requirement, Some("firewall[0]: hooks"));
    assert_eq!(decision(MASQUERADE, &operation), expected);
}

#[test]
fn every_statement_of_a_rule_counts() {
    let operation = apply(vec![rule(vec![Statement::Counter, Statement::Return])]);
    let requirement = "count every packet in chain `c` and leave them to the calling chain, in nftables table \
        `inet weir_bridge` in host, which needs a rule to write `counter` on hook postrouting to nftables table \
        `inet weir_bridge` in host";
    let expected = denied(requirement, Some("firewall[0]: statements"));
    assert_eq!(decision(MASQUERADE, &operation), expected);
}

#[test]
fn rules_that_are_kept_say_what_they_say() {
    let kept = |statement| {
        let Command::AppendRule(rule) = rule(vec![statement]) else {
            unreachable!()
        };
        apply(vec![Command::KeepRules(vec![Rule::default(), rule])])
    };
    assert_eq!(decision(MASQUERADE, &kept(Statement::Return)), allowed());
    let act = "drop every packet in chain `c` and match every packet in chain ``";
    let expected = denied(&needs_drop(act), Some("firewall[0]: statements"));
    assert_eq!(decision(MASQUERADE, &kept(Statement::Drop)), expected);
    // And translate what they translate.
    let to = Nat {
        target: NatTarget::Fixed {
            address: Some([10, 0, 0, 1].into()),
            port: None,
        },
        options: NatOptions::default(),
    };
    assert_eq!(kept(Statement::Dnat(to)).translated(), [None]);
    assert!(!kept(Statement::Return).removes_shared());
}

#[test]
fn a_verdict_in_a_map_counts_as_its_statement() {
    let act = "put 10.0.0.1 to drop into `m`";
    let expected = denied(&needs_drop(act), Some("firewall[0]: statements"));
    assert_eq!(
        decision(MASQUERADE, &apply(vec![element(Verdict::Drop)])),
        expected
    );
}

#[test]
fn the_policy_drop_counts_as_the_statement() {
    let operation = apply(vec![base(Hook::Postrouting, Policy::Drop)]);
    let act = "drop every packet on hook postrouting that no rule of chain `c` accepts";
    let expected = denied(&needs_drop(act), Some("firewall[0]: statements"));
    assert_eq!(decision(MASQUERADE, &operation), expected);
}

/// Each rule is a permission of its own: `drop` on `postrouting` is none on `input`.
const TWO: &str = r#"{"firewall": [
    { "namespace": "host", "hooks": ["input"], "statements": ["accept", "jump"] },
    { "namespace": "host", "hooks": ["postrouting"], "statements": ["accept", "drop"] }
]}"#;

fn chain(name: &str) -> Command {
    Command::AddChain(Chain {
        name: name.to_owned(),
        base: None,
    })
}

#[test]
fn a_statement_is_allowed_on_the_hooks_of_its_rule() {
    let drops = || rule(vec![Statement::Drop]);
    let on = |hook| base(hook, Policy::Accept);
    for (commands, is_allowed) in [
        (vec![on(Hook::Postrouting), drops()], true),
        (vec![base(Hook::Postrouting, Policy::Drop)], true),
        (vec![on(Hook::Input), drops()], false),
        (vec![base(Hook::Input, Policy::Drop)], false),
        // A chain that is there already may be one on `input`.
        (vec![drops()], false),
        (vec![chain("c"), drops()], false),
        (
            vec![
                on(Hook::Postrouting),
                Command::DeleteChain("c".to_owned()),
                drops(),
            ],
            false,
        ),
        (
            vec![on(Hook::Postrouting), Command::DeleteTable, drops()],
            false,
        ),
        (vec![on(Hook::Postrouting), on(Hook::Input), drops()], false),
        (vec![drops(), on(Hook::Postrouting)], false),
        // A map may be looked up from there.
        (vec![element(Verdict::Drop)], false),
        // What both may say, every chain may.
        (vec![rule(vec![Statement::Accept])], true),
        (vec![element(Verdict::Accept)], true),
        (
            vec![on(Hook::Input), rule(vec![Statement::Jump("d".to_owned())])],
            true,
        ),
        (
            vec![
                on(Hook::Postrouting),
                rule(vec![Statement::Jump("d".to_owned())]),
            ],
            false,
        ),
    ] {
        let decision = decision(TWO, &apply(commands.clone()));
        let allowed = matches!(decision, Decision::Allowed { .. });
        assert_eq!(allowed, is_allowed, "{commands:?}: {decision:?}");
    }
}

#[test]
fn another_namespace_or_family_is_denied() {
    let mut operation = apply(Vec::new());
    operation.namespace = Namespace::Container;
    let requirement = "write nftables table `inet weir_bridge` in container";
    let expected = denied(requirement, Some("firewall[0]: namespace"));
    assert_eq!(decision(MASQUERADE, &operation), expected);

    let mut operation = apply(Vec::new());
    operation.family = Family::Bridge;
    let requirement = "write nftables table `bridge weir_bridge` in host";
    let expected = denied(requirement, Some("firewall[0]: families"));
    assert_eq!(decision(MASQUERADE, &operation), expected);
}

#[test]
fn reading_needs_its_verb() {
    let operation = ListChains {
        namespace: Namespace::Host,
        family: Family::Inet,
        table: "weir_bridge".to_owned(),
    };
    assert_eq!(decision(MASQUERADE, &operation), allowed());
    let write_only = r#"{"firewall": [{"verbs": ["write"]}]}"#;
    let requirement = "read nftables table `inet weir_bridge` in host";
    let expected = denied(requirement, Some("firewall[0]: verbs"));
    assert_eq!(decision(write_only, &operation), expected);
}

#[test]
fn the_audit_log_stays_compact() {
    let json = serde_json::to_string(&apply(vec![element(Verdict::Jump("net".to_owned()))]));
    assert_eq!(
        json.expect("JSON"),
        r#"{"namespace":"host","family":"inet","table":"weir_bridge","commands":[{"create-elements":{"set":"m","elements":[{"key":["10.0.0.1"],"data":{"verdict":{"jump":"net"}}}]}}]}"#
    );
}
