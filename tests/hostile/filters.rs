//! Rules of firewalls that reach further than a plugin's own tables, hooks and zones.

use anyhow::Result;
use serde_json::json;
use weir_kit::with_keys;

use super::puppet::Puppet;

fn puppet(capabilities: &str) -> Result<Puppet> {
    let puppet = Puppet::under(capabilities)?;
    let node = &puppet.fixture.node;
    node.tools(
        "nft",
        &[
            "add table inet victim",
            "add chain inet victim guard",
            "add rule inet victim guard counter",
        ],
    )?;
    Ok(puppet)
}

/// Property: a chain hangs on granted hooks only and does granted things only, its policy and the
/// verdicts of its maps included.
#[test]
fn a_hook_or_a_statement_outside_the_grant_is_denied() -> Result<()> {
    let puppet = puppet(
        r#"{ firewall: [ { namespace: host, families: [inet], hooks: [input],
            statements: [counter], verbs: [read, write] } ] }"#,
    )?;
    let apply = |keys: serde_json::Value| {
        with_keys(json!({ "do": "firewall.apply", "chain": "own" }), keys)
    };
    puppet.assert_denied(vec![
        apply(json!({ "hook": "forward" })),
        apply(json!({ "hook": "prerouting" })),
        apply(json!({ "hook": "ingress", "device": "lo" })),
        apply(json!({ "hook": "input", "drops": true })),
        apply(json!({ "statement": "drop" })),
        apply(json!({ "statement": "accept" })),
        apply(json!({ "statement": "notrack" })),
        apply(json!({ "statement": "jump", "name": "guard" })),
        apply(json!({ "statement": "goto", "name": "guard" })),
        apply(json!({ "inside": true })),
    ])?;
    let allowed = apply(json!({ "hook": "input", "statement": "counter" }));
    puppet.assert_each(vec![allowed], "ok").map(drop)
}

/// Property: each rule of a grant is a permission of its own. What may be said on one hook may not be on
/// another, nor in a chain that is reached from there.
#[test]
fn a_statement_of_one_hook_is_denied_on_another() -> Result<()> {
    let puppet = puppet(
        r#"{ firewall: [
            { namespace: host, families: [inet], hooks: [input], statements: [accept, jump] },
            { namespace: host, families: [inet], hooks: [postrouting], statements: [accept, drop] }
        ] }"#,
    )?;
    let apply = |chain: &str, hook: &str, statement: &str| json!({ "do": "firewall.apply", "chain": chain, "hook": hook, "statement": statement });
    let input = apply("in", "input", "accept");
    puppet.assert_each(vec![input, apply("plain", "", "accept")], "ok")?;
    puppet.assert_denied(vec![
        apply("in", "input", "drop"),
        json!({ "do": "firewall.apply", "chain": "in", "hook": "input", "drops": true }),
        // It is there already, on `input`.
        apply("in", "", "drop"),
        // It can be jumped to from there.
        apply("plain", "", "drop"),
        apply("out", "postrouting", "jump"),
    ])?;
    let output = apply("out", "postrouting", "drop");
    puppet.assert_each(vec![output], "ok")?;
    let nft = |words: &str| puppet.fixture.node.tool("nft", words);
    let table = nft("list ruleset")?;
    let of_chain = |name: &str| {
        let chain = table
            .split(&format!("chain {name} {{"))
            .nth(1)
            .unwrap_or_default();
        chain.split('}').next().unwrap_or_default().to_owned()
    };
    assert!(of_chain("in").contains("accept"), "{table}");
    assert!(!of_chain("in").contains("drop"), "{table}");
    assert!(!of_chain("plain").contains("drop"), "{table}");
    assert!(of_chain("out").contains("drop"), "{table}");
    Ok(())
}

/// Property: there is no other table for a plugin, whatever it may do in its own.
#[test]
fn another_table_is_out_of_reach() -> Result<()> {
    let puppet = puppet("{ firewall: [ { namespace: host } ] }")?;
    let victim = || puppet.fixture.node.tool("nft", "list table inet victim");
    let before = victim()?;
    let jump = |to: &str| json!({ "do": "firewall.apply", "chain": "own", "statement": "jump", "name": to });
    puppet.assert_each(vec![jump("guard")], "not-found")?;
    let read = vec![
        json!({ "do": "firewall.list-rules", "chain": "guard" }),
        json!({ "do": "firewall.list-elements", "name": "guard" }),
    ];
    puppet.assert_each(read, "not-found")?;
    let names = [
        "victim guard",
        "../victim/guard",
        "guard\0",
        "guard\n",
        "guard }",
        "\"guard\"",
        "guard;flush ruleset",
    ];
    puppet.assert_each(names.map(jump).into(), "invalid")?;
    let chain = |name: &str| json!({ "do": "firewall.apply", "chain": name });
    puppet.assert_each(names.map(chain).into(), "invalid")?;
    let comment = json!({
        "do": "firewall.apply", "chain": "own", "statement": "counter", "alias": "\" drop; comment \"",
    });
    puppet.assert_each(vec![comment], "invalid")?;
    assert_eq!(victim()?, before);
    let tables = puppet.fixture.node.tool("nft", "list tables")?;
    assert_eq!(tables.lines().count(), 1, "{tables}");
    Ok(())
}

/// Property: rules of iptables are removed for the plugins that replace those that made them, and for no other.
#[test]
fn rules_of_iptables_are_out_of_reach() -> Result<()> {
    let remove = || vec![json!({ "do": "firewall.remove-reference-rules" })];
    let own = "{ firewall: [ { namespace: host, families: [inet], verbs: [read, write] } ] }";
    puppet(own)?.assert_denied(remove())?;
    let puppet = puppet("{ firewall: [ { namespace: host } ] }")?;
    let node = &puppet.fixture.node;
    node.tools(
        "iptables",
        &[
            "-t nat -N KUBE-SERVICES",
            "-t nat -A PREROUTING -j KUBE-SERVICES",
            "-A FORWARD -s 10.1.0.2/32 -j ACCEPT",
        ],
    )?;
    let rules = || node.tool("nft", "list ruleset");
    let before = rules()?;
    puppet.assert_each(remove(), "unsupported")?;
    assert_eq!(rules()?, before);
    Ok(())
}

/// Property: an address is let in where and whence the grant says, and in no other zone.
#[test]
fn zones_and_sources_outside_the_grant_are_denied() -> Result<()> {
    let puppet = puppet(
        r#"{ firewalld: [ { zones: [public], sources: [10.7.0.0/16], verbs: [create, delete] } ] }"#,
    )?;
    let cases = [
        ("trusted", "10.7.0.1"),
        ("public", "10.8.0.1"),
        ("public", "::ffff:10.7.0.1"),
        ("publi*", "10.7.0.1"),
        ("public\0", "10.7.0.1"),
        ("PUBLIC", "10.7.0.1"),
        ("", "10.7.0.1"),
    ];
    for function in ["firewalld.add-source", "firewalld.remove-source"] {
        let orders = cases
            .map(|(zone, address)| json!({ "do": function, "zone": zone, "address": address }));
        puppet.assert_denied(orders.into())?;
    }
    // Where none runs, what is granted says so.
    let granted = json!({ "do": "firewalld.add-source", "zone": "public", "address": "10.7.0.1" });
    puppet.assert_each(vec![granted], "unsupported").map(drop)
}
