//! What the other plugins of a network leave behind on their own: it is not charged to the component.

use anyhow::Result;
use weir_cni::AddResult;
use weir_grant::document::Digest;
use weir_kernel::without_permit::set_loopback_up;
use weir_sandbox::Sandbox;

use super::node_state::{NodeState, Residue};
use super::placeholders::Placeholders;
use super::plan::Plan;
use super::steps::come_and_go;
use crate::cli::output::show;
use crate::cli::scratch_node::ScratchNode;

/// Runs the network without the component on another node, and returns what remains there, with placeholders; nothing if the
/// component is its first plugin. `result` is that of the network with the component.
///
/// The process stays on the other node.
pub fn leave(
    node: &ScratchNode,
    plan: &Plan,
    digest: &Digest,
    result: Option<&AddResult>,
) -> Result<Residue> {
    let Some(list) = plan.without_plugin(result)? else {
        return Ok(Residue::default());
    };
    let node = node.another()?;
    set_loopback_up()?;
    let sandbox = Sandbox::new(node.paths(), true).map_err(show)?;
    plan.grants.put_in_force(&sandbox, &plan.list, digest)?;
    let container = node.container("test")?;
    let before = NodeState::of(&node, &container)?;
    come_and_go(&sandbox, plan, list, &container)?;
    let after = NodeState::of(&node, &container)?;
    let placeholders = Placeholders::of_links(&after);
    let residue = after.residue_since(&before, &[]);
    Ok(residue.map(|line| placeholders.fold(line)))
}
