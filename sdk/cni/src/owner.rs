//! Ownership of what plugins make on a node: a mark that names the network and the attachment.
//!
//! It is `NETWORK CONTAINER-ID INTERFACE`, or `NETWORK` alone for what all attachments to a network share. Where that
//! is longer than [`MARK_MAX`], it has digests of the network and of the attachment instead. Names of networks
//! contain neither `#` nor blanks; container ids and interface names contain no blanks.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The longest mark, in bytes: as long as a comment of nftables may be.
pub const MARK_MAX: usize = 128;

/// Returns the mark of what belongs to an attachment. `network` is what grants know it by: a name, or a definition's
/// `namespace/name`.
pub fn mark_of_attachment(network: &str, container_id: &str, ifname: &str) -> String {
    let mark = format!("{network} {container_id} {ifname}");
    if mark.len() > MARK_MAX {
        format!("#{} {}", digest(network), attachment(container_id, ifname))
    } else {
        mark
    }
}

/// Returns the mark of what all attachments to a network share.
pub fn mark_of_network(network: &str) -> String {
    if network.len() > MARK_MAX {
        format!("#{}", digest(network))
    } else {
        network.to_owned()
    }
}

/// Whether a mark is the network's, or one of its attachments'.
pub fn is_of_network(mark: &str, network: &str) -> bool {
    let owner = mark.split(' ').next().unwrap_or_default();
    !owner.is_empty() && (owner == network || owner.strip_prefix('#') == Some(&digest(network)))
}

/// Whether a mark is an attachment's, whatever its network is known by.
pub fn is_of_attachment(mark: &str, container_id: &str, ifname: &str) -> bool {
    let Some((owner, own)) = mark.split_once(' ') else {
        return false;
    };
    if owner.starts_with('#') {
        own == attachment(container_id, ifname)
    } else {
        own.split_once(' ') == Some((container_id, ifname))
    }
}

/// Whether a mark is some attachment's, and not of what all attachments to a network share.
pub fn is_attachments(mark: &str) -> bool {
    mark.contains(' ')
}

/// Whether a text has the form of a mark.
pub fn is_mark(text: &str) -> bool {
    let parts = text.split(' ').count();
    text.starts_with('#') || parts == 3 || (parts == 1 && !text.is_empty())
}

fn attachment(container_id: &str, ifname: &str) -> String {
    digest(&format!("{container_id} {ifname}"))
}

/// Returns the first 32 hexadecimal digits of a text's SHA-256: the same for the same text only.
pub fn digest(text: &str) -> String {
    let mut digits = String::with_capacity(32);
    for byte in &Sha256::digest(text.as_bytes())[..16] {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_readable_and_never_too_long() {
        assert_eq!(
            mark_of_attachment("dbnet", "5f3c", "eth0"),
            "dbnet 5f3c eth0"
        );
        let long = mark_of_attachment(&"n".repeat(60), &"c".repeat(64), "eth0");
        assert!(long.len() <= MARK_MAX, "{long}");
        let other = mark_of_attachment(&"n".repeat(60), &"c".repeat(64), "eth1");
        assert_ne!(long, other);
        assert!(mark_of_network(&"n".repeat(300)).len() <= MARK_MAX);
        assert_eq!(digest(""), "e3b0c44298fc1c149afbf4c8996fb924");
    }

    #[test]
    fn a_mark_says_whose_it_is() {
        for network in ["net", "team/net", &"n".repeat(200)] {
            let mark = mark_of_attachment(network, "5f3c", "eth0");
            assert!(is_of_network(&mark, network), "{mark}");
            assert!(is_of_network(&mark_of_network(network), network), "{mark}");
            assert!(is_of_attachment(&mark, "5f3c", "eth0"), "{mark}");
            assert!(!is_of_network(&mark, "ne") && !is_of_network(&mark, "other"));
            assert!(!is_of_attachment(&mark, "5f3c", "eth1"), "{mark}");
            assert!(!is_of_attachment(&mark, "5f3", "eth0"), "{mark}");
            assert!(!is_of_attachment(&mark_of_network(network), "5f3c", "eth0"));
        }
        for nobodys in ["", "uplink of rack 7", " 5f3c eth0", "#", "# "] {
            assert!(!is_of_network(nobodys, "net") && !is_of_network(nobodys, ""));
            assert!(!is_of_attachment(nobodys, "x", "y"), "{nobodys}");
        }
    }
}
