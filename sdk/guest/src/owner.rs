//! Whose something is: a mark that names the attachment, for what DEL and GC must find again.
//!
//! The mark is `<network> <container id> <interface>`, or, where that is longer than a comment of
//! nftables may be, digests of the network and of the attachment. It stands in the comment of an element,
//! in the alias of a link.

use crate::digest::digest;
use crate::{GcRequest, Request};

/// The longest mark, in bytes: as long as a comment of nftables may be.
pub const MARK_MAX: usize = 128;

/// An attachment, as what belongs to it names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    mark: String,
}

impl Owner {
    /// The attachment of a request.
    pub fn of<C>(request: &Request<C>) -> Self {
        Owner::new(&request.network, &request.container_id, &request.ifname)
    }

    /// The attachment of these names.
    pub fn new(network: &str, container_id: &str, ifname: &str) -> Self {
        let mut mark = format!("{network} {container_id} {ifname}");
        if mark.len() > MARK_MAX {
            let attachment = digest(&format!("{container_id} {ifname}"));
            mark = format!("{}{attachment}", short_prefix(network));
        }
        Owner { mark }
    }

    /// What stands in the attachment's things: at most [`MARK_MAX`] bytes.
    pub fn mark(&self) -> &str {
        &self.mark
    }
}

/// What the marks of a network with too long names begin with. No network's name has a `#`.
fn short_prefix(network: &str) -> String {
    format!("#{} ", digest(network))
}

/// What of a network's things may stay.
pub struct Valid {
    prefixes: [String; 2],
    owners: Vec<Owner>,
}

impl Valid {
    /// The things of a garbage collection's valid attachments.
    pub fn of<C>(request: &GcRequest<C>) -> Self {
        let network = request.network.as_str();
        let attachments = request.valid_attachments.iter();
        Valid {
            prefixes: [format!("{network} "), short_prefix(network)],
            owners: attachments
                .map(|a| Owner::new(network, &a.container_id, &a.ifname))
                .collect(),
        }
    }

    /// Whether something with this mark is of the network, and of none of its valid attachments.
    pub fn is_garbage(&self, mark: &str) -> bool {
        let mut prefixes = self.prefixes.iter();
        let is_ours = prefixes.any(|prefix| mark.starts_with(prefix.as_str()));
        is_ours && !self.owners.iter().any(|owner| owner.mark() == mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attachment;

    #[test]
    fn marks_are_readable_and_never_too_long() {
        let owner = Owner::new("dbnet", "5f3c", "eth0");
        assert_eq!(owner.mark(), "dbnet 5f3c eth0");
        let long = Owner::new(&"n".repeat(60), &"c".repeat(64), "eth0");
        assert!(long.mark().len() <= MARK_MAX, "{}", long.mark());
        assert_ne!(long, Owner::new(&"n".repeat(60), &"c".repeat(64), "eth1"));
        assert_ne!(long, Owner::new(&"m".repeat(60), &"c".repeat(64), "eth0"));
    }

    #[test]
    fn garbage_is_what_the_network_has_besides_its_valid_attachments() {
        for network in ["net", &"n".repeat(100)] {
            let valid = Valid::of(&GcRequest {
                network: network.to_owned(),
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
