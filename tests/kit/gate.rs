//! A gate as tests of the floors need one: for one invocation, with a log that nobody reads.

use serde_json::{Value, json};
use weir_gate::{Audit, Gate, Subject};
use weir_grant::{Capabilities, Capability, HostInterfaces, Invocation};

/// A rule without keys for each capability, which matches all of it. `ipam` has names in place of rules, and `log` needs none.
pub fn every_rule() -> Capabilities {
    let has_rules =
        |capability: &Capability| !matches!(capability, Capability::Ipam | Capability::Log);
    let capabilities = Capability::ALL.into_iter().filter(has_rules);
    let rules = capabilities.map(|capability| (capability.word().to_owned(), json!([{}])));
    serde_json::from_value(Value::Object(rules.collect())).expect("rules without keys")
}

/// A gate that allows everything.
pub fn everything() -> Gate {
    granting(every_rule())
}

/// A gate that allows what these capabilities do, for an ADD of `eth0` in the container `one` on the network `pods`.
pub fn granting(capabilities: Capabilities) -> Gate {
    listing(capabilities, &[])
}

/// The same where the node's owner lets networks use these interfaces of the host.
pub fn listing(capabilities: Capabilities, interfaces: &[&str]) -> Gate {
    let listed = HostInterfaces::read(interfaces.iter().copied());
    let invocation = Invocation {
        container_id: "one".to_owned(),
        ifname: "eth0".to_owned(),
        network: "pods".to_owned(),
        host_interfaces: listed.expect("names of interfaces"),
    };
    let subject = Subject {
        command: "ADD".into(),
        container_id: invocation.container_id.clone(),
        ifname: invocation.ifname.clone(),
        network: invocation.network.clone(),
        plugin: "test".to_owned(),
        ..Subject::default()
    };
    Gate::new(capabilities, invocation, Audit::nowhere(subject))
}
