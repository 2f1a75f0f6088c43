//! weir's mark on the link of a container on the host. The accepts of `firewall` contain only an address, and weir's DEL
//! removes those of the reference plugin only if the container's link has no mark. The mark is removed so that this works if
//! the node changes back to weir while the container runs.

use anyhow::Result;
use weir_grant::Invocation;
use weir_grant::link::Update;
use weir_kernel::without_permit::marked_links;

use super::kernel::Kernel;

/// The kind of link that has such a mark for a container.
const KIND: &str = "veth";

/// Removes the mark. A link that has just been removed is not an error.
pub fn release(kernel: &mut Kernel<'_>, invocation: &Invocation, mark: &str) -> Result<()> {
    let marked = marked_links(kernel.namespaces().host(), |alias| alias == mark)?;
    for found in marked.into_iter().filter(|link| link.kind == KIND) {
        let operation = Update {
            owner: Some(String::new()),
            ..Update::nothing_of(found)
        };
        kernel.perform(invocation, operation)?;
    }
    Ok(())
}
