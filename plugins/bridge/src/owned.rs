//! Set elements that belong to an attachment, which their comments name.
//!
//! A comment is `<network> <container id> <interface>`, or, where that is longer than nftables
//! allows, digests of the network and of the attachment.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use weir_sdk::firewall::{self, COMMENT_MAX, Command, Element, Elements, Family, Value};
use weir_sdk::{ErrorCode, GcRequest, Namespace, OperationError, Outcome, Request};

/// The first 32 hexadecimal digits of a text's SHA-256.
pub fn digest(text: &str) -> String {
    let mut digits = String::with_capacity(32);
    for byte in &Sha256::digest(text.as_bytes())[..16] {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// The attachment that elements belong to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    comment: String,
}

impl Owner {
    /// The attachment of a request.
    pub fn of<C>(request: &Request<C>) -> Self {
        Owner::new(&request.network, &request.container_id, &request.ifname)
    }

    /// The attachment of these names.
    pub fn new(network: &str, container_id: &str, ifname: &str) -> Self {
        let mut comment = format!("{network} {container_id} {ifname}");
        if comment.len() > COMMENT_MAX {
            let attachment = digest(&format!("{container_id} {ifname}"));
            comment = format!("{}{attachment}", short_prefix(network));
        }
        Owner { comment }
    }

    /// What the attachment's elements have as their comment.
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// Whether an element is the attachment's.
    pub fn owns(&self, element: &Element) -> bool {
        element.comment.as_deref() == Some(self.comment())
    }
}

/// What the comments of a network with too long names begin with. No network's name has a `#`.
fn short_prefix(network: &str) -> String {
    format!("#{} ", digest(network))
}

/// What of a network's elements may stay.
pub struct Valid {
    prefixes: [String; 2],
    owners: Vec<Owner>,
}

impl Valid {
    /// The elements of a garbage collection's valid attachments.
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

    /// Whether an element is of this network, and of none of its valid attachments.
    fn is_garbage(&self, element: &Element) -> bool {
        let comment = element.comment.as_deref().unwrap_or_default();
        let is_ours = self
            .prefixes
            .iter()
            .any(|p| comment.starts_with(p.as_str()));
        is_ours && !self.owners.iter().any(|owner| owner.owns(element))
    }
}

/// An element and the set that it is in.
pub type Found = (&'static str, Element);

/// All elements of these sets that pass; none where there is no such set.
pub fn find(
    family: Family,
    sets: &[&'static str],
    passes: impl Fn(&Element) -> bool,
) -> Result<Vec<Found>, OperationError> {
    let mut found = Vec::new();
    for set in sets {
        let elements = if_any(firewall::list_elements(Namespace::Host, family, set))?;
        let elements = elements.unwrap_or_default().into_iter();
        found.extend(elements.filter(&passes).map(|element| (*set, element)));
    }
    Ok(found)
}

/// The element of a set, where it is the attachment's; none where there is no such set.
pub fn get(
    family: Family,
    set: &'static str,
    key: &[Value],
    owner: &Owner,
) -> Result<Option<Found>, OperationError> {
    let element = if_any(firewall::get_element(Namespace::Host, family, set, key))?;
    let own = element.flatten().filter(|element| owner.owns(element));
    Ok(own.map(|element| (set, element)))
}

/// None where there is no such set, or nftables at all: then ADD cannot have made an element.
fn if_any<T>(read: Result<T, OperationError>) -> Result<Option<T>, OperationError> {
    match read {
        Err(error) if error.code == ErrorCode::Unsupported => Ok(None),
        read => read.found(),
    }
}

/// Removes all elements of these sets that belong to no valid attachment of the network.
pub fn retain(family: Family, sets: &[&'static str], valid: &Valid) -> Result<(), OperationError> {
    delete(
        family,
        find(family, sets, |element| valid.is_garbage(element))?,
    )
}

/// Removes elements, in one transaction where all are still there.
pub fn delete(family: Family, found: Vec<Found>) -> Result<(), OperationError> {
    if found.is_empty() {
        return Ok(());
    }
    let commands: Vec<Command> = found.into_iter().map(deletion).collect();
    if firewall::apply(Namespace::Host, family, &commands)
        .found()?
        .is_some()
    {
        return Ok(());
    }
    for command in commands {
        firewall::apply(Namespace::Host, family, &[command]).found()?;
    }
    Ok(())
}

/// The command that removes an element.
pub fn deletion((set, element): Found) -> Command {
    Command::DeleteElements(Elements::of(set, [Element::new(element.key)]))
}

/// The command that creates an element.
pub fn creation((set, element): Found) -> Command {
    Command::CreateElements(Elements::of(set, [element]))
}

#[cfg(test)]
mod tests {
    use weir_sdk::Attachment;

    use super::*;

    fn element(comment: &str) -> Element {
        Element::new([Value::Number(1)]).with_comment(comment)
    }

    #[test]
    fn comments_are_readable_and_never_too_long() {
        let owner = Owner::new("dbnet", "5f3c", "eth0");
        assert_eq!(owner.comment(), "dbnet 5f3c eth0");
        let long = Owner::new(&"n".repeat(60), &"c".repeat(64), "eth0");
        assert!(long.comment().len() <= COMMENT_MAX, "{}", long.comment());
        assert_ne!(long, Owner::new(&"n".repeat(60), &"c".repeat(64), "eth1"));
        assert_ne!(long, Owner::new(&"m".repeat(60), &"c".repeat(64), "eth0"));
    }

    #[test]
    fn garbage_is_what_the_network_has_besides_its_valid_attachments() {
        let network = "n".repeat(100);
        let valid = Valid::of(&GcRequest {
            network: network.clone(),
            config: (),
            valid_attachments: vec![Attachment::new("live", "eth0")],
        });
        let long_id = "d".repeat(64);
        for (owner, is_garbage) in [
            (Owner::new(&network, "live", "eth0"), false),
            (Owner::new(&network, "dead", "eth0"), true),
            (Owner::new(&network, "live", "eth1"), true),
            (Owner::new(&network, &long_id, "eth0"), true),
            (Owner::new("other", "dead", "eth0"), false),
            (Owner::new(&"m".repeat(100), &long_id, "eth0"), false),
        ] {
            let element = element(owner.comment());
            assert_eq!(valid.is_garbage(&element), is_garbage, "{owner:?}");
        }
        assert!(!valid.is_garbage(&Element::new([Value::Number(1)])));
    }

    #[test]
    fn digests_are_stable() {
        assert_eq!(digest(""), "e3b0c44298fc1c149afbf4c8996fb924");
    }
}
