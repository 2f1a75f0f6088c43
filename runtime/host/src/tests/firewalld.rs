//! Capability `firewalld`.

use weir_kernel::Code;

use super::super::bindings::weir::cni::firewalld::Host as _;
use super::super::bindings::weir::cni::types::IpAddress;
use super::{Lab, code};

const RULES: &str = r#"{"firewalld": [{"zones": ["trusted"]}]}"#;
const POD: IpAddress = IpAddress::Ipv4((10, 1, 0, 2));

#[test]
fn an_address_is_bound_to_the_zone_of_the_rule_and_taken_back() {
    let mut lab = Lab::granting(RULES);
    lab.node.run_firewalld(&["trusted", "public"]);
    let before = lab.node.state();
    let denied = lab.view().add_source("public".to_owned(), POD);
    assert_eq!(code(denied), Some(Code::Denied));
    lab.view()
        .add_source("trusted".to_owned(), POD)
        .expect("a source");
    assert_ne!(lab.node.state(), before);
    lab.undo_to(&before);
}

#[test]
fn without_firewalld_there_are_no_zones() {
    let mut lab = Lab::granting(RULES);
    assert!(!lab.view().is_running().expect("an answer"));
    let added = lab.view().add_source("trusted".to_owned(), POD);
    assert_eq!(code(added), Some(Code::Unsupported));
}
