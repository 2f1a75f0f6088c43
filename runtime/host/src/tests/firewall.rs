//! Capability `firewall`.

use weir_grant::Namespace;
use weir_kernel::Code;

use super::super::bindings::weir::cni::firewall::{
    Chain, Command, DataType, Element, ElementData, Elements, Family, Host as _, Rule, Set,
    Statement, Value,
};
use super::super::bindings::weir::cni::types::IpAddress;
use super::{CONTAINER, HOST, Lab, code};

const RULES: &str =
    r#"{"firewall": [{"namespace": "host", "families": ["inet"], "statements": ["counter"]}]}"#;

fn chain() -> Command {
    Command::AddChain(Chain {
        name: "pods".to_owned(),
        base: None,
    })
}

fn rule(statement: Statement) -> Command {
    Command::AppendRule(Rule {
        chain: "pods".to_owned(),
        conditions: Vec::new(),
        statements: vec![statement],
        comment: Some("one".to_owned()),
        handle: None,
    })
}

fn set() -> Command {
    Command::AddSet(Set {
        name: "addresses".to_owned(),
        key: vec![DataType::Ipv4Address],
        data: Vec::new(),
        interval: false,
    })
}

fn elements() -> Command {
    let element = Element {
        key: vec![Value::Address(IpAddress::Ipv4((10, 1, 0, 2)))],
        key_end: None,
        data: ElementData::None,
        comment: None,
    };
    Command::CreateElements(Elements {
        set: "addresses".to_owned(),
        elements: vec![element],
    })
}

#[test]
fn the_table_is_the_plugins_own() {
    let mut lab = Lab::granting(RULES);
    let before = lab.node.state();
    let commands = vec![chain(), rule(Statement::Counter), set(), elements()];
    lab.firewall()
        .apply(HOST, Family::Inet, commands)
        .expect("a transaction");
    let tables = lab.node.network(Namespace::Host).tables;
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["weir_test"]);
    lab.undo_to(&before);
}

#[test]
fn what_was_there_before_stays_when_the_add_fails() {
    let mut lab = Lab::granting(RULES);
    let commands = vec![chain(), set()];
    lab.firewall()
        .apply(HOST, Family::Inet, commands)
        .expect("a transaction");
    lab.broker.keep();
    let mut later = Lab::on(lab.node.clone(), RULES);
    let before = later.node.state();
    let commands = vec![chain(), rule(Statement::Counter), elements()];
    later
        .firewall()
        .apply(HOST, Family::Inet, commands)
        .expect("another");
    later.undo_to(&before);
}

#[test]
fn a_statement_that_no_rule_lists_is_denied() {
    let mut lab = Lab::granting(RULES);
    let before = lab.node.state();
    let denied = vec![chain(), rule(Statement::Drop)];
    assert_eq!(
        code(lab.firewall().apply(HOST, Family::Inet, denied)),
        Some(Code::Denied)
    );
    let elsewhere = lab.firewall().apply(CONTAINER, Family::Inet, vec![chain()]);
    assert_eq!(code(elsewhere), Some(Code::Denied));
    assert_eq!(lab.node.state(), before);
}
