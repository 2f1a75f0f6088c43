//! The mark of weir on a container's link of the host. The accepts of `firewall` have an address alone, and weir's DEL takes
//! those of a container for the reference plugin's only where its link has no mark. A node that changes back to weir while
//! the container runs would leave them otherwise.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use weir_grant::Invocation;
use weir_grant::link::Update;
use weir_kernel::Linux;
use weir_kernel::without_permit::marked_links;
use weir_sandbox::Sandbox;

use super::carry_out;
use crate::cli::output::show;

/// The kind of link that has such a mark for a container.
const KIND: &str = "veth";

/// Takes the mark off. A link that has just gone is no error.
pub fn release(
    linux: &mut Linux,
    sandbox: &Arc<Sandbox>,
    invocation: &Invocation,
    mark: &str,
) -> Result<()> {
    let marked = marked_links(linux.namespaces().host(), |alias| alias == mark);
    let marked = marked.map_err(|e| anyhow!("{}", e.message))?;
    for found in marked.into_iter().filter(|link| link.kind == KIND) {
        let mut gate = sandbox.handover_gate(invocation.clone()).map_err(show)?;
        let operation = Update {
            owner: Some(String::new()),
            ..Update::nothing_of(found)
        };
        match carry_out(&mut gate, linux, operation) {
            Err(error) if error.is_not_found() => {}
            updated => updated.map_err(|e| anyhow!("{}", e.message))?,
        }
    }
    Ok(())
}
