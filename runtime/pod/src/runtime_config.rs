//! What the plugins of a network get of the pod's selection: `args.cni` for each plugin, and capability arguments for those
//! that declare them.
//!
//! | key of the element | in `args.cni` | capability |
//! |---|---|---|
//! | `ips` (4.1.2.1.3.2) | `ips` | `ips` |
//! | `mac` (4.1.2.1.4.2) | `mac` | `mac` |
//! | `cni-args` | its members | |
//! | `ipam-claim-reference` | `ipam-claim-reference` | |
//! | `portMappings` | | `portMappings` |
//! | `bandwidth` | | `bandwidth` |
//! | `infiniband-guid` | | `infinibandGUID` |
//!
//! The id of the pod's device is the capability `deviceID`, and for plugins without capabilities the keys `deviceID` and
//! `pciBusID` of each plugin's configuration.

use serde_json::{Map, Value};
use weir_cni::{Error, NetworkConfigList, PluginConfig, RequestedAddress};
use weir_grant::section::Request;

use super::selection::Element;

/// The keys of a plugin's configuration that have a device's id.
const DEVICE_KEYS: [&str; 2] = ["deviceID", "pciBusID"];

/// The network with what the pod requests of its plugins, and the capability arguments.
///
/// Errors: code 7, naming the network and the plugin, if a plugin's own `args.cni` is not an object.
pub(crate) fn runtime_config(
    list: &NetworkConfigList,
    element: &Element,
    device_id: Option<&str>,
) -> Result<(NetworkConfigList, Map<String, Value>), Error> {
    let args = args(element);
    let change = |plugin: &PluginConfig| {
        with(plugin, &args, device_id).map_err(|error| {
            let plugin = plugin.plugin_type();
            error.with_prefix(format_args!("network `{}`: plugin `{plugin}`", list.name))
        })
    };
    let plugins = list.plugins.iter().map(change);
    let plugins: Vec<PluginConfig> = plugins.collect::<Result<_, Error>>()?;
    Ok((
        list.with_plugins(plugins),
        capability_args(element, device_id),
    ))
}

/// The pod's requests among the arguments. Those that it does not know, such as a device's, are not.
pub(crate) fn requests(
    element: Option<&Element>,
    capability_args: &Map<String, Value>,
) -> Vec<Request> {
    let args = element.map(args).unwrap_or_default();
    Request::of_keys(args.keys(), capability_args.keys())
}

/// The members of `args.cni`. Those of the standard override the user's of the same name.
fn args(element: &Element) -> Map<String, Value> {
    let mut args = element.cni_args.clone();
    args.extend(addresses(element));
    if let Some(claim) = &element.ipam_claim_reference {
        args.insert("ipam-claim-reference".to_owned(), claim.clone().into());
    }
    args
}

fn capability_args(element: &Element, device_id: Option<&str>) -> Map<String, Value> {
    let mut args = addresses(element);
    let others = [
        ("portMappings", element.port_mappings.clone()),
        ("bandwidth", element.bandwidth.clone()),
        (
            "infinibandGUID",
            element.infiniband_guid.clone().map(Value::from),
        ),
        ("deviceID", device_id.map(Value::from)),
    ];
    for (capability, argument) in others {
        if let Some(argument) = argument {
            args.insert(capability.to_owned(), argument);
        }
    }
    args
}

/// `ips` and `mac`, which are both arguments and capabilities.
fn addresses(element: &Element) -> Map<String, Value> {
    let mut args = Map::new();
    if !element.ips.is_empty() {
        let ips = element.ips.iter().map(RequestedAddress::to_string);
        args.insert("ips".to_owned(), ips.collect());
    }
    if let Some(mac) = element.mac {
        args.insert("mac".to_owned(), mac.to_string().into());
    }
    args
}

/// A plugin's configuration with more members of `args.cni`, and with a device.
fn with(
    plugin: &PluginConfig,
    args: &Map<String, Value>,
    device_id: Option<&str>,
) -> Result<PluginConfig, Error> {
    let mut config = plugin.as_map().clone();
    if !args.is_empty() {
        let cni = object(&mut config, "args").and_then(|args| object(args, "cni"));
        let cni = cni.ok_or_else(|| {
            Error::invalid_config(
                "args.cni: expected an object, to which the pod's arguments are added",
            )
        })?;
        cni.extend(args.clone());
    }
    for key in DEVICE_KEYS {
        if let Some(id) = device_id {
            config.insert(key.to_owned(), id.into());
        }
    }
    PluginConfig::from_value(Value::Object(config))
}

/// The object under a key, created if it is missing; none if the key has another value.
fn object<'m>(map: &'m mut Map<String, Value>, key: &str) -> Option<&'m mut Map<String, Value>> {
    let value = map.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_cni::Execution;

    use super::super::selection::networks;
    use super::*;

    fn element(keys: Value) -> Element {
        let mut element = json!({ "name": "net-b" });
        let own = element.as_object_mut().unwrap();
        own.extend(keys.as_object().unwrap().clone());
        let text = json!([element]).to_string();
        networks(&text, "default").unwrap().elements.remove(0)
    }

    fn list(plugins: Value) -> NetworkConfigList {
        let list = json!({ "cniVersion": "1.1.0", "name": "net", "plugins": plugins, "own": 1 });
        NetworkConfigList::from_value(list).unwrap()
    }

    /// The configurations that plugins without capabilities get, and the capability arguments.
    fn handed(plugins: Value, keys: Value) -> (Vec<Value>, Value) {
        let (list, args) = runtime_config(&list(plugins), &element(keys), None).unwrap();
        let plugins = list.plugins.into_iter().map(PluginConfig::into_value);
        (plugins.collect(), args.into())
    }

    #[test]
    fn npwg_4_1_2_1_3_2_ips_are_in_the_args_of_each_plugin() {
        let keys = json!({ "ips": ["10.2.2.42", "2001:DB8::5/64"] });
        let plugins = json!([{ "type": "a" }, { "type": "b", "args": { "other": 1 } }]);
        let (plugins, args) = handed(plugins, keys);
        let ips = json!(["10.2.2.42", "2001:db8::5/64"]);
        assert_eq!(plugins[0]["args"], json!({ "cni": { "ips": ips } }));
        assert_eq!(
            plugins[1]["args"],
            json!({ "cni": { "ips": ips }, "other": 1 })
        );
        assert_eq!(args, json!({ "ips": ips }));
    }

    #[test]
    fn npwg_4_1_2_1_4_2_mac_is_in_the_args_of_each_plugin() {
        let plugins = json!([{ "type": "a" }, { "type": "b" }]);
        let (plugins, args) = handed(plugins, json!({ "mac": "02-23-45-67-89-AB" }));
        for plugin in plugins {
            assert_eq!(
                plugin["args"],
                json!({ "cni": { "mac": "02:23:45:67:89:ab" } })
            );
        }
        assert_eq!(args, json!({ "mac": "02:23:45:67:89:ab" }));
    }

    #[test]
    fn npwg_4_1_2_1_3_2_the_selection_wins_over_the_network_and_over_cni_args() {
        let keys = json!({
            "ips": ["10.0.0.1"],
            "mac": "02:00:00:00:00:01",
            "ipam-claim-reference": "vm1.net",
            "cni-args": {
                "ips": ["10.0.0.2"], "mac": "x", "ipam-claim-reference": "y",
                "mine": "the pod's", "deep": { "a": [1] }
            }
        });
        let own = json!({ "cni": { "ips": ["10.0.0.3"], "mine": "the network's", "labels": [] } });
        let (plugins, args) = handed(json!([{ "type": "a", "args": own }]), keys);
        assert_eq!(
            plugins[0]["args"]["cni"],
            json!({
                "ips": ["10.0.0.1"], "mac": "02:00:00:00:00:01", "ipam-claim-reference": "vm1.net",
                "mine": "the pod's", "deep": { "a": [1] }, "labels": []
            })
        );
        assert_eq!(
            args,
            json!({ "ips": ["10.0.0.1"], "mac": "02:00:00:00:00:01" })
        );
    }

    #[test]
    fn capabilities_reach_the_plugins_that_declare_them() {
        let keys = json!({
            "portMappings": [{ "hostPort": 8080, "containerPort": 80, "protocol": "TCP" }],
            "bandwidth": { "ingressRate": 2048, "ingressBurst": 1600 },
            "infiniband-guid": "C2:11:22:33:44:55:66:77",
        });
        let plugins = json!([
            { "type": "portmap", "capabilities": { "portMappings": true, "bandwidth": false } },
            { "type": "ib", "capabilities": { "infinibandGUID": true, "mac": true } },
        ]);
        let (list, args) = runtime_config(&list(plugins), &element(keys), None).unwrap();
        let execution = Execution::Add { prev_result: None };
        let config = |index: usize| {
            let config = list.execution_config(&list.plugins[index], &args, execution);
            config.unwrap().into_value()
        };
        let mapping = json!({ "hostPort": 8080, "containerPort": 80, "protocol": "tcp" });
        assert_eq!(
            config(0)["runtimeConfig"],
            json!({ "portMappings": [mapping] })
        );
        assert_eq!(
            config(1)["runtimeConfig"],
            json!({ "infinibandGUID": "c2:11:22:33:44:55:66:77" })
        );
        assert_eq!(
            args["bandwidth"],
            json!({ "ingressRate": 2048, "ingressBurst": 1600 })
        );
        assert!(
            config(0).get("args").is_none(),
            "capabilities are no arguments"
        );
    }

    #[test]
    fn npwg_7_1_each_plugin_of_a_list_has_its_name_and_version() {
        let plugins = json!([{ "type": "a" }, { "type": "b", "cniVersion": "0.3.0" }]);
        let keys = json!({ "mac": "02:00:00:00:00:01" });
        let (list, args) = runtime_config(&list(plugins), &element(keys), None).unwrap();
        for plugin in &list.plugins {
            let execution = Execution::Add { prev_result: None };
            let config = list.execution_config(plugin, &args, execution).unwrap();
            assert_eq!(config.as_map()["name"], "net");
            assert_eq!(config.as_map()["cniVersion"], "1.1.0");
        }
    }

    #[test]
    fn a_device_is_where_plugins_look_for_it() {
        let plugins = list(json!([{ "type": "a", "deviceID": "old" }, { "type": "b" }]));
        let (list, args) =
            runtime_config(&plugins, &element(json!({})), Some("0000:01:00.2")).unwrap();
        for plugin in &list.plugins {
            assert_eq!(plugin.as_map()["deviceID"], "0000:01:00.2");
            assert_eq!(plugin.as_map()["pciBusID"], "0000:01:00.2");
            assert!(plugin.get("args").is_none());
        }
        assert_eq!(Value::from(args), json!({ "deviceID": "0000:01:00.2" }));
    }

    #[test]
    fn an_element_that_asks_for_nothing_changes_nothing() {
        let before = list(json!([{ "type": "a", "args": { "cni": "whatever" } }]));
        let (after, args) = runtime_config(&before, &element(json!({})), None).unwrap();
        assert_eq!(after, before);
        assert!(args.is_empty());
    }

    /// What is remembered of an attachment is read again as the network that it was.
    #[test]
    fn what_is_handed_out_stands_in_the_list_itself() {
        let keys = json!({ "mac": "02:00:00:00:00:01" });
        let (list, _) =
            runtime_config(&list(json!([{ "type": "a" }])), &element(keys), None).unwrap();
        let again = NetworkConfigList::from_value(list.as_map().clone().into()).unwrap();
        assert_eq!(again, list);
        assert_eq!(list.as_map()["own"], 1);
    }

    #[test]
    fn args_that_cannot_be_added_to_are_refused() {
        let network = list(json!([{ "type": "a" }, { "type": "b", "args": { "cni": [] } }]));
        let element = element(json!({ "mac": "02:00:00:00:00:01" }));
        let error = runtime_config(&network, &element, None).unwrap_err();
        assert_eq!(error.code, weir_cni::Code::INVALID_CONFIG);
        assert!(
            error
                .msg
                .starts_with("network `net`: plugin `b`: args.cni: expected an object"),
            "{error}"
        );
    }
}
