//! Capability `sysctl`.

use weir_grant::Namespace;
use weir_kernel::Code;

use super::super::bindings::weir::cni::sysctl::Host as _;
use super::{CONTAINER, HOST, Lab, code};

const FORWARD: &str = "net.ipv4.ip_forward";

const RULES: &str = r#"{"sysctl": [
    {"namespace": "host", "keys": ["net.ipv4.ip_forward"], "values": ["1"]},
    {"namespace": "container"}
]}"#;

fn write(lab: &mut Lab, value: &str) -> Option<Code> {
    code(lab.view().write(HOST, FORWARD.to_owned(), value.to_owned()))
}

fn now(lab: &Lab) -> String {
    lab.node.network(Namespace::Host).parameters[FORWARD].clone()
}

#[test]
fn only_the_values_of_the_rule_are_written() {
    let mut lab = Lab::granting(RULES);
    assert_eq!(write(&mut lab, "0"), Some(Code::Denied));
    assert_eq!(write(&mut lab, "1"), None);
    assert_eq!(now(&lab), "1");
    let missing = lab.view().read(CONTAINER, "net.ipv4.nothing".to_owned());
    assert_eq!(code(missing), Some(Code::NotFound));
}

#[test]
fn a_parameter_has_its_value_back_when_the_add_fails() {
    let mut lab = Lab::granting(RULES);
    let before = lab.node.state();
    assert_eq!(write(&mut lab, "1"), None);
    let written = lab
        .view()
        .write(CONTAINER, FORWARD.to_owned(), "1".to_owned());
    assert_eq!(code(written), None);
    lab.undo_to(&before);
}

#[test]
fn a_parameter_of_the_host_that_another_has_set_since_stays() {
    let mut lab = Lab::granting(RULES);
    assert_eq!(write(&mut lab, "1"), None);
    let mut other = Lab::on(lab.node.clone(), RULES);
    assert_eq!(write(&mut other, "1"), None);
    assert_eq!(lab.broker.undo(), Vec::<String>::new());
    assert_eq!(now(&lab), "1");
}
