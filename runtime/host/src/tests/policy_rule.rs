//! Capability `policy-rule`.

use weir_grant::Namespace;
use weir_grant::address::Family;
use weir_grant::policy_rule::PolicyRule;
use weir_kernel::Code;

use super::super::bindings::weir::cni::policy_rule::{Host as _, Rule};
use super::super::bindings::weir::cni::types::{IpAddress, IpFamily, IpNetwork};
use super::{CONTAINER, HOST, Lab, code};

fn from(address: (u8, u8, u8, u8), prefix_length: u8, table: u32) -> Rule {
    let address = IpAddress::Ipv4(address);
    Rule {
        source: Some(IpNetwork {
            address,
            prefix_length,
        }),
        ..PolicyRule::new(Family::Ipv4, table).into()
    }
}

#[test]
fn a_rule_is_added_where_it_may_be_and_taken_back() {
    let rules = r#"{"policy-rule": [
        {"namespace": "container", "sources": ["10.1.0.0/16"], "tables": [100]},
        {"namespace": "container", "verbs": ["read"]}
    ]}"#;
    let mut lab = Lab::granting(rules);
    let before = lab.node.state();
    let own = from((10, 1, 0, 2), 32, 100);
    for (namespace, rule) in [
        (HOST, own.clone()),
        (CONTAINER, from((10, 2, 0, 2), 32, 100)),
        (CONTAINER, from((10, 1, 0, 2), 32, 254)),
        (CONTAINER, from((10, 1, 0, 2), 0, 100)),
    ] {
        let denied = lab.view().add(namespace, rule.clone());
        assert_eq!(code(denied), Some(Code::Denied), "{rule:?}");
        let denied = lab.view().delete(namespace, rule);
        assert_eq!(code(denied), Some(Code::Denied));
    }
    let too_long = lab.view().add(CONTAINER, from((10, 1, 0, 2), 33, 100));
    assert_eq!(code(too_long), Some(Code::Invalid));
    assert_eq!(code(lab.view().list(HOST, None)), Some(Code::Denied));

    lab.view().add(CONTAINER, own.clone()).expect("a rule");
    let listed = lab.view().list(CONTAINER, Some(IpFamily::Ipv4));
    let listed = listed.expect("the rules");
    let tables: Vec<u32> = listed.iter().map(|rule| rule.table).collect();
    assert_eq!(tables, [255, 100, 254, 253]);
    assert_eq!(listed[1].priority, Some(32765));
    let in_container = lab.node.network(Namespace::Container).policy_rules;
    assert_eq!(in_container.len(), 6);
    lab.undo_to(&before);
    lab.view().add(CONTAINER, own.clone()).expect("a rule");
    lab.view()
        .delete(CONTAINER, own.clone())
        .expect("it is there");
    assert_eq!(
        code(lab.view().delete(CONTAINER, own)),
        Some(Code::NotFound)
    );
}
