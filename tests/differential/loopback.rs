//! Configurations of `loopback`.

use serde_json::{Value, json};

use crate::case::{Case, cases, in_machine_cases};

fn loopback(keys: Value) -> Case {
    Case::new(keys).with("type", json!("loopback"))
}

cases! {
    alone: loopback(json!({}));
    it_is_up_already: loopback(json!({})).in_containers("link set lo up");
    it_has_another_loopback_address:
        loopback(json!({})).in_containers("address add 127.0.0.2/8 dev lo");
    ipv6_is_off_in_the_containers:
        loopback(json!({})).parameter("ipv6/conf/lo/disable_ipv6", "1");
}

// A container that has another link before.
in_machine_cases! {
    another_link_is_there: loopback(json!({})).in_containers("link add dummy1 type dummy").deleted_twice();
}
