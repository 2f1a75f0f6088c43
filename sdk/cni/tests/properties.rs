//! Properties that hold for any input.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weir_cni::{
    AddResult, Args, Dns, Environment, Error, Execution, Interface, IpConfig, IpNet, Mac,
    NetworkConfigList, PluginConfig, Route, Version, from_json, to_json, validate_interface_name,
};

fn versions() -> impl Strategy<Value = Version> {
    prop::sample::select(Version::ALL.to_vec())
}

fn addresses() -> impl Strategy<Value = IpAddr> {
    let v4 = any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
    let v6 = any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)));
    prop_oneof![v4, v6]
}

fn nets() -> impl Strategy<Value = IpNet> {
    (addresses(), any::<u8>()).prop_map(|(address, prefix)| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        IpNet::new(address, prefix % (bits + 1)).unwrap()
    })
}

/// Text that is not empty: empty and absent are the same in JSON.
fn texts() -> impl Strategy<Value = String> {
    ".{1,12}"
}

fn interfaces() -> impl Strategy<Value = Interface> {
    let optional = || option::of(texts());
    (
        ".{0,12}",
        optional(),
        option::of(1..=u32::MAX),
        optional(),
        optional(),
        optional(),
    )
        .prop_map(|(name, mac, mtu, sandbox, socket_path, pci_id)| Interface {
            name,
            mac,
            mtu,
            sandbox,
            socket_path,
            pci_id,
        })
}

fn ips() -> impl Strategy<Value = IpConfig> {
    (option::of(any::<u32>()), nets(), option::of(addresses())).prop_map(
        |(interface, address, gateway)| IpConfig {
            interface,
            address,
            gateway,
        },
    )
}

fn routes() -> impl Strategy<Value = Route> {
    let number = || option::of(1..=u32::MAX);
    let zero_or_more = || option::of(any::<u32>());
    (
        nets(),
        option::of(addresses()),
        number(),
        number(),
        number(),
        zero_or_more(),
        any::<Option<u8>>(),
    )
        .prop_map(|(dst, gw, mtu, advmss, priority, table, scope)| Route {
            dst,
            gw,
            mtu,
            advmss,
            priority,
            table,
            scope,
        })
}

fn dns() -> impl Strategy<Value = Dns> {
    let list = || vec(".{0,8}", 0..3);
    (list(), ".{0,8}", list(), list()).prop_map(|(nameservers, domain, search, options)| Dns {
        nameservers,
        domain,
        search,
        options,
    })
}

fn results() -> impl Strategy<Value = AddResult> {
    (
        vec(interfaces(), 0..4),
        vec(ips(), 0..5),
        vec(routes(), 0..5),
        dns(),
    )
        .prop_map(|(interfaces, ips, routes, dns)| AddResult {
            interfaces,
            ips,
            routes,
            dns,
        })
}

/// What is left of a result in a version's shape, said without the conversion itself.
fn as_version_can_say(result: &AddResult, version: Version) -> AddResult {
    let mut kept = result.clone();
    if version < Version::V1_1_0 {
        for interface in &mut kept.interfaces {
            (interface.mtu, interface.socket_path, interface.pci_id) = (None, None, None);
        }
        kept.routes = kept
            .routes
            .iter()
            .map(|r| Route::new(r.dst, r.gw))
            .collect();
    }
    if version < Version::V0_3_0 {
        kept.interfaces.clear();
        let first = |v4: bool| {
            result
                .ips
                .iter()
                .find(|ip| ip.address.addr().is_ipv4() == v4)
        };
        kept.ips = [first(true), first(false)]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        kept.ips.iter_mut().for_each(|ip| ip.interface = None);
        let families: Vec<bool> = kept
            .ips
            .iter()
            .map(|ip| ip.address.addr().is_ipv4())
            .collect();
        kept.routes
            .retain(|route| families.contains(&route.dst.addr().is_ipv4()));
        kept.routes.sort_by_key(|route| route.dst.addr().is_ipv6());
    }
    kept
}

/// Any JSON, with the keys of the specification more often than others.
fn documents() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "cniVersion",
        "cniVersions",
        "name",
        "type",
        "plugins",
        "capabilities",
        "ipam",
        "dns",
        "args",
        "runtimeConfig",
        "prevResult",
        "cni.dev/valid-attachments",
        "containerID",
        "ifname",
        "disableCheck",
        "disableGC",
        "loadOnlyInlinedPlugins",
        "interfaces",
        "ips",
        "routes",
        "ip4",
        "ip6",
        "ip",
        "address",
        "gateway",
        "interface",
        "dst",
        "gw",
        "mtu",
        "scope",
        "table",
        "nameservers",
        "search",
        "code",
        "msg",
        "details",
        "supportedVersions",
        "other",
    ]);
    let leaves = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,10}".prop_map(Value::from),
        nets().prop_map(|net| net.to_string().into()),
        versions().prop_map(|version| version.as_str().into()),
        Just(json!("bridge")),
    ];
    leaves.prop_recursive(5, 64, 6, move |inner| {
        let keys = keys.clone().prop_map(str::to_string);
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((keys, inner), 0..8).prop_map(|pairs| Value::from(Map::from_iter(pairs))),
        ]
    })
}

proptest! {
    #[test]
    fn reading_what_was_printed_gives_what_the_version_can_say(
        result in results(),
        version in versions(),
    ) {
        match to_json(&result, version) {
            Ok(json) => {
                prop_assert_eq!(&json["cniVersion"], version.as_str());
                prop_assert_eq!(from_json(&json).unwrap(), as_version_can_say(&result, version));
            }
            Err(error) => {
                prop_assert!(result.ips.is_empty() && !version.has_interfaces(), "{}", error);
            }
        }
    }

    #[test]
    fn converting_down_and_up_and_down_again_changes_nothing_more(
        result in results(),
        low in versions(),
        high in versions(),
    ) {
        prop_assume!(low <= high && !result.ips.is_empty());
        let direct = to_json(&result, low).unwrap();
        let through_high = from_json(&to_json(&result, high).unwrap()).unwrap();
        prop_assert_eq!(&to_json(&through_high, low).unwrap(), &direct);
        let up = to_json(&from_json(&direct).unwrap(), high).unwrap();
        prop_assert_eq!(to_json(&from_json(&up).unwrap(), low).unwrap(), direct);
    }

    #[test]
    fn serde_of_results_is_lossless(result in results()) {
        let text = serde_json::to_string(&result).unwrap();
        prop_assert_eq!(serde_json::from_str::<AddResult>(&text).unwrap(), result);
    }

    #[test]
    fn any_json_is_read_or_refused_with_a_message(value in documents()) {
        let results = [
            from_json(&value).map(drop),
            PluginConfig::from_value(value.clone()).map(drop),
            NetworkConfigList::from_value(value.clone()).map(drop),
        ];
        for error in results.into_iter().filter_map(Result::err) {
            prop_assert!(!error.msg.is_empty() && error.code.0 != 0);
        }
        let _ = Error::from_json(&value);
    }

    #[test]
    fn what_is_read_from_any_json_can_be_printed_and_read_again(value in documents()) {
        if let Ok(result) = from_json(&value) {
            prop_assert_eq!(from_json(&to_json(&result, Version::LATEST).unwrap()), Ok(result));
        }
        if let Ok(config) = PluginConfig::from_value(value.clone()) {
            let _ = config.prev_result();
            prop_assert_eq!(config.into_value(), value);
        }
    }

    #[test]
    fn lists_derive_execution_configurations_for_all_their_plugins(value in documents()) {
        let plugins = json!([{ "type": "a", "extra": value }, { "type": "b" }]);
        let list = json!({ "name": "n", "cniVersion": "1.1.0", "plugins": plugins });
        let list = NetworkConfigList::from_value(list).unwrap();
        for plugin in &list.plugins {
            let derived = list.execution_config(plugin, &Map::new(), Execution::Status).unwrap();
            prop_assert_eq!(derived.get("extra"), plugin.get("extra"));
            prop_assert_eq!(derived.network_name(), Ok("n"));
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        let _ = PluginConfig::parse(&text);
        let _ = NetworkConfigList::parse(&text);
        let _ = text.parse::<Mac>();
        let _ = text.parse::<Version>();
        if let Ok(args) = text.parse::<Args>() {
            prop_assert_eq!(args.to_string(), text);
        }
    }

    #[test]
    fn args_parse_what_they_print(pairs in vec(("[^;=]{1,6}", "[^;=]{0,6}"), 0..5)) {
        let text: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let args: Args = text.join(";").parse().unwrap();
        let expected = pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        prop_assert!(args.iter().eq(expected));
        prop_assert_eq!(args.to_string().parse::<Args>().unwrap(), args);
    }

    #[test]
    fn hardware_addresses_parse_what_they_print(
        bytes in prop_oneof![vec(any::<u8>(), 6), vec(any::<u8>(), 8), vec(any::<u8>(), 20)],
    ) {
        let mac = Mac::from_bytes(&bytes).unwrap();
        prop_assert_eq!(mac.to_string().parse::<Mac>(), Ok(mac));
        prop_assert_eq!(mac.as_bytes(), bytes);
    }

    #[test]
    fn errors_read_what_they_print(code in 1..=u32::MAX, msg in ".*", details in ".*") {
        let error = Error::new(code, msg).with_details(details);
        prop_assert_eq!(Error::from_json(&error.to_json("1.1.0")), Some(error));
    }

    #[test]
    fn valid_interface_names_obey_the_specification(name in ".{0,20}") {
        if validate_interface_name(&name).is_ok() {
            prop_assert!((1..=15).contains(&name.len()) && name != "." && name != "..");
            prop_assert!(!name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace()));
        }
    }

    #[test]
    fn any_environment_is_read_or_refused_naming_a_variable(
        values in prop::array::uniform5(option::of(prop_oneof!["ADD|DEL|GC", ".{0,16}"])),
    ) {
        let names = ["CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS"];
        let set = names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)));
        if let Err(error) = Environment::from_variables(set) {
            prop_assert!(names.iter().any(|name| error.msg.contains(name)), "{}", error);
        }
    }
}
