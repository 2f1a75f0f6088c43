//! What is applied is what nft(8) would have made of the same words.

use super::*;

#[test]
fn masquerade_is_what_nft_would_make() {
    in_new_namespace(|| {
        let mut plugin = Plugin::masquerading();
        let expected = r#"table inet weir_bridge {
            map pods4 {
                type ipv4_addr : verdict
                elements = { 10.1.0.2 comment "container c, eth0" : jump net-a }
            }
            chain postrouting {
                type nat hook postrouting priority srcnat; policy accept;
                ip saddr vmap @pods4
            }
            chain net-a {
                ip daddr 10.1.0.0/16 return
                ip daddr 224.0.0.0/4 return
                masquerade comment "network a"
            }
        }"#;
        assert_ruleset(expected);
        plugin.apply(masquerade()).expect("again");
        assert_ruleset(expected);
    });
}

#[test]
fn every_condition_is_what_nft_would_make() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let number = |field, n| equals(field, Value::Number(n));
        let masked = |field, mask, value, negate| Condition::Masked {
            field,
            mask,
            value,
            negate,
        };
        let conditions = vec![
            vec![equals(Field::InputLinkName, name("eth0"))],
            vec![differs(Field::OutputLinkName, name("a-name-of-15-by"))],
            vec![number(Field::Mark, 0x2000)],
            vec![number(Field::NetworkProtocol, 10)],
            vec![number(Field::TransportProtocol, 17)],
            vec![equals(Field::Ipv4Source, address("10.0.0.1"))],
            vec![differs(Field::Ipv4Destination, address("10.0.0.2"))],
            vec![equals(Field::Ipv6Source, address("fd00::1"))],
            vec![within(Field::Ipv6Destination, "fd00::/9")],
            vec![Condition::Within {
                field: Field::Ipv4Source,
                network: "10.0.0.0/9".parse().expect("a network"),
                negate: true,
            }],
            vec![
                within(Field::Ipv4Source, "10.0.0.3/32"),
                within(Field::Ipv4Destination, "10.0.0.0/8"),
            ],
            vec![
                number(Field::TransportProtocol, 6),
                number(Field::SourcePort, 1024),
            ],
            vec![
                number(Field::TransportProtocol, 132),
                number(Field::DestinationPort, 80),
            ],
            vec![equals(Field::MacSource, mac(1))],
            vec![equals(Field::MacDestination, mac(2))],
            vec![number(Field::EtherType, 0x0800)],
            vec![masked(Field::ConnectionState, 6, 0, true)],
            vec![masked(Field::ConnectionStatus, 32, 0, true)],
            vec![number(Field::ConnectionMark, 7)],
            vec![masked(Field::Mark, 0xff, 0x12, false)],
            vec![number(Field::DestinationAddressType, 2)],
            vec![differs(Field::SourceAddressType, Value::Number(2))],
        ];
        let mut commands = vec![Command::CreateChain(base(
            "input",
            ChainType::Filter,
            Hook::Prerouting,
            0,
        ))];
        commands.extend(
            conditions
                .into_iter()
                .map(|c| append("input", c, vec![Statement::Accept])),
        );
        plugin.apply(commands).expect("apply");
        assert_ruleset(
            r#"table inet weir_bridge {
            chain input {
                type filter hook prerouting priority filter; policy accept;
                iifname "eth0" accept
                oifname != "a-name-of-15-by" accept
                meta mark 0x2000 accept
                meta nfproto ipv6 accept
                meta l4proto udp accept
                ip saddr 10.0.0.1 accept
                ip daddr != 10.0.0.2 accept
                ip6 saddr fd00::1 accept
                ip6 daddr fd00::/9 accept
                ip saddr != 10.0.0.0/9 accept
                ip saddr 10.0.0.3 ip daddr 10.0.0.0/8 accept
                tcp sport 1024 accept
                sctp dport 80 accept
                ether saddr 02:00:00:00:00:01 accept
                ether daddr 02:00:00:00:00:02 accept
                ether type ip accept
                ct state established,related accept
                ct status dnat accept
                ct mark 7 accept
                meta mark & 0xff == 0x12 accept
                fib daddr type local accept
                fib saddr type != local accept
            } }"#,
        );
    });
}

#[test]
fn every_statement_is_what_nft_would_make() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let fixed = |address: Option<&str>, port| Nat {
            target: NatTarget::Fixed {
                address: address.map(|a| a.parse().expect("an address")),
                port,
            },
            options: NO_OPTIONS,
        };
        let mapped = |fields: &[Field], map, with_port, ipv6| Nat {
            target: NatTarget::FromMap {
                lookup: lookup(fields, map),
                with_port,
                ipv6,
            },
            options: NO_OPTIONS,
        };
        let tcp = || equals(Field::TransportProtocol, Value::Number(6));
        let of_tcp = |nat| append("pre", vec![tcp()], vec![Statement::Dnat(nat)]);
        let protocol_and_port = [DataType::Protocol, DataType::Port];
        let port_fields = [Field::TransportProtocol, Field::DestinationPort];
        let random = NatOptions {
            random: true,
            fully_random: true,
            persistent: true,
        };
        let mark = |mask, value| MarkChange { mask, value };
        plugin
            .apply(vec![
                Command::CreateChain(base("pre", ChainType::Nat, Hook::Prerouting, -100)),
                Command::CreateChain(base("post", ChainType::Nat, Hook::Postrouting, 100)),
                Command::CreateChain(base("forwarding", ChainType::Filter, Hook::Forward, 0)),
                Command::CreateChain(base("raw", ChainType::Filter, Hook::Prerouting, -300)),
                Command::CreateChain(regular("other")),
                Command::CreateSet(set(
                    "m4",
                    &protocol_and_port,
                    &[DataType::Ipv4Address, DataType::Port],
                    false,
                )),
                Command::CreateSet(set(
                    "m6",
                    &[DataType::Port],
                    &[DataType::Ipv6Address],
                    false,
                )),
                Command::CreateSet(set(
                    "m6p",
                    &protocol_and_port,
                    &[DataType::Ipv6Address, DataType::Port],
                    false,
                )),
                Command::CreateElements(elements(
                    "m4",
                    vec![element(
                        vec![Value::Number(6), Value::Number(8080)],
                        ElementData::Values(vec![address("10.0.0.5"), Value::Number(80)]),
                    )],
                )),
                to_all(
                    "pre",
                    Statement::Dnat(mapped(&port_fields, "m4", true, false)),
                ),
                of_tcp(mapped(&[Field::DestinationPort], "m6", false, true)),
                to_all(
                    "pre",
                    Statement::Dnat(mapped(&port_fields, "m6p", true, true)),
                ),
                of_tcp(fixed(Some("10.0.0.9"), Some(53))),
                of_tcp(fixed(None, Some(54))),
                to_all("post", Statement::Snat(fixed(Some("fd00::9"), None))),
                to_all("post", Statement::Masquerade(random)),
                append(
                    "forwarding",
                    vec![],
                    vec![Statement::Counter, Statement::Jump(s("other"))],
                ),
                to_all("forwarding", Statement::Goto(s("other"))),
                append(
                    "forwarding",
                    vec![],
                    vec![Statement::SetMark(mark(0xff, 0x12)), Statement::Accept],
                ),
                to_all("forwarding", Statement::SetMark(mark(u32::MAX, 5))),
                to_all(
                    "forwarding",
                    Statement::SetConnectionMark(mark(0x2000, 0x2000)),
                ),
                append("forwarding", vec![tcp()], vec![Statement::Reject]),
                to_all("forwarding", Statement::Reject),
                to_all("raw", Statement::Notrack),
                to_all("raw", Statement::Drop),
                Command::InsertRule(rule("raw", vec![], vec![Statement::Return])),
            ])
            .expect("apply");
        assert_ruleset(
            r#"table inet weir_bridge {
            map m4 {
                type inet_proto . inet_service : ipv4_addr . inet_service
                elements = { tcp . 8080 : 10.0.0.5 . 80 }
            }
            map m6 { type inet_service : ipv6_addr; }
            map m6p { type inet_proto . inet_service : ipv6_addr . inet_service; }
            chain pre {
                type nat hook prerouting priority dstnat; policy accept;
                dnat ip to meta l4proto . th dport map @m4
                meta l4proto tcp dnat ip6 to tcp dport map @m6
                dnat ip6 to meta l4proto . th dport map @m6p
                meta l4proto tcp dnat ip to 10.0.0.9:53
                meta l4proto tcp dnat to :54
            }
            chain post {
                type nat hook postrouting priority srcnat; policy accept;
                snat ip6 to fd00::9
                masquerade random,fully-random,persistent
            }
            chain forwarding {
                type filter hook forward priority filter; policy accept;
                counter jump other
                goto other
                meta mark set meta mark & 0xffffff00 | 0x12 accept
                meta mark set 5
                ct mark set ct mark & 0xffffdfff | 0x2000
                meta l4proto tcp reject with tcp reset
                reject
            }
            chain raw {
                type filter hook prerouting priority raw; policy accept;
                return
                notrack
                drop
            }
            chain other { }
            }"#,
        );
    });
}

#[test]
fn sets_of_all_types_are_what_nft_would_make() {
    in_new_namespace(|| {
        use DataType::{Ipv4Address, Ipv6Address, LinkName, MacAddress, Mark, Port, Protocol};
        let mut plugin = Plugin::new(Family::Inet);
        let n = Value::Number;
        let of = |set: &str, list: Vec<Element>| Command::AddElements(elements(set, list));
        let plain = |key| element(key, ElementData::None);
        plugin
            .apply(vec![
                Command::AddSet(set("v4", &[Ipv4Address], &[], false)),
                Command::AddSet(set("v6", &[Ipv6Address], &[], false)),
                Command::AddSet(set("macs", &[MacAddress], &[], false)),
                Command::AddSet(set("links", &[LinkName], &[], false)),
                Command::AddSet(set("ports", &[Port], &[Mark], false)),
                Command::AddSet(set("protocols", &[Protocol], &[], false)),
                Command::AddSet(set("marks", &[Mark], &[DataType::Verdict], false)),
                Command::AddSet(set("allowed", &[LinkName, MacAddress], &[], false)),
                Command::AddSet(set("nets", &[Ipv4Address], &[], true)),
                Command::AddSet(set("nets6", &[Ipv6Address], &[], true)),
                Command::AddSet(set("ranges", &[Port], &[DataType::Verdict], true)),
                Command::AddSet(set("both", &[LinkName, Ipv4Address, Port], &[], true)),
                of("v4", vec![plain(vec![address("10.0.0.1")])]),
                of("v6", vec![plain(vec![address("fd00::1")])]),
                of("macs", vec![plain(vec![mac(1)])]),
                of("links", vec![plain(vec![name("eth0")])]),
                of(
                    "ports",
                    vec![element(vec![n(80)], ElementData::Values(vec![n(0x2000)]))],
                ),
                of("protocols", vec![plain(vec![n(6)])]),
                of(
                    "marks",
                    vec![element(vec![n(5)], ElementData::Verdict(Verdict::Drop))],
                ),
                of("allowed", vec![plain(vec![name("veth0"), mac(2)])]),
                of(
                    "nets",
                    vec![
                        range(vec![address("10.0.0.0")], vec![address("10.0.255.255")]),
                        range(vec![address("10.1.0.0")], vec![address("10.1.0.9")]),
                        plain(vec![address("11.0.0.1")]),
                        range(vec![address("255.0.0.0")], vec![address("255.255.255.255")]),
                    ],
                ),
                of(
                    "nets6",
                    vec![range(vec![address("fd00::")], vec![address("fd00::ffff")])],
                ),
                of(
                    "ranges",
                    vec![Element {
                        data: ElementData::Verdict(Verdict::Return),
                        comment: Some(s("low")),
                        ..range(vec![n(1)], vec![n(1023)])
                    }],
                ),
                of(
                    "both",
                    vec![range(
                        vec![name("eth0"), address("10.0.0.0"), n(80)],
                        vec![name("eth0"), address("10.0.0.255"), n(90)],
                    )],
                ),
            ])
            .expect("apply");
        assert_ruleset(
            r#"table inet weir_bridge {
            set v4 { type ipv4_addr; elements = { 10.0.0.1 } }
            set v6 { type ipv6_addr; elements = { fd00::1 } }
            set macs { type ether_addr; elements = { 02:00:00:00:00:01 } }
            set links { type ifname; elements = { "eth0" } }
            map ports { type inet_service : mark; elements = { 80 : 0x2000 } }
            set protocols { type inet_proto; elements = { tcp } }
            map marks { type mark : verdict; elements = { 0x5 : drop } }
            set allowed { type ifname . ether_addr; elements = { "veth0" . 02:00:00:00:00:02 } }
            set nets { type ipv4_addr; flags interval
                elements = { 10.0.0.0/16, 10.1.0.0-10.1.0.9, 11.0.0.1, 255.0.0.0/8 } }
            set nets6 { type ipv6_addr; flags interval; elements = { fd00::/112 } }
            map ranges { type inet_service : verdict; flags interval
                elements = { 1-1023 comment "low" : return } }
            set both { type ifname . ipv4_addr . inet_service; flags interval
                elements = { "eth0" . 10.0.0.0/24 . 80-90 } }
            }"#,
        );
        let key = vec![name("eth0"), address("10.0.0.7"), n(85)];
        let found = plugin
            .element("both", key)
            .expect("the set")
            .expect("the element");
        assert_eq!(
            found.key_end,
            Some(vec![name("eth0"), address("10.0.0.255"), n(90)])
        );
        let found = plugin
            .element("nets", vec![address("10.1.0.5")])
            .expect("the set");
        let second = range(vec![address("10.1.0.0")], vec![address("10.1.0.9")]);
        assert_eq!(found, Some(second.clone()));
        assert_eq!(
            plugin
                .element("nets", vec![address("10.1.0.10")])
                .expect("the set"),
            None
        );
        let last = range(vec![address("255.0.0.0")], vec![address("255.255.255.255")]);
        assert_eq!(
            plugin
                .element("nets", vec![address("255.1.0.0")])
                .expect("the set"),
            Some(last.clone())
        );
        let listed = plugin.elements("nets").expect("the set");
        let first = range(vec![address("10.0.0.0")], vec![address("10.0.255.255")]);
        assert_eq!(
            listed,
            [
                first.clone(),
                second,
                plain(vec![address("11.0.0.1")]),
                last
            ]
        );
        plugin
            .apply(vec![Command::DeleteElements(elements("nets", vec![first]))])
            .expect("delete");
        assert_eq!(plugin.elements("nets").expect("the set").len(), 3);
        let data = ElementData::Values(vec![n(0x2000)]);
        assert_eq!(
            plugin.element("ports", vec![n(80)]).expect("the map"),
            Some(element(vec![n(80)], data))
        );
        assert_eq!(
            plugin.elements("ranges").expect("the map")[0]
                .comment
                .as_deref(),
            Some("low")
        );
        assert_eq!(
            plugin.elements("allowed").expect("the set"),
            [plain(vec![name("veth0"), mac(2)])]
        );
    });
}

#[test]
fn other_families_are_what_nft_would_make() {
    in_new_namespace(|| {
        ip("link add dev0 type veth peer name dev1");
        let accept = || vec![Statement::Accept];
        let v4 = || vec![within(Field::Ipv4Source, "10.0.0.0/8")];
        let ingress = |name: &str, device: &str| Chain {
            name: s(name),
            base: Some(BaseChain {
                chain_type: ChainType::Filter,
                hook: Hook::Ingress,
                priority: -5,
                policy: Policy::Drop,
                device: Some(s(device)),
            }),
        };
        let filter = |hook| base("c", ChainType::Filter, hook, 0);
        let of = |family, commands| Plugin::new(family).apply(commands).expect("apply");
        of(
            Family::Ip,
            vec![
                Command::AddChain(filter(Hook::Input)),
                append("c", v4(), accept()),
                to_all("c", Statement::Reject),
            ],
        );
        of(
            Family::Ip6,
            vec![
                Command::AddChain(filter(Hook::Output)),
                append("c", vec![within(Field::Ipv6Source, "fd00::/8")], accept()),
                to_all("c", Statement::Reject),
            ],
        );
        of(Family::Inet, vec![Command::AddChain(ingress("c", "dev1"))]);
        of(
            Family::Arp,
            vec![
                Command::AddChain(filter(Hook::Output)),
                append("c", vec![], accept()),
            ],
        );
        of(
            Family::Bridge,
            vec![
                Command::AddChain(filter(Hook::Forward)),
                append("c", v4(), accept()),
                append("c", vec![equals(Field::MacSource, mac(1))], accept()),
            ],
        );
        of(
            Family::Netdev,
            vec![
                Command::AddChain(ingress("c", "dev0")),
                append("c", v4(), accept()),
            ],
        );
        let chain = Plugin::new(Family::Netdev).chains();
        assert_eq!(chain, [ingress("c", "dev0")]);
        let found = ruleset();
        nft(&["flush", "ruleset"], "");
        load(
            r#"
            table ip weir_bridge { chain c { type filter hook input priority 0; policy accept;
                ip saddr 10.0.0.0/8 accept
                reject
            } }
            table ip6 weir_bridge { chain c { type filter hook output priority 0; policy accept;
                ip6 saddr fd00::/8 accept
                reject
            } }
            table inet weir_bridge { chain c { type filter hook ingress device dev1 priority -5; policy drop; } }
            table arp weir_bridge { chain c { type filter hook output priority 0; policy accept; accept
 } }
            table bridge weir_bridge { chain c { type filter hook forward priority 0; policy accept;
                ip saddr 10.0.0.0/8 accept
                ether saddr 02:00:00:00:00:01 accept
            } }
            table netdev weir_bridge { chain c { type filter hook ingress device dev0 priority -5; policy drop;
                ip saddr 10.0.0.0/8 accept
            } }"#,
        );
        assert_eq!(found, ruleset());
    });
}
