//! Configurations of `static`, called by itself and under `bridge` and `ptp`.

use serde_json::{Value, json};

use crate::case::{Case, cases};

/// `static` alone, with these keys in `ipam`.
fn alone(ipam: Value) -> Case {
    let case = Case::new(json!({"type": "static"})).with("ipam", ipam);
    case.with_ipam("type", json!("static"))
}

/// `static` under a main plugin.
fn under(main: Value, ipam: Value) -> Case {
    let case = Case::new(main).with("ipam", ipam);
    case.with_ipam("type", json!("static"))
}

fn one_address() -> Value {
    json!({"addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}]})
}

cases! {
    one_address_alone: alone(one_address());
    both_families: alone(json!({
        "addresses": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00:1::5/64"}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.0.2.0/24", "gw": "10.1.0.9"}],
        "dns": {"nameservers": ["192.0.2.1"], "domain": "example.com", "search": ["a.example"],
                "options": ["ndots:2"]},
    }));
    no_address: alone(json!({}));
    an_empty_gateway: alone(json!({"addresses": [{"address": "10.1.0.5/24", "gateway": ""}]}));
    arguments: alone(one_address())
        .args("IP=10.2.0.5/24;GATEWAY=10.2.0.1", "IP=10.2.0.6/24,fd00:1::6/64;GATEWAY=10.2.0.1,fd00:1::1");
    arguments_alone: alone(json!({})).args("IP=10.2.0.5/24", "IP=fd00:1::6/64");
    arguments_without_prefix_length:
        alone(one_address()).args("IP=10.2.0.5", "IP=nonsense").fails();
    a_gateway_that_is_none:
        alone(one_address()).args("GATEWAY=nonsense", "GATEWAY=10.1.0.300").fails();
    a_gateway_of_no_subnet: alone(one_address()).args("GATEWAY=10.9.0.1", "GATEWAY=10.1.0.9");
    what_args_ask_for: alone(one_address())
        .with("args", json!({"cni": {"ips": ["10.3.0.5/24", "fd00:3::5/64"]}}));
    what_the_runtime_asks_for: alone(one_address())
        .with("args", json!({"cni": {"ips": ["10.3.0.5/24"]}}))
        .with("runtimeConfig", json!({"ips": ["10.4.0.5/24"]}));
    what_the_runtime_asks_for_is_no_subnet: alone(one_address())
        .with("runtimeConfig", json!({"ips": ["10.4.0.5"]})).fails();
    an_address_without_prefix_length:
        alone(json!({"addresses": [{"address": "10.1.0.5"}]})).fails();
    several_addresses_of_one_family: alone(json!({
        "addresses": [{"address": "10.1.0.5/24"}, {"address": "10.2.0.5/24"}],
    }));
    several_addresses_in_an_old_version: alone(json!({
        "addresses": [{"address": "10.1.0.5/24"}, {"address": "10.2.0.5/24"}],
    })).with("cniVersion", json!("0.2.0")).fails();
    an_address_of_each_family_in_an_old_version: alone(json!({
        "addresses": [{"address": "10.1.0.5/24"}, {"address": "fd00:1::5/64"}],
    })).with("cniVersion", json!("0.2.0"));
    under_a_bridge: under(
        json!({"type": "bridge", "bridge": "br", "isDefaultGateway": true}),
        one_address(),
    ).of_second("ipam", json!({
        "type": "static", "addresses": [{"address": "10.1.0.6/24", "gateway": "10.1.0.1"}],
    }));
    under_a_point_to_point_link: under(json!({"type": "ptp"}), one_address())
        .of_second("ipam", json!({
            "type": "static", "addresses": [{"address": "10.1.0.6/24", "gateway": "10.1.0.1"}],
        }));
}
