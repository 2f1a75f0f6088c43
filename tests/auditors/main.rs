//! What auditors ask of a node, each with one command: who may do something, who may change the host, and whose an address,
//! a port of the host and a lease are.

mod attachments;
mod grants;
mod who;

use anyhow::Result;
use serde_json::json;
use weir_kit::{Grant, Node};

/// The plugin of a third party.
const PLUGIN: &str = "misbehaving";

/// A node with a third party's plugin that may change any `eth*` of the host, and a native one.
fn node() -> Result<Node> {
    let node = Node::create()?;
    node.install_with(&Grant {
        networks: "[pods]",
        capabilities: r#"{ link: [{ namespace: host, names: ["eth*"], verbs: [read, update] },
                                  { namespace: container, names: ["{ifname}"], verbs: [update] }] }"#,
        ..Grant::nothing(PLUGIN)
    })?;
    let native = json!({ "nativePlugins": [
        { "name": "flannel", "digest": format!("sha256:{}", "7".repeat(64)), "networks": ["cbr0"] },
    ] });
    node.write("etc/weir/weir.json", native.to_string())?;
    Ok(node)
}
