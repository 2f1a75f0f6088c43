//! A gate as tests of the floors need one: for one invocation, with a log that nobody reads.

use weir_gate::{Audit, Gate, Subject};
use weir_grant::{Capabilities, Invocation};

/// A rule without keys for each capability of the kernel, which matches all of it.
const EVERYTHING: &str = r#"{"link": [{}], "address": [{}], "route": [{}], "neighbour": [{}], "traffic": [{}],
    "firewall": [{}], "conntrack": [{}], "sysctl": [{}]}"#;

/// A gate that allows everything.
pub fn everything() -> Gate {
    granting(serde_json::from_str(EVERYTHING).expect("rules without keys"))
}

/// A gate that allows what these capabilities do, for an ADD of `eth0` in the container `one` on the network `pods`.
pub fn granting(capabilities: Capabilities) -> Gate {
    let invocation = Invocation {
        container_id: "one".to_owned(),
        ifname: "eth0".to_owned(),
        network: "pods".to_owned(),
    };
    let subject = Subject {
        command: "ADD",
        container_id: invocation.container_id.clone(),
        ifname: invocation.ifname.clone(),
        network: invocation.network.clone(),
        plugin: "test".to_owned(),
        ..Subject::default()
    };
    Gate::new(capabilities, invocation, Audit::nowhere(subject))
}
