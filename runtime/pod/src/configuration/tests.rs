use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> Result<Configuration, Error> {
    let mut config = json!({
        "cniVersion": "1.0.0", "name": "pods", "type": "weir",
        "delegates": [{ "type": "bridge" }],
    });
    for (key, value) in value.as_object().expect("an object") {
        config[key] = value.clone();
    }
    let config = PluginConfig::from_value(config).expect("a plugin's configuration");
    Configuration::read(&config, &Paths::below("/root-of-weir"))
}

fn refused(value: Value) -> String {
    read(value).expect_err("a mistake").msg
}

#[test]
fn what_is_left_out_is_as_with_multus() {
    let read = read(json!({})).expect("valid");
    assert_eq!(read.name, "pods");
    assert_eq!(read.namespace, "kube-system");
    assert_eq!(read.system_namespaces, ["kube-system"]);
    assert_eq!(read.isolation.global, ["default"]);
    assert!(!read.isolation.is_on);
    assert_eq!(
        read.conf_dir,
        Path::new("/root-of-weir/etc/cni/multus/net.d")
    );
    assert_eq!(read.cni_dir, Path::new("/root-of-weir/var/lib/cni/multus"));
    assert_eq!(read.kubeconfig, None);
    assert_eq!(read.readiness_indicator, None);
    assert_eq!(read.warnings, Vec::<String>::new());
    assert!(read.logging.to_stderr);
}

#[test]
fn the_first_delegate_is_the_default_network_and_has_the_name_of_the_configuration() {
    let read = read(json!({ "delegates": [{ "type": "bridge" }, { "name": "b", "type": "ptp" }] }));
    let read = read.expect("valid");
    let ClusterNetwork::Given(first) = &read.cluster_network else {
        panic!("{:?}", read.cluster_network);
    };
    assert_eq!(first.name, "pods");
    assert_eq!(first.cni_version, Version::V1_0_0);
    assert_eq!(read.delegates.len(), 1);
    assert_eq!(read.delegates[0].name, "b");
}

#[test]
fn cluster_network_comes_before_delegates() {
    let read = read(json!({ "clusterNetwork": "flannel" })).expect("valid");
    assert_eq!(
        read.cluster_network,
        ClusterNetwork::Named("flannel".to_owned())
    );
    assert!(read.delegates.is_empty());
    assert!(
        read.warnings[0].contains("delegates"),
        "{:?}",
        read.warnings
    );
}

#[test]
fn one_of_cluster_network_and_delegates_is_needed() {
    let error = refused(json!({ "delegates": null }));
    assert!(error.contains("clusterNetwork and delegates"), "{error}");
    let error = refused(json!({ "delegates": [] }));
    assert!(error.contains("clusterNetwork and delegates"), "{error}");
}

#[test]
fn global_namespaces_are_a_text_or_a_list() {
    for value in [json!("a, b"), json!(["a", "b"])] {
        let read = read(json!({ "globalNamespaces": value })).expect("valid");
        assert_eq!(read.isolation.global, ["a", "b"]);
    }
}

#[test]
fn a_value_of_another_type_is_named_with_its_key() {
    for (key, value, expected) in [
        ("clusterNetwork", json!(1), "a string"),
        ("defaultNetworks", json!("a"), "a list of strings"),
        ("defaultNetworks", json!([1]), "a list of strings"),
        ("delegates", json!({}), "a list of network configurations"),
        ("kubeconfig", json!("relative"), "an absolute path"),
        ("confDir", json!(7), "a string"),
        ("cniDir", json!("relative"), "an absolute path"),
        ("binDir", json!([]), "a string"),
        ("namespaceIsolation", json!("true"), "true or false"),
        ("globalNamespaces", json!(5), "names separated by commas"),
        (
            "systemNamespaces",
            json!("kube-system"),
            "a list of strings",
        ),
        ("multusNamespace", json!([]), "a string"),
        (
            "readinessindicatorfile",
            json!("run/flannel"),
            "an absolute path",
        ),
        ("logFile", json!("multus.log"), "an absolute path"),
        ("logLevel", json!("loud"), "debug, verbose, error or panic"),
        ("logToStderr", json!("yes"), "true or false"),
        ("logOptions", json!([]), "an object"),
        ("retryDeleteOnError", json!("x"), "true or false"),
    ] {
        let error = refused(json!({ key: value }));
        assert!(error.starts_with(&format!("{key}: ")), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let error = refused(json!({ "logOptions": { "maxAge": "old" } }));
    assert!(error.starts_with("logOptions.maxAge: "), "{error}");
    let error = refused(json!({ "delegates": [{ "type": "bridge" }, { "name": "x" }] }));
    assert!(error.starts_with("delegates[1]"), "{error}");
}

#[test]
fn a_log_file_and_unknown_keys_are_warned_of() {
    let read = read(json!({ "logFile": "/var/log/multus.log", "daemonSocketDir": "/run" }));
    let warnings = read.expect("valid").warnings;
    assert!(
        warnings
            .iter()
            .any(|w| w.contains("`/var/log/multus.log` is not written"))
    );
    assert!(warnings.iter().any(|w| w.starts_with("daemonSocketDir: ")));
}

#[test]
fn log_levels_are_those_of_multus() {
    for (word, level) in [
        ("panic", Level::Error),
        ("error", Level::Error),
        ("verbose", Level::Info),
        ("debug", Level::Debug),
    ] {
        let read = read(json!({ "logLevel": word, "logToStderr": false })).expect("valid");
        assert_eq!(read.logging.level, level);
        assert!(!read.logging.to_stderr);
    }
}
