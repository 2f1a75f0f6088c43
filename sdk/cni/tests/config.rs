//! Network configurations and plugin configurations.

use serde_json::{Value, json};
use weir_cni::{
    Attachment, Code, Error, NetworkConfigList, PluginConfig, Version, is_plugin_uri,
    validate_plugin_type,
};

fn list(extra: Value) -> Result<NetworkConfigList, Error> {
    let mut value = json!({ "cniVersion": "1.0.0", "name": "net", "plugins": [{ "type": "ptp" }] });
    let map = value.as_object_mut().unwrap();
    for (key, extra) in extra.as_object().unwrap() {
        map.insert(key.clone(), extra.clone());
    }
    NetworkConfigList::from_value(value)
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, code: Code, expected: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    assert!(
        error.to_string().contains(expected),
        "{error} should say {expected}"
    );
}

#[test]
fn cni_1_1_0_section_1_list_has_the_specifications_keys() {
    let list = NetworkConfigList::parse(
        r#"{
            "cniVersion": "1.1.0",
            "name": "dbnet",
            "disableCheck": true,
            "disableGC": true,
            "loadOnlyInlinedPlugins": true,
            "example.org/note": [1, 2],
            "plugins": [
                { "type": "bridge", "ipam": { "type": "host-local" }, "keyA": ["x"] },
                { "type": "tuning" }
            ]
        }"#,
    )
    .unwrap();
    assert_eq!(list.name, "dbnet");
    assert_eq!(list.cni_version, Version::V1_1_0);
    assert!(list.disable_check && list.disable_gc && list.load_only_inlined_plugins);
    let types: Vec<&str> = list.plugins.iter().map(PluginConfig::plugin_type).collect();
    assert_eq!(types, ["bridge", "tuning"]);
    assert_eq!(list.plugins[0].get("keyA"), Some(&json!(["x"])));
    assert_eq!(list.as_map()["example.org/note"], json!([1, 2]));
}

#[test]
fn cni_1_1_0_section_1_flags_are_false_unless_said() {
    let list = list(json!({})).unwrap();
    assert!(!list.disable_check && !list.disable_gc && !list.load_only_inlined_plugins);
}

#[test]
fn flags_may_be_text_in_any_case_as_in_libcni() {
    for key in ["disableCheck", "disableGC", "loadOnlyInlinedPlugins"] {
        let read = |value: Value| {
            let list = list(json!({ key: value }))?;
            Ok::<_, Error>(match key {
                "disableCheck" => list.disable_check,
                "disableGC" => list.disable_gc,
                _ => list.load_only_inlined_plugins,
            })
        };
        for (value, expected) in [
            (json!(true), true),
            (json!("true"), true),
            (json!("TRUE"), true),
            (json!(false), false),
            (json!("False"), false),
            (json!(null), false),
        ] {
            assert_eq!(read(value), Ok(expected));
        }
        for value in [json!("yes"), json!(1), json!("1"), json!({})] {
            assert_refused(read(value), Code::INVALID_CONFIG, key);
        }
    }
}

#[test]
fn cni_1_1_0_section_1_highest_mutually_supported_version_is_selected() {
    let select = |version: Option<&str>, versions: Value| {
        let mut value = json!({ "name": "net", "plugins": [{ "type": "ptp" }] });
        if let Some(version) = version {
            value["cniVersion"] = version.into();
        }
        value["cniVersions"] = versions;
        NetworkConfigList::from_value(value).map(|list| list.cni_version)
    };
    let cases = [
        (
            Some("0.4.0"),
            json!(["0.3.1", "1.0.0", "0.4.0"]),
            Version::V1_0_0,
        ),
        (Some("1.1.0"), json!(["0.3.1"]), Version::V1_1_0),
        (None, json!(["0.3.1", "0.3.0"]), Version::V0_3_1),
        (
            Some("9.0.0"),
            json!(["1.0.0", "10.0.0", "2.0.0-rc1"]),
            Version::V1_0_0,
        ),
        (None, json!(["0.9.9", "0.4.0"]), Version::V0_4_0),
        (Some("0.4.0"), json!([]), Version::V0_4_0),
        (None, json!([]), Version::V0_1_0),
        (Some("0.4.0"), Value::Null, Version::V0_4_0),
        (None, Value::Null, Version::V0_1_0),
    ];
    for (version, versions, expected) in cases {
        assert_eq!(select(version, versions), Ok(expected));
    }
    let none_known = select(Some("3.0.0"), json!(["2.0.0"]));
    assert_refused(none_known, Code::INCOMPATIBLE_VERSION, "2.0.0");
    for versions in [
        json!(["banana"]),
        json!(["1.0"]),
        json!([1.0]),
        json!("1.0.0"),
    ] {
        let refused = select(Some("1.0.0"), versions);
        assert_refused(refused, Code::INVALID_CONFIG, "cniVersions");
    }
}

#[test]
fn unknown_version_is_code_1_and_names_what_is_supported() {
    let refused = list(json!({ "cniVersion": "9.9.9" }));
    assert_refused(refused, Code::INCOMPATIBLE_VERSION, "`9.9.9`");
    let refused = list(json!({ "cniVersion": "9.9.9" }));
    assert_refused(refused, Code::INCOMPATIBLE_VERSION, "0.3.1");
}

#[test]
fn single_configuration_is_converted_to_a_list() {
    let plugin = json!({
        "cniVersion": "0.3.1", "name": "dbnet", "type": "bridge", "bridge": "cni0", "x": { "y": 1 }
    });
    let list = NetworkConfigList::from_value(plugin.clone()).unwrap();
    assert_eq!(
        (list.name.as_str(), list.cni_version),
        ("dbnet", Version::V0_3_1)
    );
    assert_eq!(list.plugins.len(), 1);
    assert_eq!(list.plugins[0].clone().into_value(), plugin);
    let as_list = json!({ "cniVersion": "0.3.1", "name": "dbnet", "plugins": [plugin] });
    assert_eq!(Value::from(list.as_map().clone()), as_list);

    let without_version = NetworkConfigList::parse(r#"{ "name": "a", "type": "b" }"#).unwrap();
    assert_eq!(without_version.cni_version, Version::V0_1_0);
    let without_name = NetworkConfigList::parse(r#"{ "type": "bridge" }"#);
    assert_refused(without_name, Code::INVALID_CONFIG, "`name` is missing");
}

#[test]
fn cni_1_1_0_section_1_plugins_may_come_from_elsewhere_unless_only_inlined_are_allowed() {
    let list = NetworkConfigList::parse(r#"{ "cniVersion": "1.1.0", "name": "a" }"#).unwrap();
    assert!(list.plugins.is_empty());
    let only_inlined = r#"{ "cniVersion": "1.1.0", "name": "a", "loadOnlyInlinedPlugins": true }"#;
    let refused = NetworkConfigList::parse(only_inlined);
    assert_refused(refused, Code::INVALID_CONFIG, "loadOnlyInlinedPlugins");
}

#[test]
fn invalid_lists_name_the_key() {
    for (extra, expected) in [
        (
            json!({ "name": null }),
            "network configuration: key `name` is missing",
        ),
        (
            json!({ "name": "" }),
            "network configuration: key `name` is missing",
        ),
        (
            json!({ "name": 7 }),
            "network configuration: name: expected a string, found 7",
        ),
        (json!({ "name": "a/b" }), "`a/b` contains '/'"),
        (
            json!({ "cniVersion": 1 }),
            "network configuration: cniVersion: expected a string, found 1",
        ),
        (
            json!({ "plugins": {} }),
            "network configuration: plugins: expected a list, found {}",
        ),
        (
            json!({ "plugins": [] }),
            "network configuration: plugins: is empty",
        ),
        (
            json!({ "plugins": [1] }),
            "network configuration: plugins[0]: expected an object, found 1",
        ),
        (
            json!({ "plugins": [{}] }),
            "network configuration: plugins[0]: key `type` is missing",
        ),
        (
            json!({ "plugins": [{ "type": "../x" }] }),
            "network configuration: plugins[0].type: plugin type `../x` is a path",
        ),
        (
            json!({ "plugins": [{ "type": "a" }, { "type": "b", "dns": [] }] }),
            "network configuration: plugins[1].dns: expected an object",
        ),
    ] {
        assert_refused(list(extra), Code::INVALID_CONFIG, expected);
    }
}

#[test]
fn what_is_not_json_is_code_6_with_line_and_column() {
    for (text, expected) in [
        ("", "is empty"),
        (" \n", "is empty"),
        ("{\n  \"name\": }", "line 2 column 11"),
        ("{} {}", "trailing characters"),
    ] {
        assert_refused(
            NetworkConfigList::parse(text),
            Code::DECODING_FAILURE,
            expected,
        );
        assert_refused(PluginConfig::parse(text), Code::DECODING_FAILURE, expected);
    }
    for text in ["[]", "null", "\"x\"", "1"] {
        let refused = NetworkConfigList::parse(text);
        assert_refused(
            refused,
            Code::INVALID_CONFIG,
            "network configuration: expected an object",
        );
        let refused = PluginConfig::parse(text);
        assert_refused(
            refused,
            Code::INVALID_CONFIG,
            "plugin configuration: expected an object",
        );
    }
}

#[test]
fn cni_1_1_0_section_1_plugin_configuration_has_a_typed_view_and_keeps_unknown_keys() {
    let value = json!({
        "cniVersion": "1.0.0",
        "name": "dbnet",
        "type": "bridge",
        "capabilities": { "portMappings": true, "mac": true, "bandwidth": false },
        "ipMasq": true,
        "ipam": { "type": "host-local", "subnet": "10.1.0.0/16" },
        "dns": { "nameservers": ["10.1.0.1"] },
        "args": { "cni": { "ips": ["10.1.0.9"] } },
        "runtimeConfig": { "mac": "02:00:00:00:00:01" },
        "prevResult": { "cniVersion": "1.0.0", "ips": [{ "address": "10.1.0.9/16" }] },
        "cni.dev/valid-attachments": [{ "containerID": "c1", "ifname": "eth0" }],
        "unknown": [{ "a": null }]
    });
    let config = PluginConfig::from_value(value.clone()).unwrap();
    assert_eq!(config.plugin_type(), "bridge");
    assert_eq!(config.network_name(), Ok("dbnet"));
    assert_eq!(config.cni_version(), Some("1.0.0"));
    assert_eq!(config.version(), Ok(Version::V1_0_0));
    assert!(config.capabilities().eq(["mac", "portMappings"]));
    assert!(config.has_capability("mac") && !config.has_capability("bandwidth"));
    assert_eq!(config.ipam_type(), Some("host-local"));
    assert_eq!(config.runtime_config().unwrap()["mac"], "02:00:00:00:00:01");
    let result = config.prev_result().unwrap().unwrap();
    assert_eq!(result.ips[0].address.to_string(), "10.1.0.9/16");
    let valid = [Attachment::new("c1", "eth0")];
    assert_eq!(config.valid_attachments(), Some(valid.as_slice()));
    assert_eq!(serde_json::to_value(&config).unwrap(), value);
    assert_eq!(config.into_value(), value);
}

/// What a runtime does with one, and which it takes, is the runtime's matter.
#[test]
fn a_type_may_be_a_uri() {
    let uri = "https://example.com/plugins/labels.wasm";
    let config = json!({ "type": uri, "name": "dbnet", "ipam": { "type": uri } });
    let config = PluginConfig::from_value(config).unwrap();
    assert_eq!(config.plugin_type(), uri);
    assert_eq!(config.ipam_type(), Some(uri));
    assert!(is_plugin_uri(uri) && !is_plugin_uri("labels"));
    assert!(
        validate_plugin_type(uri).is_err(),
        "it is not a file's name"
    );
}

#[test]
fn absent_and_null_keys_are_the_same() {
    for text in [
        r#"{ "type": "ptp" }"#,
        r#"{
            "type": "ptp", "name": null, "cniVersion": null, "capabilities": null, "ipam": null,
            "dns": null, "args": null, "runtimeConfig": null, "prevResult": null,
            "cni.dev/valid-attachments": null
        }"#,
    ] {
        let config = PluginConfig::parse(text).unwrap();
        assert_eq!((config.name(), config.cni_version()), (None, None));
        assert_eq!(config.version(), Ok(Version::V0_1_0));
        assert_eq!(config.capabilities().count(), 0);
        assert_eq!((config.ipam_type(), config.runtime_config()), (None, None));
        assert_eq!(config.prev_result(), Ok(None));
        assert_eq!(config.valid_attachments(), None);
        assert_refused(
            config.network_name(),
            Code::INVALID_CONFIG,
            "`name` is missing",
        );
    }
}

#[test]
fn both_names_of_valid_attachments_are_read_and_an_empty_list_is_not_absence() {
    let read = |value: Value| PluginConfig::from_value(value).unwrap();
    let config = read(json!({
        "type": "a", "cni.dev/attachments": [{ "containerID": "c", "ifname": "i" }]
    }));
    assert_eq!(
        config.valid_attachments().unwrap(),
        [Attachment::new("c", "i")]
    );
    let config = read(json!({ "type": "a", "cni.dev/valid-attachments": [] }));
    assert_eq!(config.valid_attachments(), Some([].as_slice()));
}

#[test]
fn invalid_plugin_configurations_are_code_7_and_name_the_key() {
    for (key, value, expected) in [
        ("type", json!(""), "plugin type `` is empty"),
        ("type", json!("/bin/sh"), "is a path"),
        ("type", json!("https:/example.com/x"), "is a path"),
        ("type", json!(3), "type: expected a string, found 3"),
        ("name", json!([]), "name: expected a string"),
        (
            "cniVersion",
            json!(1.0),
            "cniVersion: expected a string, found 1.0",
        ),
        (
            "capabilities",
            json!(["mac"]),
            "capabilities: expected an object",
        ),
        (
            "capabilities",
            json!({ "mac": "yes" }),
            "capabilities.mac: expected true or false",
        ),
        (
            "ipam",
            json!("host-local"),
            "ipam: expected an object, found \"host-local\"",
        ),
        ("ipam", json!({ "type": 1 }), "ipam.type: expected a string"),
        (
            "dns",
            json!({ "nameservers": [1] }),
            "dns.nameservers[0]: expected a string, found 1",
        ),
        ("args", json!(1), "args: expected an object"),
        (
            "runtimeConfig",
            json!([]),
            "runtimeConfig: expected an object",
        ),
        ("prevResult", json!("x"), "prevResult: expected an object"),
        (
            "cni.dev/valid-attachments",
            json!([{ "ifname": "eth0" }]),
            "cni.dev/valid-attachments[0]: key `containerID` is missing",
        ),
        (
            "cni.dev/valid-attachments",
            json!({}),
            "cni.dev/valid-attachments: expected a list",
        ),
    ] {
        let mut config = json!({ "type": "bridge" });
        config[key] = value;
        assert_refused(
            PluginConfig::from_value(config),
            Code::INVALID_CONFIG,
            expected,
        );
    }
}

#[test]
fn errors_show_only_the_beginning_of_long_values() {
    let long = "x".repeat(5000);
    let error = PluginConfig::from_value(json!({ "type": "a", "ipam": long })).unwrap_err();
    assert!(error.msg.len() < 200, "{error}");
}

#[test]
fn prev_result_without_version_is_of_the_configurations_version() {
    let read = |value: Value| PluginConfig::from_value(value).unwrap().prev_result();
    let result = read(json!({
        "type": "a", "cniVersion": "1.0.0", "prevResult": { "ips": [{ "address": "10.0.0.1/8" }] }
    }));
    assert_eq!(result.unwrap().unwrap().ips.len(), 1);
    let refused = read(json!({ "type": "a", "prevResult": { "cniVersion": "8.0.0" } }));
    assert_refused(
        refused,
        Code::INCOMPATIBLE_VERSION,
        "prevResult: cniVersion `8.0.0`",
    );
    let refused = read(json!({ "type": "a", "prevResult": { "ip4": 1 } }));
    assert_refused(refused, Code::DECODING_FAILURE, "prevResult: result: ip4");
}
