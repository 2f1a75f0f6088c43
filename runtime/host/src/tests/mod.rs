//! The interfaces, each through its view, on a model of the kernel: what a call becomes, what is denied, and what is undone.

mod address;
mod conntrack;
mod device;
mod firewall;
mod firewalld;
mod link;
mod neighbour;
mod policy_rule;
mod route;
mod store;
mod sysctl;
mod traffic;

use weir_grant::store::Configured;
use weir_grant::{Capabilities, Namespace, Rule};
use weir_kernel::{Broker, Code, Error};
use weir_kit::gate;
use weir_model::{Node, State as Machine};

use super::bindings::weir::cni::link as contract;
use super::bindings::weir::cni::types::{self, LinkReference};
use super::firewall::FirewallView;
use super::link::LinkView;
use super::store::{OpenStores, StoreView};
use super::view::View;
use wasmtime::component::ResourceTable;

pub(crate) const HOST: types::Namespace = types::Namespace::Host;
pub(crate) const CONTAINER: types::Namespace = types::Namespace::Container;

/// An ADD of `eth0` in the container `one` on the network `pods`.
pub(crate) struct Lab {
    pub node: Node,
    pub broker: Broker,
    pub calls: u64,
    table: ResourceTable,
    stores: OpenStores,
}

impl Lab {
    /// Allows what these rules do.
    pub(crate) fn granting(rules: &str) -> Self {
        Self::on(Node::new(), rules)
    }

    /// The same on a machine that is there already.
    pub(crate) fn on(node: Node, rules: &str) -> Self {
        Self::listing(node, rules, &[])
    }

    /// The same where the node's owner lets networks use these interfaces of the host.
    pub(crate) fn listing(node: Node, rules: &str, interfaces: &[&str]) -> Self {
        let capabilities: Capabilities = serde_json::from_str(rules).expect("rules");
        let kernel = node.kernel().for_add();
        Self {
            broker: Broker::new(gate::listing(capabilities, interfaces), Box::new(kernel)),
            node,
            calls: 0,
            table: ResourceTable::new(),
            stores: OpenStores::default(),
        }
    }

    /// Returns the view of a capability that has nothing else.
    pub(crate) fn view<R: Rule>(&mut self) -> View<'_, R> {
        View::new(&mut self.broker)
    }

    pub(crate) fn links(&mut self) -> LinkView<'_> {
        LinkView {
            view: View::new(&mut self.broker),
            calls: &mut self.calls,
        }
    }

    pub(crate) fn firewall(&mut self) -> FirewallView<'_> {
        FirewallView {
            view: View::new(&mut self.broker),
            plugin: "test",
            network: "pods",
            previous: None,
        }
    }

    pub(crate) fn stores<'a>(&'a mut self, configured: &'a Configured) -> StoreView<'a> {
        StoreView {
            view: View::new(&mut self.broker),
            table: &mut self.table,
            open: &mut self.stores,
            configured,
        }
    }

    /// Undoes everything, which must leave the machine as it was.
    pub(crate) fn undo_to(&mut self, before: &Machine) {
        assert_eq!(self.broker.undo(), Vec::<String>::new());
        assert_eq!(self.node.state().difference(before), Vec::<String>::new());
    }
}

/// A machine with a veth pair that somebody else has made: `host0` on the host and `eth0` in the container, both up.
pub(crate) fn machine_with_a_pair() -> Node {
    use contract::Host as _;

    let mut lab = Lab::granting(r#"{"link": [{}]}"#);
    let made = lab.links().create(pair("host0", "eth0"));
    made.expect("a pair");
    lab.node
}

/// A veth pair, up at both ends, from the host into the container.
pub(crate) fn pair(name: &str, peer: &str) -> contract::NewLink {
    let peer = contract::NewPeer {
        namespace: CONTAINER,
        name: peer.to_owned(),
        mac: None,
        mtu: None,
        up: true,
    };
    contract::NewLink {
        up: true,
        ..new_link(HOST, name, contract::NewKind::Veth(peer))
    }
}

/// A link with nothing but its name and kind.
pub(crate) fn new_link(
    namespace: types::Namespace,
    name: &str,
    kind: contract::NewKind,
) -> contract::NewLink {
    contract::NewLink {
        namespace,
        name: name.to_owned(),
        kind,
        mac: None,
        mtu: None,
        txqlen: None,
        up: false,
        master: None,
        alias: None,
    }
}

pub(crate) fn by_name(name: &str) -> LinkReference {
    LinkReference::Name(name.to_owned())
}

/// The code of an error.
pub(crate) fn code<T>(outcome: Result<T, Error>) -> Option<Code> {
    outcome.err().map(|error| error.code)
}

/// The names of the links in a namespace of a machine.
pub(crate) fn link_names(node: &Node, namespace: Namespace) -> Vec<String> {
    let links = node.network(namespace).links.into_iter();
    links.map(|device| device.link.name).collect()
}
