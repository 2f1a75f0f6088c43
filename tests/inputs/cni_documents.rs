//! What CNI has as JSON. Network configuration lists and plugin configurations, as runtimes and kubelets write them: every text is a
//! configuration or an error, and the execution configurations of a list are configurations themselves. Results, as plugins of every
//! version print them: what a version can hold comes back from it, and the newest holds everything.

use serde_json::{Map, Value};
use weir_cni::{
    AddResult, Execution, NetworkConfigList, PluginConfig, Version, from_json, from_json_assuming,
    to_json,
};

/// One input, which is text.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    configuration(text);
    if let Ok(document) = serde_json::from_str::<Value>(text) {
        result(&document);
    }
}

fn configuration(text: &str) {
    if let Ok(plugin) = PluginConfig::parse(text) {
        read(&plugin);
        if let Ok(list) = NetworkConfigList::from_plugin(plugin) {
            execute(&list);
        }
    }
    if let Ok(list) = NetworkConfigList::parse(text) {
        execute(&list);
    }
}

/// Looks at all that a configuration has.
fn read(plugin: &PluginConfig) {
    let _ = (plugin.version(), plugin.network_name(), plugin.ipam_type());
    let _ = (plugin.prev_result(), plugin.runtime_config());
    let _ = plugin.valid_attachments();
    assert!(
        plugin
            .capabilities()
            .all(|name| plugin.has_capability(name))
    );
    let again = PluginConfig::from_value(plugin.clone().into_value()).expect("it was one before");
    assert_eq!(again.as_map(), plugin.as_map());
}

/// What each plugin of a list would read from standard input on ADD.
fn execute(list: &NetworkConfigList) {
    let arguments = Map::new();
    for plugin in &list.plugins {
        read(plugin);
        let executed = list
            .execution_config(plugin, &arguments, Execution::Add { prev_result: None })
            .expect("without a previous result nothing can be unfit");
        assert_eq!(executed.version().ok(), Some(list.cni_version));
        assert_eq!(executed.plugin_type(), plugin.plugin_type());
        read(&executed);
    }
}

fn result(document: &Value) {
    for assumed in Version::ALL {
        if let Ok(result) = from_json_assuming(document, assumed) {
            convert(&result);
        }
    }
}

fn convert(result: &AddResult) {
    for version in Version::ALL {
        let Ok(printed) = to_json(result, version) else {
            assert!(
                !version.has_interfaces(),
                "{version} can express everything except addresses"
            );
            continue;
        };
        let held = from_json(&printed).expect("what is printed can be read");
        let again = to_json(&held, version).expect("it had an address before");
        assert_eq!(again, printed, "{version}");
        assert_eq!(held.dns, result.dns, "{version}");
        if version.has_interfaces() {
            let addresses = |r: &AddResult| r.ips.iter().map(|ip| ip.address).collect::<Vec<_>>();
            let destinations = |r: &AddResult| r.routes.iter().map(|r| r.dst).collect::<Vec<_>>();
            assert_eq!(addresses(&held), addresses(result), "{version}");
            assert_eq!(destinations(&held), destinations(result), "{version}");
            assert_eq!(held.interfaces.len(), result.interfaces.len(), "{version}");
        }
    }
}
