//! Derivation of execution configurations, CNI section 3.

use serde_json::{Map, Value, json};
use weir_cni::{
    AddResult, Attachment, Code, Command, Execution, IpConfig, NetworkConfigList, Version,
};

fn list(version: &str, plugin: Value) -> NetworkConfigList {
    let list = json!({ "cniVersion": version, "name": "dbnet", "plugins": [plugin] });
    NetworkConfigList::from_value(list).unwrap()
}

fn capability_args() -> Map<String, Value> {
    let args = json!({
        "mac": "02:00:00:00:00:01",
        "portMappings": [{ "hostPort": 8080, "containerPort": 80, "protocol": "tcp" }]
    });
    args.as_object().unwrap().clone()
}

fn result() -> AddResult {
    AddResult {
        ips: vec![IpConfig {
            interface: None,
            address: "10.1.0.5/16".parse().unwrap(),
            gateway: None,
        }],
        ..AddResult::default()
    }
}

fn derive(list: &NetworkConfigList, execution: Execution<'_>) -> Value {
    let derived = list.execution_config(&list.plugins[0], &capability_args(), execution);
    derived.unwrap().into_value()
}

const ADD: Execution<'static> = Execution::Add { prev_result: None };

#[test]
fn cni_1_1_0_section_3_name_and_version_are_the_networks() {
    let list = list(
        "1.0.0",
        json!({ "type": "bridge", "name": "own", "cniVersion": "0.1.0", "bridge": "cni0" }),
    );
    assert_eq!(
        derive(&list, ADD),
        json!({ "type": "bridge", "name": "dbnet", "cniVersion": "1.0.0", "bridge": "cni0" })
    );
}

#[test]
fn cni_1_1_0_section_1_version_is_the_selected_one() {
    let list = NetworkConfigList::from_value(json!({
        "cniVersion": "0.4.0", "cniVersions": ["1.0.0"], "name": "n", "plugins": [{ "type": "a" }]
    }))
    .unwrap();
    assert_eq!(derive(&list, ADD)["cniVersion"], "1.0.0");
}

#[test]
fn cni_1_1_0_section_3_capabilities_are_removed_and_other_keys_pass_unaltered() {
    let plugin = json!({
        "type": "a", "capabilities": { "mac": true }, "args": { "x": 1 }, "nested": { "y": [null] }
    });
    let derived = derive(&list("1.1.0", plugin), ADD);
    assert_eq!(derived.get("capabilities"), None);
    assert_eq!(derived["args"], json!({ "x": 1 }));
    assert_eq!(derived["nested"], json!({ "y": [null] }));
}

#[test]
fn cni_1_1_0_section_3_runtime_config_is_what_the_plugin_asks_for_and_the_runtime_has() {
    let capabilities = json!({ "mac": true, "portMappings": false, "bandwidth": true });
    let plugin = json!({ "type": "a", "capabilities": capabilities });
    let derived = derive(&list("1.1.0", plugin), ADD);
    assert_eq!(
        derived["runtimeConfig"],
        json!({ "mac": "02:00:00:00:00:01" })
    );

    let derived = derive(&list("1.1.0", json!({ "type": "a" })), ADD);
    assert_eq!(derived.get("runtimeConfig"), None);
}

#[test]
fn cni_1_1_0_section_3_prev_result_is_in_the_networks_version() {
    let result = result();
    let add = Execution::Add {
        prev_result: Some(&result),
    };
    let derived = derive(&list("0.3.1", json!({ "type": "a" })), add);
    assert_eq!(
        derived["prevResult"],
        json!({
            "cniVersion": "0.3.1", "ips": [{ "version": "4", "address": "10.1.0.5/16" }], "dns": {}
        })
    );
    let check = Execution::Check {
        prev_result: &result,
    };
    let derived = derive(&list("1.1.0", json!({ "type": "a" })), check);
    assert_eq!(
        derived["prevResult"],
        json!({ "cniVersion": "1.1.0", "ips": [{ "address": "10.1.0.5/16" }] })
    );
}

#[test]
fn cni_0_4_0_del_has_a_prev_result_and_earlier_versions_have_none() {
    let result = result();
    let del = Execution::Del {
        prev_result: Some(&result),
    };
    for version in Version::ALL {
        let derived = derive(&list(version.as_str(), json!({ "type": "a" })), del);
        let has = derived.get("prevResult").is_some();
        assert_eq!(has, version >= Version::V0_4_0, "{version}");
    }
}

#[test]
fn cni_1_1_0_section_3_first_plugin_has_no_prev_result_even_if_its_configuration_forges_one() {
    let plugin = json!({ "type": "a", "prevResult": { "cniVersion": "1.0.0" } });
    assert_eq!(derive(&list("1.0.0", plugin), ADD).get("prevResult"), None);
}

#[test]
fn cni_1_1_0_section_3_gc_lists_the_valid_attachments() {
    let valid = [Attachment::new("c1", "eth0"), Attachment::new("c2", "net1")];
    let gc = Execution::Gc {
        valid_attachments: &valid,
    };
    let plugin = json!({
        "type": "a",
        "capabilities": { "mac": true },
        "cni.dev/valid-attachments": [{ "containerID": "forged", "ifname": "eth0" }]
    });
    let list = list("1.1.0", plugin);
    let expected = json!([
        { "containerID": "c1", "ifname": "eth0" },
        { "containerID": "c2", "ifname": "net1" }
    ]);
    assert_eq!(
        derive(&list, gc),
        json!({
            "type": "a",
            "name": "dbnet",
            "cniVersion": "1.1.0",
            "cni.dev/valid-attachments": expected,
            "cni.dev/attachments": expected
        })
    );
    let derived = list.execution_config(&list.plugins[0], &Map::new(), gc);
    assert_eq!(derived.unwrap().valid_attachments(), Some(valid.as_slice()));
}

#[test]
fn cni_1_1_0_section_3_status_has_neither_prev_result_nor_attachments() {
    let derived = derive(&list("1.1.0", json!({ "type": "a" })), Execution::Status);
    assert_eq!(
        derived,
        json!({ "type": "a", "name": "dbnet", "cniVersion": "1.1.0" })
    );
}

#[test]
fn commands_that_the_version_does_not_have_are_code_1() {
    let result = result();
    let executions = [
        (
            Execution::Check {
                prev_result: &result,
            },
            Version::V0_4_0,
        ),
        (Execution::Status, Version::V1_1_0),
        (
            Execution::Gc {
                valid_attachments: &[],
            },
            Version::V1_1_0,
        ),
        (ADD, Version::V0_1_0),
        (Execution::Del { prev_result: None }, Version::V0_1_0),
    ];
    for (execution, since) in executions {
        for version in Version::ALL {
            let list = list(version.as_str(), json!({ "type": "a" }));
            let derived = list.execution_config(&list.plugins[0], &Map::new(), execution);
            if version >= since {
                assert!(derived.is_ok());
            } else {
                let error = derived.unwrap_err();
                assert_eq!(error.code, Code::INCOMPATIBLE_VERSION);
                assert!(
                    error.msg.starts_with(execution.command().as_str()),
                    "{error}"
                );
            }
        }
    }
    assert_eq!(ADD.command(), Command::Add);
}

#[test]
fn a_prev_result_that_the_version_cannot_say_is_an_error() {
    let empty = AddResult::default();
    let add = Execution::Add {
        prev_result: Some(&empty),
    };
    let list = list("0.2.0", json!({ "type": "a" }));
    let error = list.execution_config(&list.plugins[0], &Map::new(), add);
    assert_eq!(
        error.unwrap_err().msg,
        "cannot convert: no valid IP addresses"
    );
}
