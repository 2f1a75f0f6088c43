//! Several networks of one container, one attachment at a time.

use weir_cni::{AddResult, Error};

use super::attachment::Attachment;
use super::in_order::{self, RolledBack};
use super::list::Network;

/// A network, and the interface that it has in the container.
pub struct Member {
    pub network: Network,
    pub ifname: String,
}

/// ADD of each in order. When one fails, those before it are deleted again, the last first, and none after
/// it is tried.
pub(crate) fn add(
    members: &[Member],
    attachment: &Attachment,
) -> Result<Vec<AddResult>, RolledBack> {
    in_order::attach(
        members,
        |member, _| member.network.add(&member.attachment(attachment)),
        |member, _| member.network.del(&member.attachment(attachment)),
    )
}

/// DEL of each, the last first, past failures: they are returned with the places of their networks.
pub(crate) fn del(members: &[Member], attachment: &Attachment) -> Vec<(usize, Error)> {
    in_order::detach(members, |member| {
        member.network.del(&member.attachment(attachment))
    })
}

/// CHECK of each in order. Errors: the first failing network's.
pub(crate) fn check(members: &[Member], attachment: &Attachment) -> Result<(), Error> {
    members
        .iter()
        .try_for_each(|member| member.network.check(&member.attachment(attachment)))
}

impl Member {
    fn attachment(&self, container: &Attachment) -> Attachment {
        container.with_ifname(self.ifname.as_str())
    }
}
