//! The messages about documents that are not valid.

use super::*;

const VALID: &str = "\
apiVersion: weir.dev/v1alpha1
kind: PluginGrant
metadata:
  name: shaper
spec:
  plugin:
    name: shaper
  networks: [\"*\"]
  capabilities:
    link:
      - { namespace: host, kinds: [veth], verbs: [read] }
  limits: { memory: 64MiB, time: 60s }
";

/// The messages about a document, a line for each mistake.
fn said(document: impl AsRef<[u8]>) -> String {
    let mistakes = Document::read(document.as_ref()).expect_err("not valid");
    let lines: Vec<String> = mistakes.iter().map(Diagnostic::to_string).collect();
    lines.join("\n")
}

/// The messages about the valid document with one thing replaced.
#[track_caller]
fn said_with(old: &str, new: &str) -> String {
    assert_eq!(VALID.matches(old).count(), 1, "`{old}`");
    said(VALID.replace(old, new))
}

/// The messages about a link rule, which begins in line 11, column 9.
#[track_caller]
fn said_of_rule(rule: &str) -> String {
    said_with("{ namespace: host, kinds: [veth], verbs: [read] }", rule)
}

#[test]
fn a_valid_document_is_read() {
    let document = Document::read(VALID.as_bytes()).expect("a valid document");
    assert_eq!(document.metadata.name, "shaper");
    assert_eq!(document.spec.capabilities.link.len(), 1);
    let json = serde_json::to_string(&document).expect("JSON");
    let again = Document::read(json.as_bytes()).expect("JSON is YAML");
    assert_eq!(again, document);
}

#[test]
fn an_unknown_key_and_the_nearest_one() {
    assert_eq!(
        said_with("  networks:", "  network:"),
        "8:3: unknown key `network`; expected `plugin`, `networks`, `capabilities`, `tenants` or `limits`; \
         did you mean `networks`?"
    );
    assert_eq!(
        said_of_rule("{ namespace: host, name: [eth0] }"),
        "11:28: unknown key `name`; expected `namespace`, `kinds`, `names`, `attributes`, `owners` or `verbs`; did you mean \
         `names`?"
    );
    assert_eq!(
        said_of_rule("{ colour: red }"),
        "11:11: unknown key `colour`; expected `namespace`, `kinds`, `names`, `attributes`, `owners` or `verbs`"
    );
}

#[test]
fn an_unknown_value_and_the_nearest_one() {
    assert_eq!(
        said_of_rule("{ namespace: hots }"),
        "11:22: unknown value `hots`; expected `host` or `container`; did you mean `host`?"
    );
    let firewall = "firewall:\n      - { hooks: [forwards, input] }";
    assert_eq!(
        said_with(
            "link:\n      - { namespace: host, kinds: [veth], verbs: [read] }",
            firewall
        ),
        "11:19: unknown value `forwards`; expected `prerouting`, `input`, `forward`, `output`, \
         `postrouting`, `ingress` or `egress`; did you mean `forward`?"
    );
}

#[test]
fn a_verb_that_the_capability_does_not_have() {
    assert_eq!(
        said_of_rule("{ verbs: [read, announce] }"),
        "11:25: `announce` is not a verb of `link`; expected `create`, `read`, `update` or `delete`"
    );
    assert_eq!(
        said_of_rule("{ verbs: [raed] }"),
        "11:19: `raed` is not a verb of `link`; expected `create`, `read`, `update` or `delete`; did you \
         mean `read`?"
    );
    assert_eq!(
        said_of_rule("{ verbs: [1] }"),
        "11:19: found the number `1`; expected `create`, `read`, `update` or `delete`"
    );
}

#[test]
fn a_wrong_type() {
    assert_eq!(
        said_of_rule("{ names: eth0 }"),
        "11:18: found the text `eth0`; expected a list"
    );
    assert_eq!(
        said_of_rule("{ kinds: [true, 7, [veth]] }"),
        "11:19: found `true`; expected text, such as \"true\"\n\
         11:25: found the number `7`; expected text, such as \"7\"\n\
         11:28: found a list; expected text"
    );
    assert_eq!(
        said_of_rule("eth0"),
        "11:9: found the text `eth0`; expected a mapping with the keys `namespace`, `kinds`, `names`, `attributes`, `owners` or `verbs`"
    );
    assert_eq!(
        said_with("memory: 64MiB", "memory: 64"),
        "12:21: found the number `64`; expected a size, such as `64MiB`"
    );
    assert_eq!(
        said("just text"),
        "1:1: found the text `just text`; expected a mapping with the keys `apiVersion`, `kind`, \
         `metadata` or `spec`"
    );
}

/// An empty value is not a key that is left out, which would match everything.
#[test]
fn a_key_without_a_value() {
    assert_eq!(
        said_of_rule("{ namespace: , verbs: [read] }"),
        "11:20: found nothing; expected `host` or `container`"
    );
    assert_eq!(
        said_of_rule("{ names: ~ }"),
        "11:18: found nothing; expected a list"
    );
}

#[test]
fn values_that_are_not_what_they_should_be() {
    assert_eq!(
        said_with(
            "    name: shaper\n  networks",
            "    name: shaper\n    digest: sha256:12\n  networks"
        ),
        "8:13: `sha256:12` is not a digest; expected `sha256:` and 64 hexadecimal digits"
    );
    assert_eq!(
        said_with("memory: 64MiB", "memory: much"),
        "12:21: `much` is not a size; expected one such as `64MiB`"
    );
    assert_eq!(
        said_with("time: 60s", "time: 61s"),
        "12:34: `61s` is too short or too long; expected a duration from 1ms to 60s"
    );
    assert_eq!(
        said_with("time: 60s", "calls: -1"),
        "12:35: found the number `-1`; expected a whole number"
    );
    assert_eq!(
        said_of_rule("{ names: [\"{link}\"] }"),
        "11:19: `{link}` has a brace that does not belong to a placeholder; expected `{ifname}`, `{network}`, \
         `{containerid}` or `{hostInterfaces}`"
    );
    let rest = [
        (
            "address:\n      - { addresses: [10.0.0.0/33] }",
            "11:23: `10.0.0.0/33` is not a network; expected a prefix length from 0 to 32 after the address",
        ),
        (
            "address:\n      - { addresses: [10.0.0.1] }",
            "11:23: `10.0.0.1` is not a network; expected a prefix length after the address, such as `10.0.0.1/32`",
        ),
        (
            "conntrack:\n      - { ports: [9-1] }",
            "11:19: `9-1` is out of place; expected a number from 0 to 65535, or a range such as \
             `30000-32767`",
        ),
        (
            "route:\n      - { tables: [4294967296] }",
            "11:20: found the number `4294967296`; expected a whole number from 0 to 4294967295",
        ),
        (
            "store:\n      - { directories: [/var/../etc] }",
            "11:25: `/var/../etc` is out of place; expected an absolute path without `..`, or `{dataDir}`",
        ),
    ];
    for (capability, expected) in rest {
        let link = "link:\n      - { namespace: host, kinds: [veth], verbs: [read] }";
        assert_eq!(said_with(link, capability), expected);
    }
}

#[test]
fn a_missing_key() {
    assert_eq!(
        said_with("  plugin:\n    name: shaper\n", "  plugin: {}\n"),
        "6:11: missing key `name` of `spec.plugin`"
    );
    assert_eq!(
        said_with("kind: PluginGrant\n", ""),
        "1:1: missing key `kind`"
    );
}

#[test]
fn another_version_and_another_kind() {
    let both = VALID
        .replace("v1alpha1", "v9")
        .replace("PluginGrant", "Pod");
    assert_eq!(
        said(both),
        "1:13: unknown apiVersion `weir.dev/v9`; expected `weir.dev/v1alpha1`\n\
         2:7: unknown kind `Pod`; expected `PluginGrant`"
    );
}

#[test]
fn all_mistakes_at_once() {
    let document = "\
apiversion: weir.dev/v1alpha1
apiVersion: weir.dev/v1alpha1
kind: PluginGrant
metadata:
  name: [shaper]
spec:
  plugin: { name: shaper, digest: md5:1 }
  networks: ['*']
  capabilities:
    link:
      - namespace: hosts
        verb: [read]
    links: []
";
    assert_eq!(
        said(document),
        "1:1: unknown key `apiversion`; expected `apiVersion`, `kind`, `metadata` or `spec`; did you \
         mean `apiVersion`?\n\
         5:9: found a list; expected text\n\
         7:35: `md5:1` is not a digest; expected `sha256:` and 64 hexadecimal digits\n\
         11:20: unknown value `hosts`; expected `host` or `container`; did you mean `host`?\n\
         12:9: unknown key `verb`; expected `namespace`, `kinds`, `names`, `attributes`, `owners` or `verbs`; did you mean \
         `verbs`?\n\
         13:5: unknown key `links`; expected `link`, `address`, `route`, `policy-rule`, `neighbour`, \
         `traffic`, `firewall`, `firewalld`, `conntrack`, `sysctl`, `store`, `device`, `packet` or \
         `ipam`; did you mean `link`?"
    );
    // There is an end to them.
    let names = "1, ".repeat(1000);
    let many = said_of_rule(&format!("{{ names: [{names}] }}"));
    assert_eq!(many.lines().count(), MOST_MISTAKES);
}

#[test]
fn nothing_and_too_much() {
    let empty = "1:1: the document is empty; expected a grant, with `apiVersion`, `kind`, `metadata` \
                 and `spec`";
    for nothing in ["", "\n", "# only a comment\n", "---\n", "null\n"] {
        assert_eq!(said(nothing), empty, "{nothing:?}");
    }
    assert_eq!(
        said(format!("{VALID}---\n{VALID}")),
        "14:1: a second document starts here; expected one document per file"
    );
    let large = format!("{VALID}#{}\n", "x".repeat(MOST_BYTES - VALID.len() - 2));
    assert_eq!(large.len(), MOST_BYTES);
    Document::read(large.as_bytes()).expect("large, and not too large");
    assert_eq!(
        said(large + "#"),
        "the document is too large; expected at most 1048576 bytes"
    );
}

#[test]
fn what_is_no_yaml() {
    assert_eq!(
        said_with(
            "  name: shaper\nspec",
            "  name: shaper\n  name: other\nspec"
        ),
        "5:3: duplicate key `name`; expected each key once"
    );
    assert_eq!(said("{"), "1:1: not valid YAML: unclosed bracket '{'");
    assert_eq!(
        said("kind: b: c\n"),
        "1:8: not valid YAML: mapping values are not allowed in this context"
    );
    assert_eq!(
        said(b"kind: PluginGrant\nx: \xc3\xa9\xff\n"),
        "2:5: byte 0xff is not UTF-8; expected text in UTF-8"
    );
    // Deep, and much of little: both are stopped.
    said("[".repeat(100_000));
    let laughs: String = (1..9)
        .map(|i| format!("l{i}: &l{i} [{}]\n", format!("*l{},", i - 1).repeat(10)))
        .collect();
    said(format!("l0: &l0 [lol]\n{laughs}"));
}

/// YAML's other words for true and false are texts here, as in JSON.
#[test]
fn a_link_may_be_called_no() {
    let document = VALID.replace("kinds: [veth]", "names: [no, on, y]");
    let document = Document::read(document.as_bytes()).expect("a valid document");
    let names = document.spec.capabilities.link[0].names.as_ref();
    let names: Vec<String> = names.into_iter().flatten().map(|p| p.to_string()).collect();
    assert_eq!(names, ["no", "on", "y"]);
}

/// To YAML, `*` begins an alias and `{` a mapping.
#[test]
fn a_value_that_needs_quotes_is_shown_in_quotes() {
    for (rule, word) in [
        ("{ names: [*] }", "*"),
        ("{ names: [veth0, *-veth] }", "*-veth"),
        ("{ names: *}", "*"),
        ("{ names: [{ifname}] }", "{ifname}"),
        ("{ names: {ifname} }", "{ifname}"),
        ("{ names: [br-{network}] }", "br-{network}"),
    ] {
        let said = said_of_rule(rule);
        let hint = format!("; put `{word}` in quotes: `\"{word}\"`");
        assert!(said.contains(&hint), "{rule}: {said}");
    }
    let another = said_of_rule("{ names: [{ a: b }] }");
    assert!(!another.contains("quotes"), "{another}");
}

#[test]
fn a_quantity_has_a_unit() {
    assert_eq!(
        said_with("memory: 64MiB", "memory: 64"),
        "12:21: found the number `64`; expected a size, such as `64MiB`"
    );
    assert_eq!(
        said_with("time: 60s", "time: 60"),
        "12:34: found the number `60`; expected a duration, such as `60s`"
    );
}

#[test]
fn a_file_is_named_by_its_whole_path() {
    for path in ["resolv.conf", "/etc/../etc/resolv.conf", "/etc/cni/.."] {
        let rule = format!("{{}}\n    store: [{{ files: [\"{path}\"] }}]");
        let said = said_of_rule(&rule);
        let expected = "is out of place; expected an absolute path without `..`, or `{resolvConf}`";
        let expected = format!("`{path}` {expected}");
        assert!(said.ends_with(&expected), "{said}");
    }
}

#[test]
fn empty_lists_are_found_in_both_sections() {
    let empty = |document: &str| empty_lists(document.as_bytes());
    assert_eq!(empty(VALID), [""; 0]);
    let rule = "    link:\n      - { namespace: host, kinds: [veth], verbs: [read] }\n";
    let document = VALID.replace(
        rule,
        &format!("    sysctl: []\n{rule}    policy-rule: []\n  tenants: {{ capabilities: {{ link: [] }} }}\n"),
    );
    assert!(Document::read(document.as_bytes()).is_ok(), "{document}");
    let expected = ["policy-rule", "sysctl", "tenants.link"];
    assert_eq!(empty(&document), expected);
    assert_eq!(empty("no document"), [""; 0]);
}
