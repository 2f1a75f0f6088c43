//! Who may do something, and who may change the host.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Grant, Node, assert_contains};

use super::{PLUGIN, node};

const DOWN: [&str; 5] = ["grants", "who", "link.update", "namespace=host", "up=false"];

/// `plugin rule onlyIf` of each rule of each plugin.
fn rows(may: &Value) -> Vec<String> {
    let all = may.as_array().expect("a list").iter();
    let rows = all.flat_map(|one| {
        let plugin = one["plugin"].as_str().expect("a name");
        let needs = one["needs"].as_array().expect("a list").iter();
        let rules = needs.flat_map(|need| need["rules"].as_array().expect("a list"));
        let rules: Vec<String> = rules
            .map(|rule| {
                let name = rule["name"].as_str().expect("a name");
                format!("{plugin} {name} {}", rule["onlyIf"])
            })
            .collect();
        if rules.is_empty() {
            vec![plugin.to_owned()]
        } else {
            rules
        }
    });
    rows.collect()
}

#[test]
fn one_command_tells_who_may_take_a_link_down() -> Result<()> {
    let node = node()?;
    let down = |words: &[&str], status| node.json(&[&DOWN, words].concat(), status);
    let may = down(&["name=eth0"], 0)?;
    let found = rows(&may);
    for expected in [
        format!("{PLUGIN} link[0] {{}}"),
        r#"bridge link[0] {"kinds":["bridge"]}"#.to_owned(),
        r#"bridge link[1] {"kinds":["veth"]}"#.to_owned(),
        r#"bridge tenants.link[3] {"kinds":["veth"],"owners":["network"]}"#.to_owned(),
        // No grant bounds it.
        "flannel".to_owned(),
    ] {
        assert!(found.contains(&expected), "{expected}: {found:#?}");
    }
    assert!(
        !found.iter().any(|row| row.starts_with("ptp")),
        "{found:#?}"
    );
    let of = |plugin: &str| {
        let all = may.as_array().expect("a list").iter();
        all.filter(|one| one["plugin"] == plugin)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(PLUGIN)[0]["whose"], "third-party");
    assert_eq!(of(PLUGIN)[0]["networks"], json!(["pods"]));
    assert_eq!(of("bridge")[0]["whose"], "shipped");
    assert_eq!(of("flannel")[0]["whose"], "native");

    // Hardware, and what is neither.
    let found = rows(&down(
        &["name=eth0", "kind=physical", "--network", "pods"],
        0,
    )?);
    let own = "host-device link[0] {}".to_owned();
    assert_eq!(found, [format!("{PLUGIN} link[0] {{}}"), own]);
    // What moves a card into a container leaves the rest of it alone.
    let other_mac = [
        "name=wlan0",
        "kind=physical",
        "mac=02:00:00:00:00:01",
        "--network",
        "pods",
    ];
    assert_eq!(down(&other_mac, 3)?, json!([]));
    let text = node.stdout(&[&DOWN[..], &other_mac].concat(), 3)?;
    assert_eq!(text, "no plugin\n");

    let text = node.stdout(&[&DOWN[..], &["name=eth0"]].concat(), 0)?;
    assert_contains(
        &text,
        &[
            "THIRD PARTY",
            "NATIVE",
            "of kind veth",
            "where weir made it for this network",
        ],
    );
    Ok(())
}

/// What a plugin may write into its tables of packet filters is a condition, as long as the question leaves it open.
#[test]
fn one_command_tells_who_may_write_packet_filters_and_which() -> Result<()> {
    let node = node()?;
    let apply = ["grants", "who", "firewall.apply"];
    let of = |words: &[&str], plugin: &str| -> Result<Vec<String>> {
        let may = node.json(&[&apply[..], words].concat(), 0)?;
        let mut rows = rows(&may);
        rows.retain(|row| row.starts_with(plugin));
        rows.dedup();
        Ok(rows)
    };
    let table = ["namespace=host", "family=inet"];
    let own = r#"portmap firewall[0] {"hooks":["output","postrouting","prerouting"],"statements":["dnat","masquerade","set-mark"]}"#;
    let tenants = r#"portmap tenants.firewall[0] {"hooks":["output","postrouting","prerouting"],"owners":["network"],"ports":["1-21","10261-65535","23-2378","2381-6442","6444-10247"],"statements":["dnat","masquerade","set-mark"]}"#;
    assert_eq!(of(&table, "portmap")?, [own, tenants]);
    // Without any field as well, with wildcards, and for several operations.
    for words in [&[][..], &["family=in*"]] {
        assert!(of(words, "portmap")?.contains(&own.to_owned()), "{words:?}");
    }
    let statement = [&table[..], &["hooks=output", "statements=dnat"]].concat();
    assert_eq!(of(&statement, "portmap")?[0], "portmap firewall[0] {}");
    assert_eq!(of(&statement, "firewall")?, [""; 0]);
    let text = node.stdout(&[&apply[..], &table].concat(), 0)?;
    assert_contains(
        &text,
        &[
            "with chains on output, postrouting and prerouting",
            "with no statement but accept, drop and jump",
            "removing only elements of this network, translating no port of the host but 1-21",
        ],
    );
    for words in [&apply[..], &["grants", "who", "firewall*"]] {
        let text = node.stdout(words, 0)?;
        assert!(
            !text.contains("every hook") && !text.contains("do anything"),
            "{text}"
        );
    }
    Ok(())
}

/// Where no condition is left, the gate's matcher allows it; where nobody may, it denies it.
#[test]
fn what_may_be_done_is_what_is_explained() -> Result<()> {
    let node = node()?;
    for (operation, fields, expected) in [
        (
            "link.update",
            "namespace=host kind=physical name=eth0 owner= up=false",
            2,
        ),
        (
            "link.update",
            "namespace=container kind=veth name={ifname} mtu=9000",
            3,
        ),
        (
            "link.delete",
            "namespace=container kind=veth name={ifname}",
            2,
        ),
        (
            "sysctl.write",
            "namespace=host key=net.ipv4.ip_forward value=1 owner=",
            2,
        ),
        (
            "sysctl.write",
            "namespace=host key=net.ipv4.ip_forward value=0 owner=",
            0,
        ),
        (
            "route.add",
            "namespace=host destination=0.0.0.0/0 link=eth0 table=254 owner=",
            0,
        ),
        (
            "firewall.apply",
            "namespace=host family=inet hooks=postrouting statements=masquerade",
            3,
        ),
    ] {
        let fields: Vec<&str> = fields.split(' ').collect();
        let question = [
            &["grants", "who", operation][..],
            &fields,
            &["--network", "pods"],
        ]
        .concat();
        let status = if expected == 0 { 3 } else { 0 };
        let may = node.json(&question, status)?;
        let plugins: Vec<&str> = (may.as_array().context("a list")?.iter())
            .filter_map(|one| one["plugin"].as_str())
            .collect();
        assert_eq!(plugins.len(), expected, "{operation} {fields:?}: {may:#}");
        for plugin in [
            PLUGIN, "bridge", "ptp", "portmap", "firewall", "tuning", "static",
        ] {
            let fields = fields.iter().map(|field| field.replace("{ifname}", "net1"));
            let fields: Vec<String> = fields.collect();
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let question = [
                "grants",
                "explain",
                plugin,
                operation,
                "--network",
                "pods",
                "--ifname",
                "net1",
            ];
            let status = if plugins.contains(&plugin) { 0 } else { 3 };
            node.stdout(&[&question[..], &fields].concat(), status)?;
        }
    }
    Ok(())
}

#[test]
fn operations_and_values_may_have_wildcards() -> Result<()> {
    let node = node()?;
    let may = node.json(&["grants", "who", "*.delete*", "namespace=host"], 0)?;
    let all = may.as_array().context("a list")?;
    let has = |plugin: &str, operation: &str| {
        all.iter()
            .any(|one| one["plugin"] == plugin && one["operation"] == operation)
    };
    assert!(has("bandwidth", "traffic.delete-qdisc"), "{may:#}");
    assert!(has("portmap", "conntrack.delete"), "{may:#}");
    assert!(!has(PLUGIN, "link.delete"), "{may:#}");
    // Fields of another capability are no mistake as long as one operation has them.
    assert!(
        !all.iter().any(|one| one["operation"] == "store.delete"),
        "{may:#}"
    );

    let expected =
        r#"portmap sysctl[0] {"keys":["net.ipv4.conf.*.route_localnet"],"values":["1"]}"#;
    for key in ["net.ipv4.conf.*.*", "net.ipv4.*", "*.route_localnet"] {
        let key = format!("key={key}");
        let words = ["grants", "who", "sysctl.write", "namespace=host", &key];
        let found = rows(&node.json(&words, 0)?);
        assert!(found.contains(&expected.to_owned()), "{key}: {found:#?}");
    }

    for (words, expected) in [
        (&["link.udpate"][..], "did you mean `link.update`"),
        (&["nothing.*"], "no operation matches `nothing.*`"),
        (&["link.list"], "needs no rule itself"),
        (&["link.update", "colour=red"], "has no field `colour`"),
        (&["link.*", "colour=red"], "has no field `colour`"),
        (
            &["link.update", "namespace=nowhere"],
            "`namespace=nowhere` is out of place",
        ),
        (&["link.update", "eth0"], "expected FIELD=VALUE"),
    ] {
        let errors = node.stderr(&[&["grants", "who"], words].concat(), 1)?;
        assert!(errors.contains(expected), "{words:?}: {errors}");
    }
    Ok(())
}

/// One rule is one row, whatever of the question it allows.
#[test]
fn a_table_has_no_rule_twice() -> Result<()> {
    let node = node()?;
    for words in [
        &["link.create", "namespace=host", "name=eth0"][..],
        &["link.update", "namespace=host"],
        &["link.*", "namespace=host"],
    ] {
        let text = node.stdout(&[&["grants", "who"], words].concat(), 0)?;
        let cells = |line: &str| -> Vec<String> {
            let cells = line.split("  ").filter(|cell| !cell.is_empty());
            cells.take(6).map(|cell| cell.trim().to_owned()).collect()
        };
        let mut rows: Vec<Vec<String>> = text.lines().map(cells).collect();
        let count = rows.len();
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len(), count, "{text}");
    }
    Ok(())
}

#[test]
fn an_unknown_network_is_reported() -> Result<()> {
    let node = node()?;
    let errors = |words: &[&str]| -> Result<String> {
        let output = node.command(&[&["grants"], words].concat())?;
        Ok(String::from_utf8(output.stderr)?)
    };
    let questions = [
        &["who", "link.update", "namespace=host"][..],
        &["show", "bridge"],
        &["explain", "bridge", "store.get", "key=a"],
    ];
    for question in questions {
        let said = errors(&[question, &["--network", "payroll"]].concat())?;
        assert_contains(&said, &["no such network", "`payroll`"]);
        // Only the cluster knows those of definitions.
        let said = errors(&[question, &["--network", "shop/payroll"]].concat())?;
        assert_eq!(said, "", "{question:?}");
    }
    let config =
        json!({ "cniVersion": "1.1.0", "name": "payroll", "plugins": [{ "type": "loopback" }] });
    node.put_network("payroll.conflist", &config)?;
    for question in questions {
        let said = errors(&[question, &["--network", "payroll"]].concat())?;
        assert_eq!(said, "", "{question:?}");
    }
    let said = errors(&["show", "bridge", "--network", "payrol"])?;
    assert_contains(&said, &["did you mean `payroll`?"]);
    Ok(())
}

#[test]
fn the_columns_of_grants_stand_below_each_other() -> Result<()> {
    let node = node()?;
    let long = "a-name-that-is-longer-than-sixteen-characters";
    let document = format!(
        "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: {{ name: {long} }}\n\
         spec: {{ plugin: {{ name: bridge }}, networks: [{long}], capabilities: {{}} }}\n"
    );
    node.put_grant("long.yaml", &document)?;
    let text = node.stdout(&["grants", "list"], 0)?;
    let title = text.lines().next().context("titles")?;
    let state = title.find("STATE").context("a title")?;
    let rows = text.lines().skip(1).filter(|line| !line.starts_with(' '));
    for row in rows {
        let (before, after) = row.split_at(state);
        assert!(before.ends_with("  ") && !after.starts_with(' '), "{text}");
    }
    Ok(())
}

#[test]
fn an_earlier_grant_decides_on_its_networks() -> Result<()> {
    let node = node()?;
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: narrow }\n\
                  spec: { plugin: { name: bridge }, networks: [blue], capabilities: {} }\n";
    node.put_grant("a.yaml", narrow)?;
    let may = node.json(&[&DOWN[..], &["name=br0", "kind=bridge"]].concat(), 0)?;
    let all = may.as_array().context("a list")?;
    let bridge = all
        .iter()
        .find(|one| one["plugin"] == "bridge")
        .context("bridge")?;
    assert_eq!(bridge["exceptNetworks"], json!(["blue"]), "{bridge:#}");
    let on_blue = ["name=br0", "kind=bridge", "--network", "blue"];
    let may = node.json(&[&DOWN[..], &on_blue].concat(), 0)?;
    let mut all = may.as_array().context("a list")?.iter();
    assert!(!all.any(|one| one["plugin"] == "bridge"), "{may:#}");
    Ok(())
}

#[test]
fn one_command_tells_who_may_change_the_host() -> Result<()> {
    let node = node()?;
    let changers = node.json(&["grants", "list", "--host"], 0)?;
    let all = changers.as_array().context("a list")?;
    let plugins: Vec<&str> = all
        .iter()
        .filter_map(|one| one["plugin"].as_str())
        .collect();
    assert_eq!(plugins[..2], [PLUGIN, "flannel"], "{plugins:?}");
    for shipped in [
        "bridge",
        "ptp",
        "portmap",
        "firewall",
        "bandwidth",
        "host-local",
    ] {
        assert!(plugins.contains(&shipped), "{shipped}: {plugins:?}");
    }
    // They change nothing but the container.
    for inside in ["static", "loopback", "dummy", "tap"] {
        assert!(!plugins.contains(&inside), "{inside}: {plugins:?}");
    }
    assert_eq!(all[0]["capabilities"], json!(["link"]));
    assert_eq!(all[0]["digest"], json!(node.digest(PLUGIN)?));
    assert_eq!(all[0]["author"], Value::Null);
    let text = node.stdout(&["grants", "list", "--host", "--plugin", PLUGIN], 0)?;
    assert_contains(&text, &["THIRD PARTY", "misbehaving.yaml", "sha256:"]);
    assert!(!text.contains("bridge"), "{text}");
    Ok(())
}

/// A query with a wildcard names the operations that it leaves out.
#[test]
fn one_query_covers_everything_about_an_interface() -> Result<()> {
    let node = Node::create()?;
    let rules = "{ route: [{ namespace: host, links: [eth0], verbs: [create] }], \
        sysctl: [{ namespace: host, keys: [net.ipv4.conf.eth0.rp_filter], values: ['0'], verbs: [write] }] }";
    node.install_with(&Grant {
        networks: "[pods]",
        capabilities: rules,
        ..Grant::nothing("labels")
    })?;
    let words = ["grants", "who", "--interface", "eth0", "--kind", "physical"];
    let may = node.json(&words, 0)?;
    let of = |plugin: &str| -> Vec<&str> {
        let all = may.as_array().into_iter().flatten();
        let own = all.filter(|one| one["plugin"] == plugin);
        own.filter_map(|one| one["operation"].as_str()).collect()
    };
    let third_party = of("labels");
    for operation in ["route.add", "sysctl.write"] {
        assert!(third_party.contains(&operation), "{third_party:?}");
    }
    // Reads are not changes.
    assert!(!of("host-device").contains(&"link.get"));
    assert!(of("host-device").contains(&"link.update"));
    assert!(of("macvlan").contains(&"link.create"));

    let wildcard = [
        "grants",
        "who",
        "*",
        "namespace=host",
        "link=eth0",
        "kind=physical",
    ];
    let errors = String::from_utf8(node.command(&wildcard)?.stderr)?;
    assert_contains(&errors, &["left out", "route.add", "sysctl.write"]);
    let unknown = ["grants", "who", "--interface", "eth0", "link.update"];
    assert_eq!(node.command(&unknown)?.status.code(), Some(2));
    Ok(())
}
