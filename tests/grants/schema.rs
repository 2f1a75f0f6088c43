//! The published schema, and every grant that is shipped or shown.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jsonschema::Validator;
use serde_json::{Value, json};
use weir_grant::Document;
use weir_kit::{Node, house};

/// The published schema.
fn schema() -> Result<Value> {
    let path = house().join("docs/plugin-grant.schema.json");
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

fn validator() -> Result<Validator> {
    Ok(jsonschema::draft202012::new(&schema()?)?)
}

/// All grants that are shipped or shown as examples, and where they stand.
fn shown_grants() -> Result<Vec<(PathBuf, String)>> {
    let mut grants = Vec::new();
    for directory in ["plugins", "examples", "docs"] {
        for file in files_below(&house().join(directory))? {
            let is = |extension: &str| file.extension().is_some_and(|e| e == extension);
            // What is given to a cluster is no grant: `manifests` looks at that.
            let of_cluster = [
                "examples/kubernetes",
                "examples/kubernetes-plugins",
                "examples/from-multus",
            ];
            let is_of = |directory: &&str| file.starts_with(house().join(directory));
            // Nor are the options of `weir plugin test`, and what it expects.
            let of_test = ["test.yaml", "expected.yaml"];
            let is_of_test = file
                .file_name()
                .is_some_and(|name| of_test.iter().any(|of| name == *of));
            if is("yaml") && (of_cluster.iter().any(is_of) || is_of_test) {
                continue;
            }
            if is("yaml") {
                grants.push((file.clone(), fs::read_to_string(&file)?));
            } else if is("md") {
                let text = fs::read_to_string(&file)?;
                let blocks = text.split("```yaml\n").skip(1);
                let blocks = blocks.filter_map(|rest| rest.split("```").next());
                let grants_of = blocks.filter(|block| block.contains("kind: PluginGrant"));
                grants.extend(grants_of.map(|block| (file.clone(), block.to_owned())));
            }
        }
    }
    Ok(grants)
}

fn files_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            files.push(entry.path());
        } else if entry.file_name() != "target" {
            files.extend(files_below(&entry.path())?);
        }
    }
    Ok(files)
}

#[test]
fn every_grant_that_is_shown_is_valid_also_by_the_schema() -> Result<()> {
    let validator = validator()?;
    let grants = shown_grants()?;
    for (file, text) in &grants {
        let shown = file.display();
        if let Err(mistakes) = Document::read(text.as_bytes()) {
            panic!("{shown}: {}", mistakes[0]);
        }
        let value: Value = serde_saphyr::from_str(text)?;
        if let Err(error) = validator.validate(&value) {
            panic!("{shown}: {}: {error}", error.instance_path());
        }
    }
    let plugins = fs::read_dir(house().join("plugins"))?.count();
    let shipped = grants
        .iter()
        .filter(|(file, _)| file.ends_with("grant.yaml"));
    assert!(shipped.count() >= plugins, "not all were found");
    Ok(())
}

/// A document with these capabilities and limits.
fn document(capabilities: &Value, limits: &Value) -> Value {
    json!({
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "PluginGrant",
        "metadata": { "name": "other" },
        "spec": {
            "plugin": { "name": "other", "digest": format!("sha256:{}", "a1".repeat(32)) },
            "networks": ["*"],
            "capabilities": capabilities,
            "limits": limits,
        },
    })
}

fn is_read(document: &Value) -> bool {
    Document::read(document.to_string().as_bytes()).is_ok()
}

/// Rules with each key and each verb of each capability.
fn whole() -> Value {
    json!({
        "link": [{ "namespace": "host", "kinds": ["veth"], "names": ["a*", "[a-z]?", "{ifname}x"],
                   "verbs": ["create", "read", "update", "delete"] },
                 { "namespace": "host", "attributes": ["up", "mtu"], "owners": ["network", "attachment"], "verbs": ["update"] }, {}],
        "address": [{ "namespace": "container", "links": ["lo"], "kinds": ["bridge"],
                      "addresses": ["10.0.0.0/8", "fd00::/8", "::/0", "::ffff:10.0.0.0/104", "1:2:3:4:5:6:7:8/128"],
                      "verbs": ["create", "read", "delete"] },
                    { "namespace": "host", "owners": ["network"], "overlaps": ["network", "attachment"], "verbs": ["create"] }],
        "route": [{ "namespace": "host", "owners": ["attachment"], "overlaps": ["network"], "verbs": ["create"] }, { "namespace": "host", "links": ["lo"], "destinations": ["0.0.0.0/0"],
                    "tables": [0, 254, 4294967295u32], "verbs": ["create", "read", "update", "delete"] }],
        "policy-rule": [{ "namespace": "host", "families": ["ipv4", "ipv6"], "sources": ["10.1.2.3/32"],
                   "tables": [100], "priorities": [1, "100-4294967295"],
                   "verbs": ["create", "read", "delete"] }],
        "neighbour": [{ "namespace": "host", "owners": ["network"], "verbs": ["create"] }, { "namespace": "host", "links": ["lo"], "addresses": ["10.0.0.0/8"],
                        "verbs": ["create", "read", "delete", "announce"] }],
        "traffic": [{ "namespace": "host", "owners": ["network"], "verbs": ["create"] }, { "namespace": "host", "links": ["lo"], "kinds": ["ifb"],
                      "disciplines": ["tbf", "htb", "ingress", "clsact", "mirred"],
                      "verbs": ["create", "read", "delete"] }],
        "firewall": [{ "namespace": "host", "statements": ["dnat"], "owners": ["network"], "ports": [80, "8080-8090"], "verbs": ["write"] }, { "namespace": "host",
                       "families": ["ip", "ip6", "inet", "arp", "bridge", "netdev"],
                       "hooks": ["prerouting", "input", "forward", "output", "postrouting", "ingress", "egress"],
                       "statements": ["accept", "drop", "return", "jump", "goto", "verdict-map", "masquerade",
                                      "snat", "dnat", "set-mark", "set-connection-mark", "reject", "counter", "notrack"],
                       "verbs": ["read", "write", "delete"] }],
        "firewalld": [{ "zones": ["trusted"], "sources": ["10.0.0.0/8"],
                        "verbs": ["create", "read", "delete"] }],
        "conntrack": [{ "namespace": "host", "protocols": ["tcp", "udp", "sctp"],
                        "ports": [0, 65535, "53", "30000-32767"], "verbs": ["delete"] }],
        "sysctl": [{ "namespace": "host", "keys": ["net.ipv4.conf.{ifname}.*"], "values": ["1"],
                     "verbs": ["read", "write"] },
                   { "namespace": "host", "owners": ["network"], "verbs": ["write"] }],
        "store": [{ "directories": ["/var/lib/cni", "/..a/b.."], "verbs": ["read", "write"] },
                  { "files": ["/etc/resolv.conf"] }],
        "device": [{ "links": ["ens*"], "pci": ["0000:03:00.?"], "auxiliary": ["mlx5_core.sf.*"], "verbs": ["read"] }],
        "packet": [{ "links": ["{ifname}"], "protocols": ["udp", "raw"], "ports": [68], "remotes": [67],
                     "ethertypes": [2048], "verbs": ["open"] }],
        "ipam": ["host-local", "dhcp"],
    })
}

/// Fails unless [`whole`] has each key of each rule that the schema has.
fn assert_whole() -> Result<()> {
    let (schema, whole) = (schema()?, whole());
    for (capability, rules) in whole.as_object().context("capabilities")? {
        let rule = format!("/$defs/Capabilities/properties/{capability}/items/$ref");
        let Some(rule) = schema.pointer(&rule).and_then(Value::as_str) else {
            continue;
        };
        let keys = schema.pointer(&format!("{}/properties", rule.trim_start_matches('#')));
        let keys = keys.and_then(Value::as_object).context("keys")?;
        let rules = rules.as_array().context("rules")?;
        let lacks = |key: &&String| rules.iter().all(|rule| rule.get(key).is_none());
        let left_out: Vec<&String> = keys.keys().filter(lacks).collect();
        assert!(left_out.is_empty(), "{capability}: {left_out:?}");
    }
    Ok(())
}

#[test]
fn the_schema_has_every_key_and_every_value() -> Result<()> {
    let validator = validator()?;
    let limits = json!({ "memory": "1.5 GiB", "time": "1m", "calls": 1, "changes": 1, "transfer": "512", "log": "64KiB" });
    assert_whole()?;
    let whole = document(&whole(), &limits);
    assert!(is_read(&whole));
    if let Err(error) = validator.validate(&whole) {
        panic!("{}: {error}", error.instance_path());
    }
    for time in [
        "1ms", "999ms", "60000ms", "1s", "59s", "60s", "1s 500ms", "1min",
    ] {
        let document = document(&json!({}), &json!({ "time": time }));
        assert!(is_read(&document), "{time}");
        assert!(validator.is_valid(&document), "{time}");
    }
    // What weir prints itself.
    let read =
        Document::read(whole.to_string().as_bytes()).map_err(|m| anyhow::anyhow!("{m:?}"))?;
    assert!(validator.is_valid(&serde_json::to_value(&read)?));
    Ok(())
}

#[test]
fn what_is_refused_is_refused_by_the_schema_too() -> Result<()> {
    let validator = validator()?;
    let valid = document(&json!({}), &json!({}));
    assert!(is_read(&valid) && validator.is_valid(&valid));
    for pointer in [
        "/apiVersion",
        "/kind",
        "/metadata/name",
        "/spec/plugin/name",
        "/spec/plugin/digest",
    ] {
        for wrong in [json!(null), json!(1), json!("md5:1"), json!(["x"])] {
            let mut document = valid.clone();
            *document.pointer_mut(pointer).context("a key")? = wrong.clone();
            let is_a_name = wrong.is_string() && pointer == "/metadata/name";
            assert_eq!(is_read(&document), is_a_name, "{pointer}: {wrong}");
            assert_eq!(
                validator.is_valid(&document),
                is_a_name,
                "{pointer}: {wrong}"
            );
        }
    }
    for (holder, key) in [
        ("", "kind"),
        ("", "spec"),
        ("/metadata", "name"),
        ("/spec", "plugin"),
        ("/spec/plugin", "name"),
    ] {
        let mut document = valid.clone();
        let members = document.pointer_mut(holder).and_then(Value::as_object_mut);
        members.context("a mapping")?.remove(key);
        assert!(
            !is_read(&document) && !validator.is_valid(&document),
            "{key}"
        );
    }
    let digest = format!("sha256:{}", "+f".repeat(32));
    let mut signed = valid.clone();
    signed["spec"]["plugin"]["digest"] = digest.into();
    assert!(!is_read(&signed) && !validator.is_valid(&signed));

    for capability in whole().as_object().context("rules")?.keys() {
        if capability != "ipam" {
            refused_rules(&validator, capability)?;
        }
    }
    for capabilities in [
        json!({ "links": [] }),
        json!({ "link": {} }),
        json!({ "link": null }),
        json!({ "link": [{ "verb": ["read"] }] }),
        json!({ "link": [{ "names": "eth0" }] }),
        json!({ "link": [{ "names": ["[a"] }] }),
        json!({ "link": [{ "names": ["{link}"] }] }),
        json!({ "link": [{ "names": ["a**"] }] }),
        json!({ "address": [{ "addresses": ["10.0.0.0"] }] }),
        json!({ "address": [{ "addresses": ["10.0.0.0/33"] }] }),
        json!({ "address": [{ "addresses": ["256.0.0.0/8"] }] }),
        json!({ "address": [{ "addresses": ["fd00::/129"] }] }),
        json!({ "address": [{ "addresses": ["1::2::3/64"] }] }),
        json!({ "route": [{ "tables": [-1] }] }),
        json!({ "route": [{ "tables": [4294967296u64] }] }),
        json!({ "policy-rule": [{ "families": ["inet"] }] }),
        json!({ "policy-rule": [{ "priorities": ["4294967296"] }] }),
        json!({ "traffic": [{ "disciplines": ["fq_codel"] }] }),
        json!({ "conntrack": [{ "protocols": ["icmp"] }] }),
        json!({ "conntrack": [{ "ports": [65536] }] }),
        json!({ "conntrack": [{ "ports": ["1-65536"] }] }),
        json!({ "conntrack": [{ "ports": ["http"] }] }),
        json!({ "sysctl": [{ "values": [1] }] }),
        json!({ "store": [{ "directories": ["var/lib"] }] }),
        json!({ "store": [{ "directories": ["/var/../etc"] }] }),
        json!({ "packet": [{ "protocols": ["tcp"] }] }),
        json!({ "ipam": "host-local" }),
    ] {
        let document = document(&capabilities, &json!({}));
        assert!(!is_read(&document), "{capabilities} is read");
        assert!(!validator.is_valid(&document), "{capabilities} is valid");
    }
    for limits in [
        json!({ "memory": "much" }),
        json!({ "memory": 64 }),
        json!({ "time": "61s" }),
        json!({ "time": "0s" }),
        json!({ "time": "2m" }),
        json!({ "calls": -1 }),
        json!({ "changes": -1 }),
        json!({ "call": 1 }),
    ] {
        let document = document(&json!({}), &limits);
        assert!(!is_read(&document), "{limits} is read");
        assert!(!validator.is_valid(&document), "{limits} is valid");
    }
    Ok(())
}

/// Every verb that the capability does not have, and what no rule has.
fn refused_rules(validator: &Validator, capability: &str) -> Result<()> {
    const VERBS: [&str; 8] = [
        "create", "read", "update", "delete", "write", "announce", "open", "run",
    ];
    let whole = whole();
    let rules = whole[capability].as_array().context("rules")?.iter();
    let verbs = rules.filter_map(|rule| rule["verbs"].as_array());
    let has: Vec<&str> = verbs.flatten().filter_map(Value::as_str).collect();
    let mut rules = vec![
        json!({ "colour": "red" }),
        json!("all"),
        json!({ "verbs": null }),
    ];
    rules.push(json!({ "verbs": ["Read"] }));
    let others = VERBS.iter().filter(|verb| !has.contains(*verb));
    rules.extend(others.map(|verb| json!({ "verbs": [verb] })));
    for rule in rules {
        let document = document(&json!({ capability: [rule.clone()] }), &json!({}));
        assert!(!is_read(&document), "{capability}: {rule} is read");
        assert!(
            !validator.is_valid(&document),
            "{capability}: {rule} is valid"
        );
    }
    Ok(())
}

/// Texts of all sorts: what the schema accepts, weir reads.
#[test]
fn the_schema_accepts_no_text_that_is_refused() -> Result<()> {
    let validator = validator()?;
    let seeds = [
        (
            "address",
            "addresses",
            ["10.20.30.40/16", "fd00:1::5:6/64", "::ffff:10.0.0.1/120"],
        ),
        (
            "link",
            "names",
            ["veth*[a-z]?", "{ifname}.{network}", "[!a]b[]]"],
        ),
        ("conntrack", "ports", ["30000-32767", "0-65535", "53"]),
        (
            "store",
            "directories",
            ["/var/lib/cni", "/a/../b", "/./.a/b.."],
        ),
    ];
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).expect("a small number")
    };
    let mut accepted = 0;
    for (capability, key, texts) in seeds {
        for round in 0..2000 {
            let mut text: Vec<char> = texts[round % texts.len()].chars().collect();
            for _ in 0..next(4) {
                const ALPHABET: &[u8] = b"0129afx:./-*?[]{}! ";
                let at = next(text.len() + 1);
                let put = char::from(ALPHABET[next(ALPHABET.len())]);
                match next(3) {
                    0 => text.insert(at, put),
                    1 if at < text.len() => text[at] = put,
                    _ if at < text.len() => drop(text.remove(at)),
                    _ => {}
                }
            }
            let text: String = text.into_iter().collect();
            let document = document(&json!({ capability: [{ key: [text] }] }), &json!({}));
            if validator.is_valid(&document) {
                accepted += 1;
                // That a range ends after it begins is more than a pattern can say.
                assert!(is_read(&document) || capability == "conntrack", "{text}");
            }
        }
    }
    assert!(accepted > 1000, "only {accepted} of 8000 were accepted");
    Ok(())
}

#[test]
fn the_schema_is_printed() -> Result<()> {
    let node = Node::create()?;
    let printed: Value = serde_json::from_str(&node.weir(&["grants", "schema"])?)?;
    assert_eq!(printed, schema()?);
    Ok(())
}
