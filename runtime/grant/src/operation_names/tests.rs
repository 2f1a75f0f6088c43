//! Every operation by its name, and back from its record.

use serde_json::json;

use super::super::Capabilities;
use super::super::invocation::Invocation;
use super::super::operation::Decision;
use super::*;

/// Every operation with fields that are enough, and what it then requires.
fn examples() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let text = include_str!("examples.txt");
    text.split("\n\n").skip(1).map(|example| {
        let (operation, required) = example.split_once('\n').unwrap_or((example, ""));
        let (name, fields) = operation.split_once(' ').unwrap_or((operation, ""));
        (name, fields, required.trim())
    })
}

fn fields(text: &str) -> Vec<(String, String)> {
    let pairs = text.split_whitespace().filter_map(|f| f.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn needs(operation: &dyn Query) -> String {
    let needs: Vec<String> = operation.needs().iter().map(|n| n.to_string()).collect();
    needs.join(", ")
}

#[test]
fn every_operation_can_be_named() {
    for (name, given, expected) in examples() {
        let operation = by_name(name, &fields(given)).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(needs(&*operation), expected, "{name} {given}");
    }
    let mut shown: Vec<&str> = examples().map(|(name, ..)| name).collect();
    shown.dedup();
    assert_eq!(shown, names());
}

/// A record has the operation's arguments: what is read from it is the same operation.
#[test]
fn a_record_is_the_operation_that_was_recorded() {
    for (name, given, expected) in examples() {
        let operation = by_name(name, &fields(given)).unwrap_or_else(|why| panic!("{why}"));
        let arguments = operation.arguments();
        let read = recorded(operation.name(), &arguments).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(needs(&*read), expected, "{arguments}");
        assert_eq!(read.arguments(), arguments, "{name}");
        assert_eq!(read.is_read(), operation.is_read(), "{name}");
    }
}

/// What weir does itself is recorded under names that queries do not have: no grant has a rule for it.
#[test]
fn a_native_plugin_is_in_records_alone() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    let arguments = json!({ "plugin": "flannel", "digest": digest, "command": "ADD" });
    let operation = recorded("native.execute", &arguments).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        needs(&*operation),
        format!("run native plugin `flannel` ({digest})")
    );
    assert_eq!(operation.arguments(), arguments);
    let given = fields(&format!("plugin=flannel digest={digest}"));
    assert!(by_name("native.execute", &given).is_err());
    assert!(!names().contains(&"native.execute"));
    assert!(recorded_names().contains(&"native.execute"));
}

#[test]
fn the_matcher_is_the_gates() {
    let grant = r#"{"link": [{"namespace": "host", "kinds": ["bridge"], "names": ["cni*"]}]}"#;
    let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
    let decide = |given: &str| {
        let operation = by_name("link.create", &fields(given)).expect("an operation");
        operation.decide(&capabilities, &Invocation::default())
    };
    let rules = vec!["link[0]".to_owned()];
    assert_eq!(
        decide("namespace=host kind=bridge name=cni0"),
        Decision::Allowed { rules }
    );
    let denied = Decision::Denied {
        requirement: "create bridge `br0` in host".to_owned(),
        closest: Some("link[0]: names".into()),
    };
    assert_eq!(decide("namespace=host kind=bridge name=br0"), denied);
}

#[test]
fn mistakes_name_what_there_is() {
    let why = |name: &str, given: &str| match by_name(name, &fields(given)) {
        Err(why) => why,
        Ok(operation) => panic!("{}", operation.arguments()),
    };
    let link = why("link.make", "");
    assert!(
        link.starts_with(
            "no operation `link.make`; expected `link.create`, `link.get`, `link.look-up`,"
        ),
        "{link}"
    );
    assert!(!link.contains("address.add"), "{link}");
    assert!(why("nothing", "").contains("address.add"));
    // What a socket sends is in no record: none is opened.
    let packet = why("packet.send-udp", "");
    assert!(
        packet.contains("expected `packet.open-udp` or `packet.open-raw`"),
        "{packet}"
    );
    assert!(why("log.write", "").contains("has none to allow"));
    assert_eq!(
        why("link.delete", "namespace=host kind=veth nam=x"),
        "`link.delete` has no field `nam`; its fields are namespace, kind, name, [owner]"
    );
    // What a link is decides: there is no answer for one of any kind.
    assert_eq!(
        why("link.get", "namespace=host name=eth0"),
        "`link.get` needs kind; its fields are namespace, kind, name, [owner]"
    );
    assert_eq!(
        why(
            "link.get",
            "namespace=host kind=veth name=a namespace=container"
        ),
        "`namespace` is given twice, as `host` and as `container`; give it once"
    );
    let near = why("link.craete", "");
    assert!(near.ends_with("did you mean `link.create`?"), "{near}");
    assert_eq!(
        why("ipam.add", ""),
        "no operation `ipam.add`; did you mean `ipam.run`?"
    );
    assert_eq!(
        why("link.create", "namespace=host kind=veth name=a"),
        "`link.create`: a veth needs `peer.namespace`, and `peer.name` if you choose it"
    );
    assert_eq!(
        why(
            "link.create",
            "namespace=host kind=macvlan name=a lower.name=ens3"
        ),
        "`link.create`: a macvlan needs `lower.namespace`, `lower.kind`"
    );
    assert_eq!(
        why(
            "link.update",
            "namespace=host kind=veth name=a master.name=cni0"
        ),
        "`link.update`: a master needs `master.namespace`, `master.kind`"
    );
    assert_eq!(
        why("firewalld.is-running", "x=1"),
        "`firewalld.is-running` has no field `x`; it has none"
    );
    assert_eq!(
        why("link.delete", "namespace=hots kind=veth name=x"),
        "`namespace=hots` is out of place; expected `host` or `container`; did you mean `host`?"
    );
    for (name, given, expected) in [
        (
            "address.add",
            "namespace=host kind=veth link=a address=10.0.0.1/33",
            "`address=10.0.0.1/33` is out of place; expected a prefix length from 0 to 32 after the address",
        ),
        (
            "address.add",
            "namespace=host kind=veth link=a address=10.0.0.1",
            "`address=10.0.0.1` is out of place; expected a prefix length after the address, such as `10.0.0.1/32`",
        ),
        (
            "route.get",
            "namespace=host to=10.0.0.300",
            "`to=10.0.0.300` is not an IP address, such as `10.1.0.2`",
        ),
        (
            "firewalld.add-source",
            "zone=a source=10.0.0.0/8",
            "`source=10.0.0.0/8` is not an IP address, such as `10.1.0.2`",
        ),
    ] {
        assert_eq!(why(name, given), expected);
    }
    let number = why("conntrack.delete", "namespace=host protocol=udp port=http");
    assert_eq!(number, "`port=http` is not a number");
    let kind = why("link.create", "namespace=host kind=physical name=x");
    assert!(kind.contains("expected `veth`, `bridge`"), "{kind}");
    let record = recorded("link.delete", &json!({ "link": { "name": "x" } }));
    let record = record.err().expect("no record");
    assert!(
        record.starts_with("the arguments of `link.delete`: missing field"),
        "{record}"
    );
}

#[test]
fn a_record_with_a_former_name_is_read() {
    let arguments = json!({ "namespace": "container" });
    let operation = recorded("rule.list", &arguments).expect("an operation");
    assert_eq!(operation.name(), "policy-rule.list");
    let why = recorded("rule.flush", &arguments).err();
    assert_eq!(why.as_deref(), Some("no operation `policy-rule.flush`"));
}
