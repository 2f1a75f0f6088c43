//! Capability `firewall`.

use weir_grant::Namespace::Host;
use weir_grant::firewall::{
    Apply, BaseChain, Chain, ChainType, Command, DataType, Element, Elements, Family, Hook,
    ListChains, ListElements, ListRules, ListSets, Policy, Rule, Set, Statement, Value,
};

use crate::side::{Side, compare_kernels};

const TABLE: &str = "weir_test";

fn apply(side: &mut Side, commands: Vec<Command>) {
    side.perform(Apply::new(Host, Family::Inet, TABLE, commands));
    say_all(side);
}

fn say_all(side: &mut Side) {
    let (namespace, family) = (Host, Family::Inet);
    let table = || TABLE.to_owned();
    let chains = side.perform(ListChains {
        namespace,
        family,
        table: table(),
    });
    side.say(format!("{chains:?}"));
    for chain in chains.unwrap_or_default() {
        let chain = chain.name;
        let rules = side.perform(ListRules {
            namespace,
            family,
            table: table(),
            chain,
        });
        let comments = rules
            .unwrap_or_default()
            .into_iter()
            .map(|rule| rule.comment);
        let comments: Vec<_> = comments.collect();
        side.say(format!("{comments:?}"));
    }
    let sets = side.perform(ListSets {
        namespace,
        family,
        table: table(),
    });
    side.say(format!("{sets:?}"));
    for set in sets.unwrap_or_default() {
        let elements = side.perform(ListElements {
            namespace,
            family,
            table: table(),
            set,
        });
        let elements = elements.unwrap_or_default().into_iter();
        let mut elements: Vec<_> = elements.map(|element| format!("{element:?}")).collect();
        elements.sort();
        side.say(format!("{elements:?}"));
    }
}

fn chain(name: &str) -> Chain {
    Chain {
        name: name.to_owned(),
        base: None,
    }
}

fn base(name: &str, policy: Policy) -> Chain {
    Chain {
        base: Some(BaseChain {
            chain_type: ChainType::Filter,
            hook: Hook::Forward,
            priority: 0,
            policy,
            device: None,
        }),
        ..chain(name)
    }
}

fn rule(chain: &str, comment: &str, statement: Statement) -> Rule {
    Rule {
        chain: chain.to_owned(),
        statements: vec![statement],
        comment: Some(comment.to_owned()),
        ..Rule::default()
    }
}

fn set(name: &str) -> Set {
    Set {
        name: name.to_owned(),
        key: vec![DataType::Ipv4Address],
        data: Vec::new(),
        interval: false,
    }
}

fn elements(set: &str, last: &[u8]) -> Elements {
    let element = |last: &u8| Element {
        key: vec![Value::Address([10, 1, 0, *last].into())],
        comment: Some(format!("pod {last}")),
        ..Element::default()
    };
    Elements {
        set: set.to_owned(),
        elements: last.iter().map(element).collect(),
    }
}

#[test]
fn what_is_made_is_listed() {
    compare_kernels(|side| {
        let jump = Statement::Jump("pods".to_owned());
        apply(
            side,
            vec![
                Command::AddChain(base("forward", Policy::Accept)),
                Command::CreateChain(chain("pods")),
                Command::AppendRule(rule("forward", "b", jump)),
                Command::InsertRule(rule("forward", "a", Statement::Counter)),
                Command::AppendRule(rule("pods", "c", Statement::Return)),
                Command::AddSet(set("addresses")),
                Command::AddElements(elements("addresses", &[1, 2])),
            ],
        );
        let kept = ["a", "x", "b", "y"];
        let kept = kept.map(|comment| rule("forward", comment, Statement::Counter));
        apply(side, vec![Command::KeepRules(kept.to_vec())]);
        apply(side, vec![Command::AddChain(base("forward", Policy::Drop))]);
        apply(side, vec![Command::FlushChain("forward".to_owned())]);
        apply(side, vec![Command::DeleteChain("pods".to_owned())]);
    });
}

#[test]
fn a_transaction_is_done_as_a_whole_or_not_at_all() {
    compare_kernels(|side| {
        apply(
            side,
            vec![
                Command::AddChain(chain("one")),
                Command::AddSet(set("addresses")),
            ],
        );
        let one = || Command::AddChain(chain("two"));
        let refused = [
            Command::CreateChain(chain("one")),
            Command::DeleteChain("three".to_owned()),
            Command::FlushChain("three".to_owned()),
            Command::AppendRule(rule("three", "a", Statement::Counter)),
            Command::AppendRule(rule("one", "a", Statement::Jump("three".to_owned()))),
            Command::CreateSet(set("addresses")),
            Command::AddElements(elements("others", &[1])),
            Command::DeleteElements(elements("addresses", &[1])),
            Command::DeleteSet("others".to_owned()),
        ];
        for command in refused {
            apply(side, vec![one(), command]);
        }
    });
}

#[test]
fn elements_are_added_once() {
    compare_kernels(|side| {
        apply(side, vec![Command::AddSet(set("addresses"))]);
        apply(
            side,
            vec![Command::CreateElements(elements("addresses", &[1]))],
        );
        apply(
            side,
            vec![Command::AddElements(elements("addresses", &[1, 2]))],
        );
        apply(
            side,
            vec![Command::CreateElements(elements("addresses", &[3, 1]))],
        );
        apply(
            side,
            vec![Command::DeleteElements(elements("addresses", &[1]))],
        );
        apply(side, vec![Command::FlushSet("addresses".to_owned())]);
    });
}

#[test]
fn a_table_without_anything_to_delete() {
    compare_kernels(|side| {
        apply(side, vec![Command::DeleteTable]);
        apply(side, vec![Command::FlushSet("addresses".to_owned())]);
        apply(side, vec![Command::AddChain(chain("one"))]);
        apply(side, vec![Command::DeleteTable]);
    });
}
