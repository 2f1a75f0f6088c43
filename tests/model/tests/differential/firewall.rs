//! Capability `firewall`.

use weir_grant::Namespace::Host;
use weir_grant::firewall::{
    Apply, BaseChain, Chain, ChainType, Command, Condition, DataType, Element, Elements, Family,
    Field, Hook, ListChains, ListElements, ListRules, ListSets, Policy, RemoveReference, Rule, Set,
    Statement, Value,
};
use weir_kernel::firewall::masquerade_chain;

use crate::side::{Side, compare_kernels};

const TABLE: &str = "weir_test";

fn apply(side: &mut Side, commands: Vec<Command>) {
    apply_to(side, (Family::Inet, TABLE), commands);
}

fn apply_to(side: &mut Side, (family, table): (Family, &str), commands: Vec<Command>) {
    side.perform(Apply::new(Host, family, table, commands));
    say_all(side, (family, table));
}

/// Notes what is in a table.
fn say_all(side: &mut Side, (family, table): (Family, &str)) {
    let namespace = Host;
    let table = || table.to_owned();
    let chains = side.answer(ListChains {
        namespace,
        family,
        table: table(),
    });
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
    let sets = side.answer(ListSets {
        namespace,
        family,
        table: table(),
    });
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

fn remove_reference(plugin: &str, addresses: &[&str]) -> RemoveReference {
    let addresses = addresses.iter().map(|text| text.parse());
    RemoveReference {
        plugin: plugin.to_owned(),
        network: "net".to_owned(),
        container_id: "one".to_owned(),
        ifname: "eth0".to_owned(),
        addresses: addresses.collect::<Result<_, _>>().expect("addresses"),
    }
}

/// Notes how many rules and chains a plugin of the reference set has left, and removes them.
fn take_over(side: &mut Side, sought: RemoveReference, tables: &[(Family, &str)]) {
    side.answer(sought);
    for table in tables {
        say_all(side, *table);
    }
}

fn jump(from: &str, to: &str, comment: &str) -> Command {
    Command::AppendRule(rule(from, comment, Statement::Jump(to.to_owned())))
}

#[test]
fn the_chains_of_the_reference_are_removed() {
    let own = masquerade_chain("net", "one");
    let other = masquerade_chain("net", "two");
    let said = compare_kernels(|side| {
        let tables = [
            (Family::Ip, "nat"),
            (Family::Ip6, "nat"),
            (Family::Inet, TABLE),
        ];
        for table in tables {
            let mut commands: Vec<Command> = ["POSTROUTING", &own, &other, "MINE"]
                .map(|name| Command::AddChain(chain(name)))
                .into();
            commands.extend([
                jump("POSTROUTING", &own, "own"),
                jump("POSTROUTING", &other, "another's"),
                Command::AppendRule(rule(&own, "in it", Statement::Counter)),
            ]);
            apply_to(side, table, commands);
        }
        take_over(side, remove_reference("bridge", &[]), &tables);
        take_over(side, remove_reference("bridge", &[]), &tables);
        take_over(side, remove_reference("loopback", &[]), &[]);
        // Somebody else leads packets there.
        let again = vec![
            Command::AddChain(chain(&own)),
            jump("MINE", &own, "an administrator's"),
        ];
        apply_to(side, tables[0], again);
        take_over(side, remove_reference("ptp", &[]), &tables);
    });
    assert!(said.contains(&"Some(4)".to_owned()), "{said:?}");
}

#[test]
fn what_the_reference_accepts_is_removed() {
    let accept = |conditions: Vec<Condition>, comment: &str, last: Statement| {
        let mut accept = rule("CNI-FORWARD", comment, Statement::Counter);
        accept.conditions = conditions;
        accept.statements.push(last);
        Command::AppendRule(accept)
    };
    let is = |field, address: &str| Condition::Equals {
        field,
        value: Value::Address(address.parse().expect("an address")),
        negate: false,
    };
    let is_reply = || Condition::Masked {
        field: Field::ConnectionState,
        mask: 6,
        value: 0,
        negate: true,
    };
    let said = compare_kernels(|side| {
        let tables = [(Family::Ip, "filter"), (Family::Ip6, "filter")];
        for (table, own, other, from, to) in [
            (
                tables[0],
                "10.1.0.2",
                "10.1.0.3",
                Field::Ipv4Source,
                Field::Ipv4Destination,
            ),
            (
                tables[1],
                "fd00::2",
                "fd00::3",
                Field::Ipv6Source,
                Field::Ipv6Destination,
            ),
        ] {
            let accepted = Statement::Accept;
            let commands = vec![
                Command::AddChain(chain("CNI-FORWARD")),
                accept(vec![is(from, own)], "own", accepted.clone()),
                accept(vec![is(to, own), is_reply()], "replies", accepted.clone()),
                accept(vec![is(to, own)], "all to it", accepted.clone()),
                accept(
                    vec![is(from, own), is_reply()],
                    "replies of it",
                    accepted.clone(),
                ),
                accept(vec![is(from, other)], "another's", accepted.clone()),
                accept(vec![is(from, own)], "dropped", Statement::Drop),
                accept(vec![], "everything", accepted),
            ];
            apply_to(side, table, commands);
        }
        take_over(side, remove_reference("firewall", &[]), &tables);
        let addresses = ["10.1.0.2", "fd00::2"];
        take_over(side, remove_reference("firewall", &addresses), &tables);
    });
    assert!(said.contains(&"Some(4)".to_owned()), "{said:?}");
}

#[test]
fn rules_with_a_comment_of_the_reference_are_removed() {
    let said = compare_kernels(|side| {
        let tables = [(Family::Ip, "cni_hostport"), (Family::Ip6, "cni_hostport")];
        for table in tables {
            let mut commands = Vec::new();
            for name in ["hostports", "masquerading", "others"] {
                commands.push(Command::AddChain(chain(name)));
                for comment in ["one", "two", "one and more"] {
                    commands.push(Command::AppendRule(rule(name, comment, Statement::Counter)));
                }
            }
            apply_to(side, table, commands);
        }
        take_over(side, remove_reference("bridge", &[]), &tables);
        take_over(side, remove_reference("portmap", &[]), &tables);
    });
    assert!(said.contains(&"Some(4)".to_owned()), "{said:?}");
}
