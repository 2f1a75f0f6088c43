//! Capability `device`: the hardware behind a link of `host`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::field::Has;
use super::field::types::Globs;
use super::operation::{operations, reads};
use super::rule::declare::rule;
use super::verb::Verb;

/// A network device of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The link's name; empty for one that no network driver is bound to.
    pub link: String,
    /// `0000:00:1f.6`; empty for one that is not on a PCI bus.
    pub pci_address: String,
    /// `mlx5_core.sf.4`; empty for one that is not on the auxiliary bus.
    pub auxiliary_name: String,
    /// The kernel's driver; empty without one.
    pub driver: String,
    pub virtio: bool,
    /// Other links of the same device, sorted.
    pub siblings: Vec<String>,
}

/// Reads the device behind a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByLink {
    /// The link's name.
    pub link: String,
}

/// Reads the device at a PCI address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByPciAddress {
    /// `0000:00:1f.6`.
    pub address: String,
}

/// Reads the device of a name on the auxiliary bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByAuxiliaryName {
    /// `mlx5_core.sf.4`.
    pub name: String,
}

/// Reads the device at a path below `/sys/devices`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByKernelPath {
    pub path: String,
}

operations! {
    DeviceRule;
    ByLink: "device.by-link", Read, |o| Requirement::reading(Subject::Link(o.link.clone()));
    ByPciAddress: "device.by-pci-address", Read, |o| Requirement::reading(Subject::PciAddress(o.address.clone()));
    ByAuxiliaryName: "device.by-auxiliary-name", Read, |o| Requirement::reading(Subject::Auxiliary(o.name.clone()));
    ByKernelPath: "device.by-kernel-path", Read, |o| Requirement::reading(Subject::KernelPath(o.path.clone()));
}

reads!(ByLink, ByPciAddress, ByAuxiliaryName, ByKernelPath);

rule! {
    /// `device:` in a grant. Absent fields match everything. A device is matched by how the plugin names it: a rule with
    /// `links`, `pci` or `auxiliary` does not match a device that is named in another of these ways, or by its path.
    pub struct DeviceRule: Device for r: Requirement, which may "read" Read {
        /// Names of links.
        links: Globs = Has::or_anything(r.subject.link());
        /// PCI addresses, such as `0000:03:00.*`.
        pci: Globs = Has::or_anything(r.subject.pci_address());
        /// Names on the auxiliary bus, such as `mlx5_core.sf.*`.
        auxiliary: Globs = Has::or_anything(r.subject.auxiliary());
        => verbs = r.verb;
    } says |rule| format!("{} facts about hardware", rule.verbs())
}

/// One device, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub subject: Subject,
    pub verb: Verb,
}

/// How a device is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Link(String),
    PciAddress(String),
    Auxiliary(String),
    KernelPath(String),
}

impl Subject {
    fn link(&self) -> Option<&str> {
        match self {
            Self::Link(name) => Some(name),
            _ => None,
        }
    }

    fn pci_address(&self) -> Option<&str> {
        match self {
            Self::PciAddress(address) => Some(address),
            _ => None,
        }
    }

    fn auxiliary(&self) -> Option<&str> {
        match self {
            Self::Auxiliary(name) => Some(name),
            _ => None,
        }
    }
}

impl Requirement {
    fn reading(subject: Subject) -> Self {
        Self {
            subject,
            verb: Verb::Read,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.verb;
        match &self.subject {
            Subject::Link(name) => write!(f, "{verb} the device behind link `{name}`"),
            Subject::PciAddress(address) => {
                write!(f, "{verb} the device at PCI address `{address}`")
            }
            Subject::Auxiliary(name) => write!(f, "{verb} the auxiliary device `{name}`"),
            Subject::KernelPath(path) => write!(f, "{verb} the device at `{path}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::decisions::{allowed, decision, denied};

    const NICS: &str = r#"{"device": [
        {"links": ["ens*"], "verbs": ["read"]},
        {"pci": ["0000:03:00.?"]},
        {"auxiliary": ["mlx5_core.sf.*"]}
    ]}"#;

    fn by_link(name: &str) -> ByLink {
        ByLink {
            link: name.to_owned(),
        }
    }

    fn by_address(address: &str) -> ByPciAddress {
        ByPciAddress {
            address: address.to_owned(),
        }
    }

    fn by_name(name: &str) -> ByAuxiliaryName {
        ByAuxiliaryName {
            name: name.to_owned(),
        }
    }

    fn by_path() -> ByKernelPath {
        ByKernelPath {
            path: "/sys/devices/pci0000:00/0000:03:00.0/net/ens3".to_owned(),
        }
    }

    #[test]
    fn what_is_listed_is_allowed() {
        assert_eq!(decision(NICS, &by_link("ens3")), allowed(&["device[0]"]));
        let function = by_address("0000:03:00.1");
        assert_eq!(decision(NICS, &function), allowed(&["device[1]"]));
        let scalable = by_name("mlx5_core.sf.4");
        assert_eq!(decision(NICS, &scalable), allowed(&["device[2]"]));
        let all = r#"{"device": [{}]}"#;
        assert_eq!(decision(all, &by_path()), allowed(&["device[0]"]));
    }

    #[test]
    fn each_field_counts() {
        assert_eq!(
            decision(NICS, &by_link("eth0")),
            denied(
                "read the device behind link `eth0`",
                Some("device[2]: auxiliary")
            )
        );
        assert_eq!(
            decision(NICS, &by_address("0000:04:00.1")),
            denied(
                "read the device at PCI address `0000:04:00.1`",
                Some("device[2]: auxiliary")
            )
        );
        assert_eq!(
            decision(NICS, &by_name("ice.roce.0")),
            denied(
                "read the auxiliary device `ice.roce.0`",
                Some("device[2]: auxiliary")
            )
        );
        let path = "read the device at `/sys/devices/pci0000:00/0000:03:00.0/net/ens3`";
        assert_eq!(
            decision(NICS, &by_path()),
            denied(path, Some("device[2]: auxiliary"))
        );
        assert_eq!(decision("{}", &by_path()), denied(path, None));
    }
}
