//! Transactions: what they list, take away and undo, and what a large one costs.

use super::*;

#[test]
fn rules_are_listed_and_deleted_by_handle() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        let rules = plugin.rules("net-a").expect("rules");
        let comments: Vec<_> = rules.iter().map(|rule| rule.comment.as_deref()).collect();
        assert_eq!(comments, [None, None, Some("network a")]);
        let handle = rules[2].handle.expect("a handle");
        let rule = RuleHandle {
            chain: s("net-a"),
            handle,
        };
        plugin
            .apply(vec![Command::DeleteRule(rule.clone())])
            .expect("delete");
        assert_eq!(plugin.rules("net-a").expect("rules").len(), 2);
        assert_code(
            plugin.apply(vec![Command::DeleteRule(rule)]),
            Code::NotFound,
            &["delete rule"],
        );
        let found = plugin.chains();
        let expected = [
            base("postrouting", ChainType::Nat, Hook::Postrouting, 100),
            regular("net-a"),
        ];
        assert_eq!(found, expected);
        load("table inet somebody { chain elses { } }");
        assert_eq!(plugin.chains(), expected, "only the plugin's own");
    });
}

#[test]
fn deleting_takes_everything_away() {
    in_new_namespace(|| {
        let mut plugin = Plugin::masquerading();
        plugin
            .apply(vec![
                Command::FlushSet(s("pods4")),
                Command::FlushChain(s("postrouting")),
                Command::DeleteSet(s("pods4")),
                Command::DeleteChain(s("net-a")),
                Command::DeleteChain(s("postrouting")),
            ])
            .expect("delete");
        assert_ruleset("table inet weir_bridge { }");
        plugin
            .apply(vec![
                Command::DeleteTable,
                Command::AddChain(regular("new")),
            ])
            .expect("replace");
        assert_ruleset("table inet weir_bridge { chain new { } }");
        plugin.apply(vec![Command::DeleteTable]).expect("delete");
        assert_eq!(ruleset()["nftables"], Json::Array(vec![]));
        plugin.apply(vec![]).expect("no commands, and no error");
        assert_eq!(ruleset()["nftables"], Json::Array(vec![]));
    });
}

#[test]
fn undo_leaves_a_fresh_host_as_it_was() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let mut commands = masquerade();
        commands.push(Command::AddElements(pod("10.1.0.2")));
        let undo = plugin.apply(commands).expect("apply");
        for outcome in plugin.undo(undo) {
            outcome.expect("undo");
        }
        assert_eq!(ruleset()["nftables"], Json::Array(vec![]));
    });
}

#[test]
fn undo_leaves_what_others_share() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let first = plugin.apply(masquerade()).expect("apply");
        let mine = plugin.add_pod();
        let mut commands = masquerade();
        commands.push(Command::CreateElements(pod("10.1.0.3")));
        plugin.apply(commands).expect("another's");
        let before = plugin.rules("net-a").expect("rules");
        for outcome in plugin.undo(mine) {
            outcome.expect("undo");
        }
        assert_eq!(
            plugin.elements("pods4").expect("pods"),
            pod("10.1.0.3").elements
        );
        let outcomes = plugin.undo(first);
        assert!(!outcomes.is_empty());
        for outcome in outcomes {
            let code = outcome.expect_err("others use it").code;
            assert!(matches!(code, Code::Busy | Code::NotFound), "{code:?}");
        }
        assert_eq!(plugin.rules("net-a").expect("rules"), before);

        let extra = plugin.apply(vec![
            append("net-a", vec![], vec![Statement::Counter]),
            Command::CreateChain(regular("extra")),
            append("extra", vec![], vec![Statement::Counter]),
            Command::CreateSet(set("extra", &[DataType::Mark], &[], false)),
        ]);
        for outcome in plugin.undo(extra.expect("apply")) {
            outcome.expect("undo");
        }
        assert_eq!(plugin.rules("net-a").expect("rules"), before);
        assert_eq!(plugin.chains().len(), 2);
        assert_code(plugin.elements("extra"), Code::NotFound, &[]);
    });
}

#[test]
fn a_transaction_of_thousands_of_elements_is_one() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let all: Vec<_> = (0..20_000_u32)
            .map(|n| {
                element(
                    vec![Value::Address(Ipv4Addr::from(0x0a00_0000 + n).into())],
                    jump("net-a"),
                )
            })
            .collect();
        let mut commands = masquerade();
        commands.push(Command::CreateElements(elements("pods4", all.clone())));
        plugin.apply(commands).expect("apply");
        assert_eq!(plugin.elements("pods4").expect("pods").len(), all.len());
        let mut more = vec![
            element(vec![address("11.0.0.1")], jump("net-a")),
            all[7].clone(),
        ];
        more.extend(all);
        let again = vec![Command::CreateElements(elements("pods4", more))];
        assert_code(plugin.apply(again), Code::Exists, &["20002 elements"]);
        assert_eq!(
            plugin
                .element("pods4", vec![address("11.0.0.1")])
                .expect("the map"),
            None
        );
    });
}

#[test]
fn a_list_of_thousands_is_read_whole_by_its_owner_only() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        let rules = (0..150).map(|n| {
            Command::AppendRule(Rule {
                comment: Some(format!("{n} {}", "x".repeat(120))),
                ..rule(
                    "net-a",
                    vec![within(Field::Ipv4Source, "10.0.0.0/9")],
                    vec![Statement::Counter],
                )
            })
        });
        let undo = plugin.apply(rules.collect()).expect("many rules");
        assert_eq!(undo.len(), 150, "each handle is known");
        assert_eq!(plugin.rules("net-a").expect("rules").len(), 153);
        for outcome in plugin.undo(undo) {
            outcome.expect("undo");
        }
        assert_eq!(plugin.rules("net-a").expect("rules").len(), 3);
        let too_many = (0..1000).map(|_| {
            append(
                "net-a",
                vec![within(Field::Ipv4Source, "10.0.0.0/9")],
                vec![],
            )
        });
        assert_code(
            plugin.apply(too_many.collect()),
            Code::Invalid,
            &["too many rules"],
        );
    });
}

/// What one element costs, in microseconds: the middle of many.
fn cost_of_an_element(plugin: &mut Plugin, of: &Elements) -> u128 {
    let key = &of.elements[0].key;
    let mut costs: Vec<_> = (0..101)
        .map(|_| {
            let start = std::time::Instant::now();
            plugin
                .apply(vec![Command::CreateElements(of.clone())])
                .expect("create");
            let found = plugin.element(&of.set, key.clone()).expect("the set");
            let took = start.elapsed();
            assert!(found.is_some());
            plugin
                .apply(vec![Command::DeleteElements(of.clone())])
                .expect("delete");
            took.as_micros()
        })
        .collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}

/// Of elements without a jump. One with a jump makes the kernel look for circles through all
/// elements of the map (`nft_table_validate`): 0.1 µs each.
#[test]
fn the_cost_of_an_element_does_not_grow_with_the_elements() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let mut commands = masquerade();
        commands.push(Command::AddSet(set(
            "members",
            &[DataType::Ipv4Address],
            &[],
            false,
        )));
        let members = in_set(&[Field::Ipv4Source], "members", false);
        commands.push(append(
            "postrouting",
            vec![members],
            vec![Statement::Jump(s("net-a"))],
        ));
        plugin.apply(commands).expect("apply");
        let plain = |n: u32| {
            element(
                vec![Value::Address(Ipv4Addr::from(n).into())],
                ElementData::None,
            )
        };
        let one = elements("members", vec![plain(0x0ac8_0001)]);
        let alone = cost_of_an_element(&mut plugin, &one);
        let others = (0..60_000).map(|n| plain(0x0a00_0000 + n)).collect();
        plugin
            .apply(vec![Command::CreateElements(elements("members", others))])
            .expect("many");
        let among_many = cost_of_an_element(&mut plugin, &one);
        println!("alone {alone} µs, among 60000 {among_many} µs");
        assert!(
            among_many < 5 * alone + 200,
            "alone {alone} µs, among many {among_many} µs"
        );
    });
}

#[test]
fn a_socket_that_is_kept_for_the_next_invocation_is_of_its_namespace() {
    in_new_namespace(|| {
        let apply = || {
            let mut plugin = Plugin::new(Family::Inet);
            let added = plugin.apply(vec![Command::AddChain(regular("c"))]);
            added.expect("a chain");
        };
        apply();
        fresh_namespace().expect("another network namespace");
        assert_eq!(ruleset()["nftables"], Json::Array(vec![]));
        apply();
        assert_ne!(ruleset()["nftables"], Json::Array(vec![]));
    });
}
