//! Shipped grants are exact: wide enough that no standard plugin is denied anything in the tests of
//! what it does, and so narrow that each rule, and each value in the lists of a rule, is needed for
//! something that happens there.
//!
//! The other tests leave what they used in a directory of their run (`weir_kit::grants_used`), which
//! `tests/run` makes, and runs this one after them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;
use weir_grant::query::Query;
use weir_grant::{Capabilities, Decision, Document, Invocation, operation_names};
use weir_kit::{grants_used, house};

/// What the tests have denied on purpose, by plugin and operation, with the rule that came closest: another
/// program's bridge stands where the plugin's own link should be.
const DENIED: [(&str, &str, &str); 4] = [
    ("bandwidth", "link.get", "link[0]: kinds"),
    ("bandwidth", "link.get-peer", "link[1]: kinds"),
    ("bridge", "link.delete", "link[2]: kinds"),
    ("bridge", "link.get", "link[2]: kinds"),
];

/// An operation that a plugin performed, and what of its grant it used.
struct Used {
    operation: Box<dyn Query>,
    invocation: Invocation,
    /// `link[0]`
    rules: BTreeSet<String>,
}

impl Used {
    fn is_allowed_by(&self, capabilities: &Capabilities) -> bool {
        let decision = self.operation.decide(capabilities, &self.invocation);
        matches!(decision, Decision::Allowed { .. })
    }
}

#[test]
#[ignore = "looks at what all other tests did: `make test` runs it after them"]
fn shipped_grants_are_exact() {
    let (grants, mut wrong) = (shipped(), Vec::new());
    let used = performed(&grants, &mut wrong);
    assert!(
        !used.is_empty(),
        "no operation was recorded: run `make test`"
    );
    for (plugin, grant) in &grants {
        let used = used.get(plugin).map_or(&[][..], Vec::as_slice);
        let of_file = |rule| format!("plugins/{plugin}/grant.yaml: {rule}");
        wrong.extend(too_wide(grant, used).into_iter().map(of_file));
    }
    assert!(
        wrong.is_empty(),
        "shipped grants are not exact:\n{}",
        wrong.join("\n")
    );
}

/// The shipped grants, by their plugins.
fn shipped() -> BTreeMap<String, Document> {
    let plugins = fs::read_dir(house().join("plugins")).expect("the house has plugins");
    let grants = plugins.map(|plugin| plugin.expect("a directory entry").path().join("grant.yaml"));
    let read = |path: std::path::PathBuf| {
        let text = fs::read(&path).expect("a plugin has a grant");
        let grant = Document::read(&text).expect("a shipped grant is valid");
        (grant.spec.plugin.name.clone(), grant)
    };
    grants.map(read).collect()
}

/// What the tests did under these grants; what was denied or cannot be read goes into `wrong`.
fn performed(
    grants: &BTreeMap<String, Document>,
    wrong: &mut Vec<String>,
) -> BTreeMap<String, Vec<Used>> {
    let mut performed: BTreeMap<String, Vec<Used>> = BTreeMap::new();
    let mut complaints = BTreeSet::new();
    for record in recorded() {
        let plugin = text(&record, "plugin");
        let Some(grant) = grants.get(&plugin) else {
            continue;
        };
        match replayed(&record, &grant.spec.capabilities) {
            Ok(Some(used)) => performed.entry(plugin).or_default().push(used),
            Ok(None) => {}
            Err(why) => drop(complaints.insert(format!("plugins/{plugin}/grant.yaml: {why}"))),
        }
    }
    wrong.extend(complaints);
    performed
}

fn recorded() -> Vec<Value> {
    let directory = grants_used::directory().expect("`make test` runs this test after the others");
    let files = fs::read_dir(directory).into_iter().flatten();
    let texts = files.map(|file| fs::read_to_string(file.expect("a directory entry").path()));
    let texts: Vec<String> = texts.map(|text| text.expect("records are text")).collect();
    let lines: BTreeSet<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    let parse = |line: &str| serde_json::from_str(line).expect("records are JSON");
    lines.into_iter().map(parse).collect()
}

/// The operation of a record, decided as it was then; none for one of which a part only is recorded.
fn replayed(record: &Value, capabilities: &Capabilities) -> Result<Option<Used>, String> {
    let (name, arguments) = (text(record, "operation"), &record["arguments"]);
    if !record["shortened_from"].is_null() {
        return Ok(None);
    }
    let plugin = text(record, "plugin");
    let closest = &record["closest"];
    let closest = format!("{}: {}", text(closest, "rule"), text(closest, "field"));
    let denied = (&*plugin, &*name, closest.as_str());
    if DENIED.contains(&denied) && record["arguments"]["link"]["kind"] == "bridge" {
        return Ok(None);
    }
    if record["verdict"] == "denied" {
        return Err(format!(
            "too narrow: `{name}` was denied, {closest}: {arguments}"
        ));
    }
    let used = Used {
        operation: operation_names::recorded(&name, arguments)?,
        invocation: Invocation::new(
            text(record, "container_id"),
            text(record, "ifname"),
            text(record, "network"),
        ),
        rules: serde_json::from_value(record["rules"].clone()).unwrap_or_default(),
    };
    // The binary that ran has the grant of the sources, or nothing here is worth anything.
    match used.operation.decide(capabilities, &used.invocation) {
        Decision::Allowed { rules }
            if rules.iter().cloned().collect::<BTreeSet<_>>() == used.rules =>
        {
            Ok(Some(used))
        }
        other => Err(format!(
            "`{name}` was allowed by {:?} and is now {other:?}: {arguments}",
            used.rules
        )),
    }
}

fn text(record: &Value, key: &str) -> String {
    record[key].as_str().unwrap_or_default().to_owned()
}

/// The rules, and the values in the lists of rules, without which all would have been allowed as well.
fn too_wide(grant: &Document, used: &[Used]) -> Vec<String> {
    let whole = serde_json::to_value(&grant.spec.capabilities).expect("a grant is JSON");
    let mut found = Vec::new();
    for (capability, rules) in whole.as_object().expect("an object") {
        for index in 0..rules.as_array().map_or(0, Vec::len) {
            found.extend(too_wide_in(&whole, capability, index, used));
        }
    }
    found
}

fn too_wide_in(whole: &Value, capability: &str, index: usize, used: &[Used]) -> Vec<String> {
    let rule = format!("{capability}[{index}]");
    // What other rules allowed is not touched by a change of this one.
    let used: Vec<&Used> = used.iter().filter(|u| u.rules.contains(&rule)).collect();
    let suffices = |change: &dyn Fn(&mut Value)| {
        let mut narrower = whole.clone();
        change(&mut narrower[capability]);
        let capabilities = serde_json::from_value(narrower).expect("a list is shorter");
        used.iter().all(|u| u.is_allowed_by(&capabilities))
    };
    if suffices(&|rules| drop(rules.as_array_mut().expect("a list").remove(index))) {
        return vec![format!(
            "{rule} is never needed: {}",
            whole[capability][index]
        )];
    }
    let lists = whole[capability][index].as_object().into_iter().flatten();
    let mut found = Vec::new();
    for (key, list) in lists {
        for (place, value) in list.as_array().into_iter().flatten().enumerate() {
            let without = |rules: &mut Value| {
                rules[index][key]
                    .as_array_mut()
                    .expect("a list")
                    .remove(place);
            };
            if suffices(&without) {
                found.push(format!("{rule}.{key}: {value} is never needed"));
            }
        }
    }
    found
}

/// A grant of links, and what is used of it: to create and to read `br0`.
fn example(rules: &str) -> Vec<String> {
    let text = format!(
        "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: {{ name: x }}\n\
         spec: {{ plugin: {{ name: x }}, networks: ['*'], capabilities: {{ link: {rules} }} }}\n"
    );
    let grant = Document::read(text.as_bytes()).expect("a grant");
    let link =
        serde_json::json!({"namespace": "host", "index": 2, "name": "br0", "kind": "bridge"});
    let read = serde_json::json!({ "link": link });
    let create =
        serde_json::json!({"namespace": "host", "name": "br0", "kind": "bridge", "up": true});
    let operations = [("link.get", read), ("link.create", create)];
    let used: Vec<Used> = operations
        .into_iter()
        .map(|(name, arguments)| {
            let operation = operation_names::recorded(name, &arguments).expect("an operation");
            let decision = operation.decide(&grant.spec.capabilities, &Invocation::default());
            let Decision::Allowed { rules } = decision else {
                panic!("{decision:?}");
            };
            Used {
                operation,
                invocation: Invocation::default(),
                rules: rules.into_iter().collect(),
            }
        })
        .collect();
    too_wide(&grant, &used)
}

#[test]
fn a_value_that_nothing_needs_is_found() {
    let exact = "[{ namespace: host, kinds: [bridge], verbs: [create, read] }]";
    assert!(example(exact).is_empty(), "{:?}", example(exact));
    assert_eq!(
        example("[{ namespace: host, kinds: [bridge, veth], verbs: [create, read, delete] }]"),
        [
            "link[0].kinds: \"veth\" is never needed",
            "link[0].verbs: \"delete\" is never needed"
        ]
    );
}

#[test]
fn a_rule_that_nothing_needs_is_found() {
    let found = example("[{ verbs: [create, read] }, { namespace: container, verbs: [read] }]");
    assert_eq!(
        found,
        ["link[1] is never needed: {\"namespace\":\"container\",\"verbs\":[\"read\"]}"]
    );
}

#[test]
fn an_operation_that_was_denied_is_found() {
    let record = serde_json::json!({
        "operation": "link.get", "verdict": "denied", "closest": { "rule": "link[0]", "field": "kinds" },
        "arguments": {"link": {"namespace": "host", "index": 2, "name": "eth0", "kind": "physical"}},
    });
    let why = replayed(&record, &Capabilities::default())
        .err()
        .expect("too narrow");
    assert!(
        why.starts_with("too narrow: `link.get` was denied"),
        "{why}"
    );
}
