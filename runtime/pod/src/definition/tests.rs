//! Which plugins an object means, clause by clause.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use weir_cni::Version;

use super::*;
use crate::reference::Reference;

fn directory(files: &[(&str, Value)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (file, content) in files {
        fs::write(directory.path().join(file), content.to_string()).unwrap();
    }
    directory
}

fn object(name: &str, config: Option<&str>) -> Definition {
    Definition {
        reference: Reference {
            namespace: "default".to_owned(),
            name: name.to_owned(),
        },
        config: config.map(str::to_owned),
        annotations: BTreeMap::new(),
    }
}

fn of(name: &str, config: &str) -> Result<NetworkConfigList, Error> {
    list(&object(name, Some(config)), Path::new("/nonexistent"))
}

fn types(list: &NetworkConfigList) -> Vec<&str> {
    list.plugins.iter().map(|p| p.plugin_type()).collect()
}

fn one(name: &str, plugin: &str) -> Value {
    json!({ "cniVersion": "0.3.1", "name": name, "type": plugin })
}

fn several(name: &str, plugin: &str) -> Value {
    json!({ "cniVersion": "0.3.1", "name": name, "plugins": [{ "type": plugin }] })
}

#[test]
fn npwg_3_2_1_a_cni_config_in_the_object() {
    let list = of(
        "a-bridge-network",
        r#"{ "cniVersion": "0.3.0", "name": "a-bridge-network", "type": "bridge",
             "bridge": "br0", "isGateway": true,
             "ipam": { "type": "host-local", "subnet": "192.168.5.0/24",
                       "dataDir": "/mnt/cluster-ipam" } }"#,
    )
    .unwrap();
    assert_eq!(list.name, "a-bridge-network");
    assert_eq!(list.cni_version, Version::V0_3_0);
    assert_eq!(types(&list), ["bridge"]);
    assert_eq!(list.plugins[0].ipam_type(), Some("host-local"));
}

#[test]
fn npwg_3_2_2_a_cni_configlist_in_the_object() {
    let list = of(
        "another-bridge-network",
        r#"{ "cniVersion": "0.3.0", "name": "another-bridge-network", "plugins": [
             { "type": "bridge", "bridge": "br0",
               "ipam": { "type": "host-local", "subnet": "192.168.5.0/24" } },
             { "type": "port-forwarding" },
             { "type": "tuning", "sysctl": { "net.ipv4.conf.all.log_martians": "1" } } ] }"#,
    )
    .unwrap();
    assert_eq!(types(&list), ["bridge", "port-forwarding", "tuning"]);
}

/// The standard's example of a thick plugin.
fn thick() -> NetworkConfigList {
    let config = r#"{ "cniVersion": "0.3.0", "type": "awesome-plugin" }"#;
    of("a-bridge-network", config).unwrap()
}

#[test]
fn npwg_3_2_3_a_thick_plugin_needs_its_type_alone() {
    let list = thick();
    assert_eq!(types(&list), ["awesome-plugin"]);
}

#[test]
fn npwg_3_2_4_an_object_without_a_spec_names_a_network_of_the_node() {
    let directory = directory(&[("10-a.conf", one("a-bridge-network", "bridge"))]);
    let list = list(&object("a-bridge-network", None), directory.path()).unwrap();
    assert_eq!(types(&list), ["bridge"]);
}

#[test]
fn npwg_3_2_without_valid_keys_in_its_spec_an_object_names_a_known_network() {
    let directory = directory(&[("10-a.conflist", several("known", "bridge"))]);
    list(&object("known", None), directory.path()).unwrap();
    list(&object("unknown", None), directory.path()).unwrap_err();
}

#[test]
fn npwg_3_4_1_config_comes_before_files() {
    let directory = directory(&[("10-net.conflist", several("net", "of-file"))]);
    let object = object("net", Some(r#"{ "type": "of-object" }"#));
    assert_eq!(
        types(&list(&object, directory.path()).unwrap()),
        ["of-object"]
    );
}

/// Also where the single plugin's file has the name that comes first.
#[test]
fn npwg_3_4_1_lists_come_before_single_plugins() {
    let directory = directory(&[
        ("10-net.conf", one("net", "of-conf")),
        ("20-net.json", one("net", "of-json")),
        ("30-net.conflist", several("net", "of-conflist")),
        ("30-net.txt", several("net", "of-text")),
    ]);
    let types_now = || {
        let list = list(&object("net", None), directory.path()).unwrap();
        types(&list).join(" ")
    };
    assert_eq!(types_now(), "of-conflist");
    fs::remove_file(directory.path().join("30-net.conflist")).unwrap();
    assert_eq!(types_now(), "of-conf");
    fs::remove_file(directory.path().join("10-net.conf")).unwrap();
    assert_eq!(types_now(), "of-json");
    fs::remove_file(directory.path().join("20-net.json")).unwrap();
    list(&object("net", None), directory.path()).unwrap_err();
}

#[test]
fn npwg_3_4_1_files_are_found_by_the_name_that_they_say() {
    let directory = directory(&[
        ("net.conflist", several("other", "wrong")),
        ("elsewhere.conflist", several("net", "right")),
    ]);
    let list = list(&object("net", None), directory.path()).unwrap();
    assert_eq!(types(&list), ["right"]);
}

#[test]
fn npwg_3_4_1_otherwise_the_request_fails_and_says_what_is_there() {
    let directory = directory(&[
        ("10-red.conflist", several("red", "bridge")),
        ("20-broken.conflist", json!([1])),
    ]);
    let error = list(&object("net", None), directory.path()).unwrap_err();
    assert_eq!(error.code, codes::NO_NETWORK);
    let expected = format!(
        "NetworkAttachmentDefinition `default/net`: has no spec.config: no such network in `{}`: `net`",
        directory.path().display()
    );
    assert_eq!(error.msg, expected);
    assert!(error.details.contains("`red`"), "{error}");
    assert!(error.details.contains("20-broken.conflist"), "{error}");

    let nothing = list(&object("net", None), Path::new("/nonexistent")).unwrap_err();
    assert_eq!(nothing.code, codes::NO_NETWORK);
    assert!(
        nothing.details.contains("no network configuration"),
        "{nothing}"
    );
}

#[test]
fn npwg_3_4_1_a_config_that_is_none_is_refused_by_name() {
    let cases = [
        ("", "not valid JSON: EOF"),
        ("not JSON", "not valid JSON: expected"),
        ("[]", "expected an object"),
        (r#""text""#, "expected an object"),
        (
            "{}",
            "has neither a plugin's `type` nor a list of `plugins`",
        ),
        (r#"{ "plugins": [] }"#, "plugins: is empty"),
        (r#"{ "plugins": null }"#, "has neither a plugin's `type`"),
        (r#"{ "plugins": {} }"#, "plugins: expected a list"),
        (
            r#"{ "plugins": [{}] }"#,
            "plugins[0]: key `type` is missing",
        ),
        (r#"{ "type": "" }"#, "type: plugin type `` is empty"),
        (r#"{ "type": "../bridge" }"#, "is a path"),
        (r#"{ "type": 1 }"#, "type: expected a string"),
        (r#"{ "type": "a", "cniVersion": "9.9.9" }"#, "9.9.9"),
        (r#"{ "type": "a", "name": 1 }"#, "name: expected a string"),
        (r#"{ "type": "a", "name": "../../etc" }"#, "../../etc"),
        (r#"{ "type": "a", "args": 1 }"#, "args: expected an object"),
    ];
    for (config, expected) in cases {
        let error = of("net", config).unwrap_err();
        assert_eq!(error.code, codes::NO_NETWORK, "{config}: {error}");
        let prefix = "NetworkAttachmentDefinition `default/net`: spec.config: ";
        assert!(error.msg.starts_with(prefix), "{config}: {error}");
        assert!(error.msg.contains(expected), "{config}: {error}");
    }
}

#[test]
fn npwg_3_4_1_weir_is_not_its_own_delegate() {
    let directory = directory(&[("10-net.conflist", several("net", "weir"))]);
    let on_disk = list(&object("net", None), directory.path()).unwrap_err();
    let chained = r#"{ "plugins": [{ "type": "bridge" }, { "type": "weir" }] }"#;
    let chained = of("net", chained).unwrap_err();
    let alone = of("net", r#"{ "type": "weir", "delegates": [] }"#).unwrap_err();
    for error in [on_disk, chained, alone] {
        assert_eq!(error.code, codes::NO_NETWORK);
        assert!(error.msg.contains("cannot be its own delegate"), "{error}");
    }
}

#[test]
fn npwg_3_4_1_a_name_does_not_lead_out_of_the_directory() {
    let directory = directory(&[]);
    for name in ["../net", "/etc/passwd", "..", "a/b", ""] {
        let error = list(&object(name, None), directory.path()).unwrap_err();
        assert_eq!(error.code, codes::NO_NETWORK, "{name:?}");
        assert!(error.msg.contains("network name"), "{name:?}: {error}");
    }
}

#[test]
fn npwg_3_4_2_a_config_without_a_name_has_the_objects() {
    for config in [
        r#"{ "type": "a" }"#,
        r#"{ "type": "a", "name": "" }"#,
        r#"{ "type": "a", "name": null }"#,
        r#"{ "plugins": [{ "type": "a" }, { "type": "b" }] }"#,
    ] {
        let list = of("the-object", config).unwrap();
        assert_eq!(list.name, "the-object", "{config}");
        assert_eq!(list.as_map()["name"], "the-object", "{config}");
    }
}

#[test]
fn npwg_3_4_2_1_the_example_of_name_injection() {
    let list = thick();
    let call = weir_cni::Execution::Add { prev_result: None };
    let sent = list.execution_config(&list.plugins[0], &Default::default(), call);
    assert_eq!(
        sent.unwrap().into_value(),
        json!({
            "cniVersion": "0.3.0", "name": "a-bridge-network", "type": "awesome-plugin"
        })
    );
}

#[test]
fn npwg_3_4_3_the_two_names_need_not_match() {
    let list = of("object", r#"{ "type": "a", "name": "network" }"#).unwrap();
    assert_eq!(list.name, "network");
}

#[test]
fn a_config_without_a_version_is_of_the_first() {
    assert_eq!(
        of("net", r#"{ "type": "a" }"#).unwrap().cni_version,
        Version::V0_1_0
    );
}
