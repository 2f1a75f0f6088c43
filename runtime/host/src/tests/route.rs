//! Capability `route`.

use weir_grant::Namespace;
use weir_grant::address::AddressRule;
use weir_grant::route::{self as grant, MAIN_TABLE, RouteRule};
use weir_kernel::Code;

use super::super::bindings::weir::cni::address::Host as _;
use super::super::bindings::weir::cni::route::{Host as _, Route};
use super::address::new;
use super::{CONTAINER, HOST, Lab, by_name, code, machine_with_a_pair};

const RULES: &str =
    r#"{"address": [{}], "route": [{"namespace": "container", "links": ["{ifname}"]}]}"#;

pub(super) fn over(link: &str, destination: &str) -> Route {
    let destination = destination.parse().expect("a network");
    Route {
        link: Some(by_name(link)),
        ..grant::Route::<u32>::unicast(destination).into()
    }
}

/// A machine where `eth0` has an address.
fn lab() -> Lab {
    let mut lab = Lab::on(machine_with_a_pair(), RULES);
    let mut view = lab.view::<AddressRule>();
    let added = view.add(CONTAINER, by_name("eth0"), new("10.1.0.2/24"));
    added.expect("an address");
    Lab::on(lab.node, RULES)
}

fn add(lab: &mut Lab, namespace: super::types::Namespace, route: Route) -> Option<Code> {
    code(lab.view::<RouteRule>().add(namespace, route))
}

#[test]
fn a_route_goes_into_the_main_table_and_is_taken_back() {
    let mut lab = lab();
    let before = lab.node.state();
    assert_eq!(add(&mut lab, CONTAINER, over("eth0", "10.5.0.0/16")), None);
    let replaced = Route {
        mtu: Some(1400),
        ..over("eth0", "10.5.0.0/16")
    };
    lab.view::<RouteRule>()
        .replace(CONTAINER, replaced)
        .expect("a replacement");
    let routes = lab.node.network(Namespace::Container).routes;
    let made = routes
        .iter()
        .find(|route| route.mtu == Some(1400))
        .expect("the route");
    assert_eq!(made.table, MAIN_TABLE);
    lab.undo_to(&before);
}

#[test]
fn routes_over_other_links_are_denied() {
    let mut lab = lab();
    let before = lab.node.state();
    let denied = Some(Code::Denied);
    assert_eq!(add(&mut lab, HOST, over("host0", "10.5.0.0/16")), denied);
    assert_eq!(add(&mut lab, CONTAINER, over("lo", "10.5.0.0/16")), denied);
    assert_eq!(lab.node.state(), before);
}
