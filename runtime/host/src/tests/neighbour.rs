//! Capability `neighbour`.

use weir_grant::Namespace;
use weir_kernel::Code;

use super::super::bindings::weir::cni::neighbour::{Host as _, Neighbour, State};
use super::super::bindings::weir::cni::types::IpAddress;
use super::{CONTAINER, HOST, Lab, by_name, code, machine_with_a_pair};

fn entry() -> Neighbour {
    Neighbour {
        address: IpAddress::Ipv4((10, 1, 0, 1)),
        mac: None,
        state: State::Permanent,
        proxy: true,
    }
}

#[test]
fn an_entry_is_added_where_it_may_be_and_taken_back() {
    let rules = r#"{"neighbour": [{"namespace": "container", "links": ["{ifname}"]}]}"#;
    let mut lab = Lab::on(machine_with_a_pair(), rules);
    let before = lab.node.state();
    let denied = lab.view().add(HOST, by_name("host0"), entry());
    assert_eq!(code(denied), Some(Code::Denied));
    lab.view()
        .add(CONTAINER, by_name("eth0"), entry())
        .expect("an entry");
    assert_eq!(lab.node.network(Namespace::Container).neighbours.len(), 1);
    lab.undo_to(&before);
}
