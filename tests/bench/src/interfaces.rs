//! ADD of the plugins whose link is in the container alone: over an interface of the host, or over none.
//!
//! `macvlan` is measured on this machine's kernel, the others where [`machine`](crate::machine) runs this program.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::contender::{Contender, Contenders};
use crate::list::List;
use crate::node::{DEFAULT_ROUTE, INTERFACE, Node};
use crate::samples::{Quantity, Samples};
use crate::scratch::Scratch;
use crate::turns::{WARM_UP, order};

/// The interface of the host.
const MASTER: &str = "eth1";

/// What `static` assigns.
const ADDRESS: &str = "192.0.2.7";

/// What `tuning` sets of the container's interface.
const PARAMETER: &str = "net.ipv4.conf.IFNAME.rp_filter";
const VALUE: &str = "2";

/// One thing to measure.
struct Subject {
    name: &'static str,
    quantity: Quantity,
    contenders: &'static [Contender],
    /// The list, on a node.
    plugins: fn(&Node) -> Vec<Value>,
    /// Whether ADD did what only this list does.
    check: fn(&Node) -> Result<()>,
}

const MACVLAN: Subject = Subject {
    name: "macvlan",
    quantity: Quantity::MacvlanAdd,
    contenders: &Contender::ALL,
    plugins: |_| vec![macvlan()],
    check: |_| Ok(()),
};

/// The floor does not know the plugins after the first one.
const ROUTED: Subject = Subject {
    name: "routed",
    quantity: Quantity::RoutedAdd,
    contenders: &[Contender::Reference, Contender::Weir],
    plugins: |_| vec![macvlan(), json!({"type": "sbr"}), tuning()],
    check: must_be_routed,
};

const VLAN: Subject = Subject {
    name: "vlan",
    quantity: Quantity::VlanAdd,
    contenders: &Contender::ALL,
    plugins: |node| {
        vec![with_leases(
            node,
            json!({"type": "vlan", "master": MASTER, "vlanId": 7}),
        )]
    },
    check: |_| Ok(()),
};

const IPVLAN: Subject = Subject {
    name: "ipvlan",
    quantity: Quantity::IpvlanAdd,
    plugins: |node| {
        vec![with_leases(
            node,
            json!({"type": "ipvlan", "master": MASTER}),
        )]
    },
    ..VLAN
};

const DUMMY: Subject = Subject {
    name: "dummy",
    quantity: Quantity::DummyAdd,
    plugins: |node| vec![with_leases(node, json!({"type": "dummy"}))],
    ..VLAN
};

/// With the programs in pages of 4 KiB.
const VLAN_SMALL: Subject = Subject {
    name: "vlan-small",
    quantity: Quantity::VlanAddSmallPages,
    ..VLAN
};

/// The plugins that are measured in the virtual machine, and their IPAM plugin.
pub const IN_MACHINE: [&str; 4] = ["vlan", "ipvlan", "dummy", "host-local"];

/// Measures `macvlan`, alone and before `sbr` and `tuning`.
pub fn measure(
    contenders: &Contenders,
    scratch: &Scratch,
    runs: usize,
    samples: &mut Samples,
) -> Result<()> {
    eprintln!("weir-bench: ADD of macvlan, alone and before sbr and tuning, {runs} runs each");
    for subject in [MACVLAN, ROUTED] {
        subject.measure(contenders, scratch, runs, samples)?;
    }
    Ok(())
}

/// Measures what another kernel is needed for, with the programs in `large` pages and in `small` ones. Of a plugin that the
/// reference lacks, floor and weir alone.
pub fn measure_in_machine(
    large: &Contenders,
    small: &Contenders,
    scratch: &Scratch,
    runs: usize,
) -> Result<Samples> {
    let mut samples = Samples::default();
    for subject in [VLAN, IPVLAN, DUMMY] {
        subject.measure(large, scratch, runs, &mut samples)?;
    }
    VLAN_SMALL.measure(small, scratch, runs, &mut samples)?;
    Ok(samples)
}

impl Subject {
    fn measure(
        &self,
        contenders: &Contenders,
        scratch: &Scratch,
        runs: usize,
        samples: &mut Samples,
    ) -> Result<()> {
        let list = |contender| self.list(contender, contenders, scratch);
        let lists = Contender::ALL.into_iter().map(list);
        let mut lists: Vec<_> = lists.collect::<Result<_>>()?;
        for round in 0..WARM_UP {
            self.take_turns(&mut lists, round, &mut Samples::default())?;
        }
        for round in 0..runs {
            self.take_turns(&mut lists, round, samples)?;
        }
        Ok(())
    }

    /// None of a contender that does not have the plugins.
    fn list(
        &self,
        contender: Contender,
        contenders: &Contenders,
        scratch: &Scratch,
    ) -> Result<Option<List>> {
        let node = Node::create(contender, contenders, scratch, self.name)?;
        let plugins = (self.plugins)(&node);
        let mut types = plugins.iter().filter_map(|plugin| plugin["type"].as_str());
        if !self.contenders.contains(&contender)
            || !types.all(|name| contenders.has(contender, name))
        {
            return Ok(None);
        }
        node.host.ip(&format!(
            "link add {MASTER} type veth peer name wire1\n\
             link set wire1 up\n\
             link set {MASTER} up\n"
        ))?;
        Ok(Some(List::new(node, plugins)))
    }

    fn take_turns(
        &self,
        lists: &mut [Option<List>],
        round: usize,
        samples: &mut Samples,
    ) -> Result<()> {
        for place in order(round) {
            if let Some(list) = &mut lists[place] {
                let (add, attachment) = list.add()?;
                samples.record(self.quantity, Contender::ALL[place], &add.whole());
                (self.check)(&list.node).with_context(|| list.node.name())?;
                list.del(&attachment)?;
            }
        }
        Ok(())
    }
}

fn macvlan() -> Value {
    json!({
        "type": "macvlan",
        "master": MASTER,
        "ipam": {
            "type": "static",
            "addresses": [{"address": format!("{ADDRESS}/24"), "gateway": "192.0.2.1"}],
            "routes": [{"dst": DEFAULT_ROUTE}],
        },
    })
}

fn tuning() -> Value {
    json!({"type": "tuning", "sysctl": {PARAMETER: VALUE}})
}

fn with_leases(node: &Node, mut plugin: Value) -> Value {
    plugin["ipam"] = node.host_local();
    plugin["ipam"]["routes"] = json!([{"dst": DEFAULT_ROUTE}]);
    plugin
}

/// Makes sure that the address has a rule of its own, and the interface the parameter.
fn must_be_routed(node: &Node) -> Result<()> {
    node.container.enter()?;
    let path = PARAMETER.replace("IFNAME", INTERFACE).replace('.', "/");
    let value = fs::read_to_string(format!("/proc/sys/{path}")).context(PARAMETER)?;
    ensure!(value.trim() == VALUE, "{PARAMETER} is {value}");
    let rules = Command::new("ip")
        .args(["rule", "show", "from", ADDRESS])
        .output();
    let rules = rules.context("run `ip`: install the package iproute2")?;
    ensure!(!rules.stdout.is_empty(), "no rule for {ADDRESS} after ADD");
    Ok(())
}
