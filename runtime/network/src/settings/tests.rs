//! The messages about configurations that are not valid.

use serde_json::{Value, json};
use weir_cni::Version;

use super::*;

fn digest() -> String {
    format!("sha256:{}", "0b".repeat(32))
}

/// The messages about a configuration, a line for each mistake.
fn said(bytes: impl AsRef<[u8]>) -> String {
    let mistakes = read(bytes.as_ref()).expect_err("not valid");
    let lines: Vec<String> = mistakes.iter().map(Diagnostic::to_string).collect();
    lines.join("\n")
}

#[track_caller]
fn said_of_network(network: Value) -> String {
    said(json!({ "podNetworks": [network] }).to_string())
}

fn bridge() -> Value {
    json!({ "name": "mynet", "containerInterface": "eth{n}", "type": "bridge", "bridge": "mynet0" })
}

#[track_caller]
fn said_with(key: &str, value: Value) -> String {
    let mut network = bridge();
    network[key] = value;
    said_of_network(network)
}

#[test]
fn a_valid_configuration_is_read() {
    let document = json!({
        "nativePlugins": [{
            "name": "flannel", "digest": digest(), "networks": ["cbr0", "kube-system/*"],
            "binDir": "/opt/flannel", "limits": { "time": "2s" },
        }],
        "podNetworks": [
            { "name": "lo", "type": "loopback" },
            { "name": "mynet", "default": true, "containerInterface": "eth{n}", "cniVersion": "1.0.0",
              "plugins": [{ "type": "bridge", "bridge": "mynet0" }, { "type": "portmap" }] },
        ],
    });
    for text in [document.to_string(), format!("{document:#}")] {
        let settings = read(text.as_bytes()).expect("valid");
        let [flannel] = &settings.native_plugins[..] else {
            panic!("{settings:?}");
        };
        assert_eq!(flannel.digest.to_string(), digest());
        assert_eq!(flannel.limits.time.as_secs(), 2);
        assert!(flannel.covers_network("kube-system/a"));
        let [lo, mynet] = &settings.pod_networks[..] else {
            panic!("{settings:?}");
        };
        assert_eq!(lo.interface, Interface::Loopback);
        assert_eq!(lo.list.cni_version, Version::LATEST);
        assert!(!lo.is_default && mynet.is_default);
        assert_eq!(mynet.list.plugins.len(), 2);
        assert_eq!(mynet.list.as_map().get("default"), None);
        assert_eq!(mynet.list.as_map().get("containerInterface"), None);
    }
    let forward = read(br#"{ "audit": { "forward": "journald" } }"#).expect("valid");
    assert_eq!(forward.audit.forward, Some(weir_gate::Receiver::Journald));
    let tabs = "{\n\t\"podNetworks\":\t[]\n}";
    assert_eq!(read(tabs.as_bytes()).expect("valid"), Settings::default());
}

#[test]
fn interfaces_of_the_host_are_names_and_globs() {
    let settings = read(br#"{ "hostInterfaces": ["eth1", "ens*"] }"#).expect("valid");
    assert!(settings.host_interfaces.has("ens3") && !settings.host_interfaces.has("eth0"));
    for (value, expected) in [
        ("\"eth1\"", "1:21: found the text `eth1`; expected a list"),
        ("[\"a b\"]", "1:22: `a b` is not a link's name"),
        ("[\"eth[\"]", "1:22: `eth[` is not a valid glob"),
        ("[7]", "1:22: "),
    ] {
        let said = said(format!("{{ \"hostInterfaces\": {value} }}"));
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn what_is_no_json() {
    assert_eq!(
        said(""),
        "1:1: the document is empty; expected a mapping, with `nativePlugins`, `podNetworks`, `hostInterfaces` or `audit`"
    );
    assert_eq!(
        said("podNetworks: []\n"),
        "1:1: not valid JSON: expected value"
    );
    assert_eq!(
        said("{\n  \"podNetworks\": [],\n}"),
        "3:1: not valid JSON: key must be a string"
    );
    assert_eq!(
        said("{\"podNetworks\": [], \"podNetworks\": []}"),
        "1:21: duplicate key `podNetworks`; expected each key once"
    );
    assert!(said("[]").contains("found a list; expected a mapping"));
    assert!(said(vec![b' '; MOST_BYTES + 1]).contains("too large"));
}

#[test]
fn unknown_keys_and_wrong_types_have_a_place() {
    assert_eq!(
        said("{\n  \"podNetwork\": []\n}"),
        "2:3: unknown key `podNetwork`; expected `nativePlugins`, `podNetworks`, `hostInterfaces` or `audit`; did you mean \
         `podNetworks`?"
    );
    assert_eq!(
        said("{\"nativePlugins\": {}}"),
        "1:19: found a mapping; expected a list"
    );
    for (old, new, expected) in [
        ("\"name\"", "\"names\"", "1:21: unknown key `names`"),
        (
            "\"flannel\"",
            "\"../flannel\"",
            "must start with an ASCII letter",
        ),
        ("sha256:", "md5:", "is not a digest"),
        (
            "[\"cbr0\"]",
            "\"cbr0\"",
            "found the text `cbr0`; expected a list",
        ),
        ("[\"cbr0\"]", "[\"[\"]", "is not a valid glob"),
        ("2s", "61s", "expected a duration from 1ms to 60s"),
        ("\"time\"", "\"memory\"", "unknown key `memory`"),
        (
            "/opt",
            "opt",
            "`opt` is out of place; expected an absolute path",
        ),
    ] {
        let valid = format!(
            "{{\"nativePlugins\": [{{\"name\": \"flannel\", \"digest\": \"{}\", \"networks\": [\"cbr0\"], \
             \"binDir\": \"/opt\", \"limits\": {{\"time\": \"2s\"}}}}]}}",
            digest()
        );
        read(valid.as_bytes()).expect("valid");
        assert!(valid.contains(old), "{old}");
        let said = said(valid.replacen(old, new, 1));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_native_plugin_needs_a_digest_and_networks() {
    for missing in ["name", "digest", "networks"] {
        let mut entry = json!({ "name": "flannel", "digest": digest(), "networks": ["*"] });
        entry.as_object_mut().expect("an object").remove(missing);
        let said = said(json!({ "nativePlugins": [entry] }).to_string());
        assert!(
            said.ends_with(&format!("missing key `{missing}` of `nativePlugins`")),
            "{said}"
        );
    }
}

#[test]
fn a_name_is_needed_and_there_once() {
    let mut network = bridge();
    network.as_object_mut().expect("an object").remove("name");
    assert!(said_of_network(network).contains("`name` is missing"));
    assert!(said_with("name", json!("../up")).contains("network name"));
    assert!(said_with("name", json!(7)).contains("name"));
    let twice = said(json!({ "podNetworks": [bridge(), bridge()] }).to_string());
    assert_eq!(
        twice,
        "1:16: two networks are called `mynet`; expected each name once"
    );
}

#[test]
fn what_is_wrong_with_a_network() {
    for (key, value, expected) in [
        (
            "default",
            json!("yes"),
            "`default`: found \"yes\"; expected true or false",
        ),
        (
            "containerInterface",
            json!(["eth0"]),
            "`containerInterface`: found [\"eth0\"]; expected text",
        ),
        (
            "containerInterface",
            json!("eth{m}"),
            "`eth{m}` has a brace that does not belong to a placeholder",
        ),
        (
            "containerInterface",
            json!("a/b"),
            "`a/b` is not an interface name",
        ),
        (
            "aci",
            json!("apcera.com/kurma/cni-netplugin"),
            "`aci`: found \"apcera.com/kurma/cni-netplugin\"; expected a URI",
        ),
        (
            "aci",
            json!("file:///x.wasm"),
            "`aci` and `type` both name the plugin",
        ),
        ("type", json!("../bridge"), "is a path"),
        ("type", json!(null), "mynet"),
        ("plugins", json!([]), "network `mynet`"),
        (
            "cniVersion",
            json!("9.9.9"),
            "cniVersion `9.9.9` is not supported",
        ),
        ("ipam", json!("host-local"), "ipam"),
    ] {
        let said = said_with(key, value);
        assert!(said.contains(expected), "{key}: {said}");
        assert!(said.starts_with("1:17: "), "{key}: {said}");
    }
}

#[test]
fn the_interface_is_left_out_for_loopback_alone() {
    let mut network = bridge();
    network
        .as_object_mut()
        .expect("an object")
        .remove("containerInterface");
    let said = said_of_network(network);
    assert!(
        said.contains("network `mynet`: `containerInterface` is missing"),
        "{said}"
    );
    let other = json!({ "name": "lo", "type": "loopback", "containerInterface": "eth{n}" });
    assert!(said_of_network(other).contains("has only the interface `lo`"));
    let own = json!({ "podNetworks": [
        { "name": "lo", "type": "loopback", "containerInterface": "lo" }
    ] });
    let settings = read(own.to_string().as_bytes()).expect("valid");
    assert_eq!(settings.pod_networks[0].interface, Interface::Loopback);
}
