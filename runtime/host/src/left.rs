//! What an `add` left that was killed half-way: links of the host, found by the mark of their owner.
//!
//! The host undoes an `add` that fails. One that is killed undoes nothing, and no plugin knows the names of what it had
//! made by then. So the next DEL of the attachment, and GC of the network, remove what carries a mark and belongs to no
//! attachment that there is.

use weir_cni::Attachment;
use weir_cni::owner::{is_attachments, is_of_attachment, is_of_network};
use weir_kernel::Error;

use super::state::State;

impl State {
    /// Removes the links of this attachment. To look for them takes the kernel a look at every link of the host, so
    /// that a DEL whose ADD is known to have ended does without.
    pub fn remove_left_of_attachment(&mut self) -> Result<(), Error> {
        let invocation = self.broker.gate().invocation().clone();
        let (container_id, ifname) = (invocation.container_id, invocation.ifname);
        self.broker
            .remove_left(&|mark| is_of_attachment(mark, &container_id, &ifname))
    }

    /// Removes the links of attachments to this network that are not among these.
    pub fn remove_left_of_network(&mut self, valid: &[Attachment]) -> Result<(), Error> {
        let network = self.broker.gate().invocation().network.clone();
        let is_valid = |mark: &str| {
            let mut valid = valid.iter();
            valid.any(|a| is_of_attachment(mark, &a.container_id, &a.ifname))
        };
        self.broker.remove_left(&|mark| {
            is_attachments(mark) && is_of_network(mark, &network) && !is_valid(mark)
        })
    }
}
