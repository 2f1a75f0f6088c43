//! The outcome of ADD: the result, what it changed on the node and in the container, and whether the result's interfaces exist.

use anyhow::Result;
use serde_json::Value;
use weir_cni::{AddResult, Interface, to_json};
use weir_gate::escape;

use super::node_state::{Changes, NodeState};
use super::plan::Plan;
use super::scene::Scene;
use crate::cli::output::{print_list, show};

/// The outcome of an ADD that succeeded.
pub struct Attached {
    pub result: AddResult,
    /// The result in the network's version.
    pub shown: Value,
    pub changes: Changes,
    /// The state after it.
    pub state: NodeState,
    /// The path of the container's network namespace.
    pub netns: String,
}

impl Attached {
    /// By the state of the scene now.
    pub fn new(
        result: AddResult,
        changes: Changes,
        plan: &Plan,
        scene: &Scene<'_>,
    ) -> Result<Self> {
        Ok(Self {
            shown: to_json(&result, plan.list.cni_version).map_err(show)?,
            result,
            changes,
            state: scene.state.clone(),
            netns: scene.netns(),
        })
    }

    /// Returns the interfaces of the result that have no name or do not exist, in words. Those that are not links of
    /// the kernel, because they stand for a socket or for a device in the hands of another driver, need not exist.
    pub fn wrong(&self) -> Vec<String> {
        let interfaces = self.result.interfaces.iter().enumerate();
        let wrong = interfaces.filter_map(|(index, interface)| {
            if interface.name.is_empty() {
                return Some(format!("result: interfaces[{index}] has no name"));
            }
            let is_link = interface.socket_path.is_none() && interface.pci_id.is_none();
            let is_missing = is_link && !self.exists(interface);
            is_missing.then(|| does_not_exist(interface))
        });
        wrong.collect()
    }

    fn exists(&self, interface: &Interface) -> bool {
        let place = match &interface.sandbox {
            None => "host",
            Some(sandbox) if *sandbox == self.netns => "container",
            Some(_) => return false,
        };
        let mut links = self.state.links();
        links.any(|(of, link)| of == place && link.name == interface.name)
    }

    pub fn print(&self) {
        let result = escape(format!("{:#}", self.shown));
        print_list("result", result.lines());
        print_list("added", &self.changes.added);
        print_list("removed", &self.changes.removed);
        print_list("wrong", self.wrong());
    }
}

fn does_not_exist(interface: &Interface) -> String {
    let place = match &interface.sandbox {
        None => "on the host".to_owned(),
        Some(sandbox) => format!("in sandbox `{sandbox}`"),
    };
    format!(
        "result names interface `{}` {place}, which does not exist",
        interface.name
    )
}

#[cfg(test)]
mod tests {
    use weir_grant::link::Link;

    use super::*;

    fn interface(name: &str, sandbox: Option<&str>) -> Interface {
        Interface {
            name: name.to_owned(),
            sandbox: sandbox.map(str::to_owned),
            ..Interface::default()
        }
    }

    /// What is wrong with a result of these interfaces, where `veth1` is on the host and `eth0` in the container.
    fn wrong(interfaces: &[Interface]) -> Vec<String> {
        let link = |name: &str| Link {
            name: name.to_owned(),
            ..Link::default()
        };
        let mut state = NodeState::default();
        state.put_links("host", vec![link("veth1")]);
        state.put_links("container", vec![link("eth0")]);
        let attached = Attached {
            result: AddResult {
                interfaces: interfaces.to_vec(),
                ..AddResult::default()
            },
            shown: Value::Null,
            changes: Changes::default(),
            state,
            netns: "/netns".to_owned(),
        };
        attached.wrong()
    }

    #[test]
    fn an_interface_exists_where_the_result_says() {
        let container = Some("/netns");
        assert_eq!(
            wrong(&[interface("veth1", None), interface("eth0", container)]),
            [""; 0]
        );
        for (interface, expected) in [
            (
                interface("", container),
                "result: interfaces[0] has no name",
            ),
            (
                interface("eth0", None),
                "result names interface `eth0` on the host, which does not exist",
            ),
            (
                interface("veth1", container),
                "result names interface `veth1` in sandbox `/netns`, which does not exist",
            ),
            (
                interface("eth0", Some("/other")),
                "result names interface `eth0` in sandbox `/other`, which does not exist",
            ),
        ] {
            assert_eq!(wrong(&[interface]), [expected]);
        }
        let socket = Interface {
            socket_path: Some("/run/socket".to_owned()),
            ..interface("vhost0", None)
        };
        assert_eq!(wrong(&[socket]), [""; 0]);
    }
}
