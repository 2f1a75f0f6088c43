//! Capability `address`.

use ipnet::IpNet;
use weir_grant::Namespace;
use weir_kernel::Code;

use super::super::bindings::weir::cni::address::{Host as _, NewAddress};
use super::super::bindings::weir::cni::types::IpNetwork;
use super::{CONTAINER, HOST, Lab, by_name, code, machine_with_a_pair};

const PODS: &str = r#"{"address": [{"namespace": "container", "links": ["{ifname}"], "addresses": ["10.1.0.0/16"]}]}"#;

fn network(text: &str) -> IpNetwork {
    let network: IpNet = text.parse().expect("a network");
    network.into()
}

pub(super) fn new(address: &str) -> NewAddress {
    NewAddress {
        address: network(address),
        peer: None,
        broadcast: None,
        no_duplicate_detection: false,
        no_prefix_route: false,
    }
}

#[test]
fn an_address_is_added_and_taken_back() {
    let mut lab = Lab::on(machine_with_a_pair(), PODS);
    let before = lab.node.state();
    let added = lab
        .view()
        .add(CONTAINER, by_name("eth0"), new("10.1.0.2/24"));
    added.expect("an address");
    let container = lab.node.network(Namespace::Container);
    let expected: IpNet = "10.1.0.2/24".parse().expect("an address");
    assert_eq!(container.addresses_of("eth0"), [expected]);
    assert_eq!(container.routes.len(), 2, "its own and its network's");
    let again = lab
        .view()
        .add(CONTAINER, by_name("eth0"), new("10.1.0.2/24"));
    assert_eq!(code(again), Some(Code::Exists));
    lab.undo_to(&before);
}

#[test]
fn addresses_of_others_are_denied() {
    let mut lab = Lab::on(machine_with_a_pair(), PODS);
    let before = lab.node.state();
    for (namespace, link, address) in [
        (CONTAINER, "eth0", "192.0.2.1/24"),
        (CONTAINER, "lo", "10.1.0.2/24"),
        (HOST, "host0", "10.1.0.2/24"),
    ] {
        let added = lab.view().add(namespace, by_name(link), new(address));
        assert_eq!(code(added), Some(Code::Denied), "{address} at {link}");
    }
    assert_eq!(lab.node.state(), before);
}

#[test]
fn a_prefix_that_is_too_long_is_invalid() {
    let mut lab = Lab::on(machine_with_a_pair(), PODS);
    let mut wrong = new("10.1.0.2/24");
    wrong.address.prefix_length = 33;
    let added = lab.view().add(CONTAINER, by_name("eth0"), wrong);
    assert_eq!(code(added), Some(Code::Invalid));
}
