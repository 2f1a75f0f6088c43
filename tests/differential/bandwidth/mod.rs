//! `bandwidth` in a list after `bridge`.
//!
//! | file | subject |
//! |---|---|
//! | `both_sides` | the same calls through the reference and through weir |
//! | `damage` | CHECK of an attachment that something was done to |
//! | `leftovers` | DEL, ADD that fails, several attachments, GC, a change of sides |
//! | `packets` | what it does to packets: throughput, and who has no limit |
//!
//! The packaged reference shapes with `tbf` alone and knows no subnets.

mod both_sides;
mod damage;
mod leftovers;
mod packets;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Call, Node, Outcome, weir};

use crate::side::{Side, Whose, must_succeed};

/// Both directions at 100 Mbit/s, with a burst of 80 ms.
fn both_directions() -> Value {
    json!({
        "ingressRate": 100_000_000, "ingressBurst": 8_000_000,
        "egressRate": 100_000_000, "egressBurst": 8_000_000,
    })
}

/// A network of both families without limits.
fn bridge() -> Value {
    json!({
        "type": "bridge", "bridge": "br", "isGateway": true,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00:1::/64"}]],
        },
    })
}

/// The execution configuration of one plugin.
fn alone(mut plugin: Value, previous: Option<&Value>) -> Value {
    plugin["cniVersion"] = json!("1.0.0");
    plugin["name"] = json!("net");
    if let Some(previous) = previous {
        plugin["prevResult"] = previous.clone();
    }
    plugin
}

/// The execution configuration of `bandwidth` with these keys.
fn bandwidth(keys: &Value, previous: Option<&Value>) -> Value {
    let mut plugin = keys.clone();
    plugin["type"] = json!("bandwidth");
    alone(plugin, previous)
}

/// Fails where an ifb or a filter is left in what [`traffic`] found.
fn nothing_is_shaped(found: &Value) -> Result<()> {
    ensure!(
        found["ifbs"] == json!([]) && found["filters"] == json!([]),
        "{found:#}"
    );
    Ok(())
}

/// A side with a container that `bridge` has attached, and `bandwidth` too, where that was called.
struct Attached {
    side: Side,
    keys: Value,
    /// The last result.
    result: Value,
}

impl Attached {
    /// Attached by `bridge` alone; `bandwidth` will have these keys.
    fn to_bridge(whose: Whose, keys: Value) -> Result<Self> {
        let side = Side::create(whose, 2)?;
        let result = side.call("ADD", 0, &alone(bridge(), None), None)?.result();
        Ok(Self { side, keys, result })
    }

    /// Attached by both.
    fn create(whose: Whose, keys: Value) -> Result<Self> {
        let mut attached = Self::to_bridge(whose, keys)?;
        attached.result = attached.call("ADD")?.result();
        Ok(attached)
    }

    /// Calls this side's `bandwidth` with the last result.
    fn call(&self, command: &str) -> Result<Outcome> {
        self.call_of(self.side.whose, command)
    }

    fn call_of(&self, whose: Whose, command: &str) -> Result<Outcome> {
        self.side.call_of(whose, command, 0, &self.config(), None)
    }

    fn config(&self) -> Value {
        bandwidth(&self.keys, Some(&self.result))
    }

    /// A call of weir's `bandwidth` to change and to [`run`](Node::run) on the node.
    fn weir(&self, command: &str, config: &Value) -> Call {
        weir(
            self.node(),
            "bandwidth",
            command,
            &self.side.containers[0],
            config,
        )
    }

    fn node(&self) -> &Node {
        &self.side.node
    }

    /// The host's end of the container's interface.
    fn port(&self) -> Result<&str> {
        let name = self.result["interfaces"][1]["name"].as_str();
        name.context("the host's end is the second interface of bridge's result")
    }

    /// The ifb of the result.
    fn ifb(&self) -> Result<&str> {
        let name = self.result["interfaces"][3]["name"].as_str();
        name.context("the ifb is the fourth interface")
    }

    /// A line of a tool, with the names of the two links filled in.
    fn tool(&self, line: &str) -> Result<String> {
        let line = if line.contains("{ifb}") {
            line.replace("{ifb}", self.ifb()?)
        } else {
            line.to_owned()
        };
        let line = line.replace("{port}", self.port()?);
        let (tool, words) = line.split_once(' ').context("a tool and its words")?;
        self.node().tool(tool, words)
    }

    fn traffic(&self) -> Result<Value> {
        traffic(self.node(), &[(self.port()?, "{port}")])
    }
}

/// What shapes and redirects packets on a node: disciplines, filters of what comes in, ifbs. Names of
/// links that chance decides are replaced by their roles.
fn traffic(node: &Node, roles: &[(&str, &str)]) -> Result<Value> {
    let qdiscs = json_list(&node.tool("tc", "-j qdisc show")?)?;
    Ok(json!({
        "ifbs": named(ifbs(node)?, roles)?,
        "filters": named(filters(node, &qdiscs)?, roles)?,
        "qdiscs": named(qdiscs.into_iter().map(without_noise).collect(), roles)?,
    }))
}

/// The same with roles for names, in an order that does not follow from indices.
fn named(values: Vec<Value>, roles: &[(&str, &str)]) -> Result<Value> {
    let text = Value::Array(values).to_string();
    let replace = |text: String, (name, role): &(&str, &str)| text.replace(name, role);
    let mut values: Vec<Value> = serde_json::from_str(&roles.iter().fold(text, replace))?;
    values.sort_by_key(Value::to_string);
    Ok(Value::Array(values))
}

/// Names, MTUs and flags.
fn ifbs(node: &Node) -> Result<Vec<Value>> {
    let ifbs = node.ip_json("link show type ifb")?;
    let ifbs = ifbs.as_array().into_iter().flatten();
    let told = |ifb: &Value| json!([ifb["ifname"], ifb["mtu"], ifb["flags"]]);
    Ok(ifbs.map(told).collect())
}

/// The filters of what comes in, wherever there can be some.
fn filters(node: &Node, qdiscs: &[Value]) -> Result<Vec<Value>> {
    let mut filters = Vec::new();
    for qdisc in qdiscs.iter().filter(|qdisc| qdisc["kind"] == "ingress") {
        let link = qdisc["dev"].as_str().context("the link of a discipline")?;
        let listed = json_list(&node.tool("tc", &format!("-j filter show dev {link} ingress"))?)?;
        filters.extend(listed.iter().filter_map(|filter| what_counts(link, filter)));
    }
    Ok(filters)
}

/// Without how often the kernel's own structures refer to a discipline. And the reference rounds a
/// burst to microseconds, and the kernel twice more: three digits are compared.
fn without_noise(mut qdisc: Value) -> Value {
    if let Some(keys) = qdisc.as_object_mut() {
        keys.remove("refcnt");
    }
    for key in ["burst", "lat"] {
        if let Some(number) = qdisc["options"].get_mut(key) {
            *number = json!(number.as_f64().map(|number| format!("{number:.2e}")));
        }
    }
    qdisc
}

fn json_list(text: &str) -> Result<Vec<Value>> {
    match text.trim() {
        "" => Ok(Vec::new()),
        text => serde_json::from_str(text).with_context(|| text.to_owned()),
    }
}

/// What a `u32` filter of a link compares and does; none for the tables that it is in.
///
/// The netlink library of the reference puts the redirection there twice. Packets do not come to the
/// second one, nor does it count for a redirected packet which class the filter names.
fn what_counts(link: &str, filter: &Value) -> Option<Value> {
    let compared = filter["options"].get("match")?;
    let action = &filter["options"]["actions"][0];
    Some(json!({
        "dev": link, "parent": filter["parent"], "protocol": filter["protocol"],
        "pref": filter["pref"], "kind": filter["kind"], "match": compared,
        "action": [
            action["kind"], action["mirred_action"], action["direction"], action["to_dev"],
            action["control_action"],
        ],
    }))
}
