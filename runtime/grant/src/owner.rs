//! The owners of links in `host` that a rule may name: this network, or this attachment.

use weir_cni::owner::{is_of_attachment, is_of_network};

use super::invocation::Invocation;
use super::word::words;

words! {
    /// An owner. What the attachment owns, its network owns as well.
    pub enum Owner {
        /// Made for an attachment to this network, or for all of them.
        Network = "network",
        /// Made for this attachment.
        Attachment = "attachment",
    }
}

impl Owner {
    /// Whether this owner owns a link with this mark.
    pub fn has(&self, mark: &str, invocation: &Invocation) -> bool {
        let Invocation {
            container_id,
            ifname,
            network,
            ..
        } = invocation;
        // The pair identifies an attachment even if its network had another name when the mark was made.
        let is_attachments =
            !container_id.is_empty() && is_of_attachment(mark, container_id, ifname);
        match self {
            Self::Attachment => is_attachments,
            Self::Network => is_attachments || is_of_network(mark, network),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_attachments_is_the_networks_and_not_the_other_way_round() {
        let invocation = Invocation::new("5f3c", "net1", "team/net");
        for (mark, of_network, of_attachment) in [
            ("team/net 5f3c net1", true, true),
            // From before definitions were known by their namespace.
            ("net 5f3c net1", true, true),
            ("team/net 5f3c net2", true, false),
            ("team/net", true, false),
            ("net", false, false),
            ("other/net 9999 net1", false, false),
            ("", false, false),
        ] {
            assert_eq!(Owner::Network.has(mark, &invocation), of_network, "{mark}");
            assert_eq!(
                Owner::Attachment.has(mark, &invocation),
                of_attachment,
                "{mark}"
            );
        }
        let nobody = Invocation::default();
        assert!(!Owner::Network.has("", &nobody) && !Owner::Attachment.has("", &nobody));
    }
}
