//! What an `add` left that was killed half-way: links of the host, found by the mark of their owner.
//!
//! The host undoes an `add` that fails. One that is killed undoes nothing, and no plugin knows the names of what it had
//! made by then. So the next DEL of the attachment, and GC of the network, remove what carries a mark and belongs to no
//! attachment that there is.

use weir_cni::Attachment;
use weir_cni::owner::{is_attachments, is_of_attachment, is_of_network};
use weir_grant::Namespace;
use weir_grant::link::Delete;
use weir_kernel::{self as kernel, Error};

use super::state::Host;

impl Host {
    /// Removes the links of this attachment. To look for them takes the kernel a look at every link of the host, so
    /// that a DEL whose ADD is known to have ended does without.
    pub fn remove_left_of_attachment(&mut self) -> Result<(), Error> {
        let invocation = self.gate.invocation().clone();
        let (container_id, ifname) = (invocation.container_id, invocation.ifname);
        self.remove_marked(|mark| is_of_attachment(mark, &container_id, &ifname))
    }

    /// Removes the links of attachments to this network that are not among these.
    pub fn remove_left_of_network(&mut self, valid: &[Attachment]) -> Result<(), Error> {
        let network = self.gate.invocation().network.clone();
        let is_valid = |mark: &str| {
            let mut valid = valid.iter();
            valid.any(|a| is_of_attachment(mark, &a.container_id, &a.ifname))
        };
        self.remove_marked(|mark| {
            is_attachments(mark) && is_of_network(mark, &network) && !is_valid(mark)
        })
    }

    fn remove_marked(&mut self, is_left: impl Fn(&str) -> bool) -> Result<(), Error> {
        if !self.gate.may_create_links(Namespace::Host) {
            return Ok(());
        }
        let spaces = &mut self.namespaces;
        let left = kernel::without_permit::marked_links(spaces.host(), is_left)?.into_iter();
        // Other plugins of the network make others, and remove them with a DEL of their own.
        let own = left.filter(|link| self.gate.may_have_created(link));
        let deletes = own.map(|link| Delete { link }).collect();
        self.gate
            .undo_all(deletes, |permits| kernel::link::delete_all(spaces, permits))
    }
}
