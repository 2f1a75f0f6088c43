//! Network configuration lists and plugin configurations, as runtimes and kubelets write them: every
//! text is a configuration or an error, and the execution configurations of a list are
//! configurations themselves.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Map;
use weir_cni::{Execution, NetworkConfigList, PluginConfig};

fuzz_target!(|text: &str| {
    if let Ok(plugin) = PluginConfig::parse(text) {
        read(&plugin);
        if let Ok(list) = NetworkConfigList::from_plugin(plugin) {
            execute(&list);
        }
    }
    if let Ok(list) = NetworkConfigList::parse(text) {
        execute(&list);
    }
});

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
