//! What is not done, and why: the kernel's reasons, impossible commands, and the grant.

use weir_grant::Capabilities;

use super::*;

#[test]
fn errors_name_the_command_and_nothing_is_done() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let chain = || Command::CreateChain(regular("c"));
        assert_code(
            plugin.apply(vec![Command::DeleteTable]),
            Code::NotFound,
            &["delete the table"],
        );
        let twice = vec![chain(), chain()];
        assert_code(
            plugin.apply(twice),
            Code::Exists,
            &["command 2, create chain `c`"],
        );
        assert_eq!(
            ruleset()["nftables"],
            Json::Array(vec![]),
            "nothing is done"
        );

        plugin.apply(vec![chain()]).expect("a chain");
        let to_nowhere = append("c", vec![], vec![Statement::Jump(s("nowhere"))]);
        assert_code(
            plugin.apply(vec![to_nowhere]),
            Code::NotFound,
            &["command 1, append a rule to chain `c`", "chain"],
        );
        let no_set = append("c", vec![in_set(&[Field::Mark], "nothing", false)], vec![]);
        assert_code(plugin.apply(vec![no_set]), Code::NotFound, &["set or map"]);
        let not_here = append("c", vec![], vec![Statement::Masquerade(NO_OPTIONS)]);
        let outside = vec![
            Command::AddChain(base("i", ChainType::Filter, Hook::Input, 0)),
            append("i", vec![], vec![Statement::Masquerade(NO_OPTIONS)]),
        ];
        plugin
            .apply(vec![not_here])
            .expect("a regular chain takes any statement");
        assert_code(
            plugin.apply(outside),
            Code::Unsupported,
            &["command 2", "hook"],
        );
        assert_code(
            plugin.apply(vec![append("no", vec![], vec![])]),
            Code::NotFound,
            &["chain `no`"],
        );

        plugin.apply(masquerade()).expect("chains");
        plugin.add_pod();
        let again = Command::CreateElements(pod("10.1.0.2"));
        assert_code(
            plugin.apply(vec![again]),
            Code::Exists,
            &["element 10.1.0.2", "pods4"],
        );
        plugin
            .apply(vec![Command::AddElements(pod("10.1.0.2"))])
            .expect("add is idempotent");
        let other = element(
            vec![address("10.1.0.2")],
            ElementData::Verdict(Verdict::Drop),
        );
        let other = Command::AddElements(elements("pods4", vec![other]));
        assert_code(plugin.apply(vec![other]), Code::Exists, &["other data"]);
        let gone = Command::DeleteElements(pod("10.1.0.9"));
        assert_code(
            plugin.apply(vec![gone]),
            Code::NotFound,
            &["delete element 10.1.0.9"],
        );
        let into_nothing = Command::AddElements(elements("no", vec![]));
        assert_code(plugin.apply(vec![into_nothing]), Code::NotFound, &["`no`"]);
        assert_code(
            plugin.apply(vec![Command::DeleteChain(s("net-a"))]),
            Code::Busy,
            &["delete chain `net-a`"],
        );
        assert_code(
            plugin.apply(vec![Command::DeleteSet(s("pods4"))]),
            Code::Busy,
            &["delete set `pods4`"],
        );
        let other_kind = Command::AddChain(base("postrouting", ChainType::Filter, Hook::Input, 0));
        assert_code(
            plugin.apply(vec![other_kind]),
            Code::Exists,
            &["another kind"],
        );

        assert_code(plugin.rules("no"), Code::NotFound, &["chain `no`"]);
        assert_code(plugin.elements("no"), Code::NotFound, &["`no`"]);
        assert_code(plugin.element("no", vec![]), Code::NotFound, &["`no`"]);
        assert_eq!(
            plugin
                .element("pods4", vec![address("10.9.9.9")])
                .expect("the map"),
            None
        );
        assert_code(
            plugin.element("pods4", vec![name("x")]),
            Code::Invalid,
            &["IPv4 address"],
        );
        assert!(Plugin::new(Family::Ip).chains().is_empty());
    });
}

#[test]
fn impossible_commands_are_invalid() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let chain = |name: &str| Command::AddChain(regular(name));
        let with = |condition| append("c", vec![condition], vec![]);
        let says = |statements| append("c", vec![], statements);
        let two_versions = append(
            "c",
            vec![
                equals(Field::Ipv4Source, address("10.0.0.1")),
                equals(Field::Ipv6Source, address("fd00::1")),
            ],
            vec![],
        );
        let comment = |text: &str| {
            Command::AppendRule(Rule {
                comment: Some(s(text)),
                ..rule("c", vec![], vec![])
            })
        };
        let nothing = Nat {
            target: NatTarget::Fixed {
                address: None,
                port: None,
            },
            options: NO_OPTIONS,
        };
        let many = (0..60)
            .map(|n| equals(Field::Mark, Value::Number(n)))
            .collect();
        let invalid = vec![
            chain(""),
            chain("a b"),
            chain("a\"b"),
            chain(&"x".repeat(256)),
            with(equals(Field::Mark, name("x"))),
            with(equals(Field::DestinationPort, Value::Number(65536))),
            with(equals(Field::InputLinkName, name("a-name-of-16-byt"))),
            with(equals(Field::InputLinkName, name(""))),
            with(equals(Field::MacSource, Value::Mac(Mac(vec![1; 20])))),
            with(within(Field::Ipv4Source, "fd00::/8")),
            with(within(Field::Mark, "10.0.0.0/8")),
            with(Condition::Masked {
                field: Field::SourcePort,
                mask: 1,
                value: 1,
                negate: false,
            }),
            with(in_set(&[], "x", false)),
            with(in_set(&[Field::Ipv6Source; 5], "x", false)),
            two_versions,
            says(vec![Statement::Accept, Statement::Counter]),
            says(vec![Statement::Snat(nothing)]),
            comment("a\nb"),
            comment("say \"hi\""),
            comment(&"x".repeat(129)),
            append("c", many, vec![]),
            Command::AddSet(set("x", &[], &[], false)),
            Command::AddSet(set("x", &[DataType::Verdict], &[], false)),
            Command::AddSet(set(
                "x",
                &[DataType::Mark],
                &[DataType::Verdict, DataType::Mark],
                false,
            )),
            Command::AddSet(set("x", &[DataType::LinkName; 5], &[], false)),
            Command::AddChain(base("x", ChainType::Filter, Hook::Egress, 0)),
            Command::AddChain(base("x", ChainType::Filter, Hook::Ingress, 0)),
        ];
        for command in invalid {
            assert_code(plugin.apply(vec![command]), Code::Invalid, &["command 1"]);
        }
        let marks = Command::AddSet(set("x", &[DataType::Mark], &[], true));
        assert_code(plugin.apply(vec![marks]), Code::Unsupported, &["`mark`"]);
        assert_eq!(
            ruleset()["nftables"],
            Json::Array(vec![]),
            "nothing is done"
        );
    });
}

#[test]
fn what_the_grant_does_not_say_is_denied() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let grant = FirewallRule {
            statements: Some(vec![StatementKind::Accept]),
            ..FirewallRule::default()
        };
        let capabilities = Capabilities {
            firewall: vec![grant],
            ..Capabilities::default()
        };
        plugin.gate = gate::granting(capabilities);
        let denied = plugin.apply(vec![
            Command::AddChain(regular("c")),
            append("c", vec![], vec![Statement::Drop]),
        ]);
        assert_code(denied, Code::Denied, &["`drop`"]);
        assert_eq!(
            ruleset()["nftables"],
            Json::Array(vec![]),
            "nothing is done"
        );
    });
}
