//! Removes links of the host that a killed `add` left, found by the mark of their owner.
//!
//! weir undoes an `add` that fails. A killed one undoes nothing, and no plugin knows the names of the links that it
//! had made. So the next DEL of the attachment, and GC of the network, remove links whose mark belongs to no existing
//! attachment.

use weir_cni::Attachment;
use weir_cni::owner::{is_attachments, is_of_attachment, is_of_network};
use weir_kernel::Error;

use super::state::State;

impl State {
    /// Removes the links of this attachment. Finding them makes the kernel visit every link of the host, so a DEL whose
    /// ADD is known to have ended does not call it.
    pub fn remove_left_of_attachment(&mut self) -> Result<(), Error> {
        let invocation = self.broker.gate().invocation().clone();
        let (container_id, ifname) = (invocation.container_id, invocation.ifname);
        self.broker
            .remove_left(&|mark| is_of_attachment(mark, &container_id, &ifname))
    }

    /// Removes the links of all attachments to this network except these.
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
