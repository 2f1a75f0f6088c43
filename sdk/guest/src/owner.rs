//! Ownership: a mark that names the attachment, by which DEL and GC find what belongs to it. The mark is the comment
//! of an element, and the alias that weir gives to links of the host.

use weir_cni::owner::{is_of_network, mark_of_attachment};

pub use weir_cni::owner::MARK_MAX;

use crate::{GcRequest, Request};

/// An attachment, as named by what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    mark: String,
    /// The mark with the network's name in its configuration, where the network is known by another one: earlier
    /// versions wrote it.
    former: Option<String>,
}

impl Owner {
    /// Names the attachment of a request.
    pub fn of<C>(request: &Request<C>) -> Self {
        let Request {
            container_id,
            ifname,
            ..
        } = request;
        let owner = Owner::new(&request.known_as, container_id, ifname);
        let former = Owner::new(&request.network, container_id, ifname).mark;
        Owner {
            former: Some(former).filter(|former| *former != owner.mark),
            ..owner
        }
    }

    /// Names an attachment.
    pub fn new(network: &str, container_id: &str, ifname: &str) -> Self {
        Owner {
            mark: mark_of_attachment(network, container_id, ifname),
            former: None,
        }
    }

    /// Returns the mark of what belongs to the attachment: at most [`MARK_MAX`] bytes.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Whether something with this mark is the attachment's.
    pub fn has(&self, mark: &str) -> bool {
        mark == self.mark || self.former.as_deref() == Some(mark)
    }
}

/// The valid attachments of a network.
pub struct Valid {
    network: String,
    owners: Vec<Owner>,
}

impl Valid {
    /// Collects the valid attachments of a garbage collection.
    pub fn of<C>(request: &GcRequest<C>) -> Self {
        let network = request.known_as.as_str();
        let attachments = request.valid_attachments.iter();
        Valid {
            network: network.to_owned(),
            owners: attachments
                .map(|a| Owner::new(network, &a.container_id, &a.ifname))
                .collect(),
        }
    }

    /// Whether something with this mark belongs to the network, and to none of its valid attachments.
    pub fn is_garbage(&self, mark: &str) -> bool {
        is_of_network(mark, &self.network) && !self.owners.iter().any(|owner| owner.has(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attachment;

    #[test]
    fn what_was_made_under_the_networks_name_is_found() {
        let request = Request {
            container_id: "5f3c".to_owned(),
            ifname: "eth0".to_owned(),
            network: "net".to_owned(),
            known_as: "team/net".to_owned(),
            args: Default::default(),
            config: (),
            previous: None,
            has_container: false,
            sandbox: String::new(),
        };
        let owner = Owner::of(&request);
        assert_eq!(owner.mark(), "team/net 5f3c eth0");
        for (mark, is_own) in [
            ("team/net 5f3c eth0", true),
            ("net 5f3c eth0", true),
            ("net 5f3c eth1", false),
            ("other 5f3c eth0", false),
        ] {
            assert_eq!(owner.has(mark), is_own, "{mark}");
        }
    }

    #[test]
    fn garbage_is_what_the_network_has_besides_its_valid_attachments() {
        for network in ["net", &"n".repeat(100)] {
            let valid = Valid::of(&GcRequest {
                network: "net".to_owned(),
                known_as: network.to_owned(),
                config: (),
                valid_attachments: vec![
                    Attachment::new("live", "eth0"),
                    Attachment::new("l".repeat(64), "eth0"),
                ],
            });
            let long_id = "d".repeat(64);
            for (owner, is_garbage) in [
                (Owner::new(network, "live", "eth0"), false),
                (Owner::new(network, &"l".repeat(64), "eth0"), false),
                (Owner::new(network, "dead", "eth0"), true),
                (Owner::new(network, "live", "eth1"), true),
                (Owner::new(network, &long_id, "eth0"), true),
                (Owner::new("other", "dead", "eth0"), false),
                (Owner::new(&"m".repeat(100), &long_id, "eth0"), false),
            ] {
                assert_eq!(valid.is_garbage(owner.mark()), is_garbage, "{owner:?}");
            }
            assert!(!valid.is_garbage("") && !valid.is_garbage("an administrator's"));
        }
    }
}
