//! Capability `sysctl`: kernel parameters below `net.`.

mod effect;
mod included;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::act::{Act, Severity};
use super::field::Has::{self, One};
use super::field::types::{Exact, InNamespace, Keys, Owners};
use super::invocation::Invocation;
use super::namespace::Namespace;
use super::operation::{operations, reads};
use super::owner::Owner;
use super::rule::declare::rule;
use super::rule::listed;
use super::verb::Verb;
use effect::Effect;
use included::included;

pub use super::sysctl_key::{flaw_of_key, segments};

/// Reads a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Read {
    pub namespace: Namespace,
    /// With dots; a dot inside a name is a slash.
    pub key: String,
}

/// Writes a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Write {
    pub namespace: Namespace,
    pub key: String,
    pub value: String,
    /// The owner's mark of the parameter's link, in `host`; empty if it has no link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
}

impl Write {
    /// Whether it is a parameter of one link, or of all of them.
    fn is_of_links(&self) -> bool {
        self.link().is_some()
    }

    /// Returns the name of the parameter's link: `eth0.1` for `net.ipv4.conf.eth0/1.forwarding`.
    pub fn link(&self) -> Option<String> {
        let mut segments = self.key.split('.').skip(2);
        let of_links = matches!(segments.next(), Some("conf" | "neigh"));
        let link = segments.next().filter(|_| of_links)?;
        Some(link.replace('/', "."))
    }
}

/// Says why this cannot be a parameter's value: a line end or a NUL could make it a different one to the kernel than
/// to the grant.
pub fn flaw_of_value(key: &str, value: &str) -> Option<String> {
    let is_wrong = value.contains(|c: char| c.is_control() && c != '\t');
    is_wrong.then(|| {
        format!(
            "value `{}` for {key} has control characters",
            value.escape_debug()
        )
    })
}

/// Says how a value of a parameter disables a protection, as it follows "which": "turns off the check for forged source
/// addresses". An empty value stands for any. None if it disables none that is known.
pub fn disabled_protection(key: &str, value: &str) -> Option<&'static str> {
    Effect::of(key, value)?.disabled_protection()
}

operations! {
    SysctlRule;
    Read: "sysctl.read", Read, flaw(|o| flaw_of_key(&o.key)), |o| Requirement {
        namespace: o.namespace,
        key: o.key.clone(),
        value: None,
        owner: None,
    };
    Write: "sysctl.write", Write, flaw(|o| flaw_of_key(&o.key).or_else(|| flaw_of_value(&o.key, &o.value))),
        |o| Requirement {
            namespace: o.namespace,
            key: o.key.clone(),
            value: Some(o.value.clone()),
            owner: Some(o.owner.clone()),
        };
}

reads!(Read);

impl Act for Write {
    fn act(&self) -> String {
        let (key, value) = (&self.key, &self.value);
        let effect = if flaw_of_key(key).is_some() {
            ", which is not a parameter below net.".to_owned()
        } else {
            Effect::of(key, value).map_or_else(String::new, |e| format!(", which {}", e.words))
        };
        format!("set {key} to {value} in {}{effect}", self.namespace)
    }

    /// Outside `net.`, a parameter such as `kernel.core_pattern` makes the kernel run programs on the host. weir writes none.
    fn severity(&self, invocation: &Invocation) -> Severity {
        if flaw_of_key(&self.key).is_some() {
            return Severity::LeavesContainer;
        }
        let is_own = Owner::Attachment.has(&self.owner, invocation);
        let place = if is_own || !self.is_of_links() {
            Severity::of_change_in(self.namespace)
        } else {
            Severity::of_traffic_in(self.namespace)
        };
        let effect = Effect::of(&self.key, &self.value);
        effect.map_or(place, |effect| place.max(effect.severity(self.namespace)))
    }
}

rule! {
    /// `sysctl:` in a grant. Absent fields match everything.
    pub struct SysctlRule: Sysctl for r: Requirement, which may "read" Read, "write" Write {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.namespace);
        /// Globs, segment by segment.
        keys: Keys = One((r.namespace, &r.key)), including(included),
            left_out("every-key", "it may set every parameter below `net.` of the host");
        => verbs = r.verb();
        /// Owners of the link whose parameter is written, in `host`: this network, this attachment. A parameter
        /// without a link is written only if this is absent. Reads are not limited by it.
        owners: Owners = Has::if_any(r.owner.as_deref()), only_for(&[Verb::Write]), never_suggested();
        /// Values that may be written, exactly.
        values: Exact = Has::if_any(r.value.as_deref()), only_for(&[Verb::Write]),
            left_out("any-value", "it may set these parameters of the host to anything"), usually_left_out();
    } says |rule| {
        // Neither `all` nor `default` has an owner, nor has a parameter that is not a link's.
        let has_owners = rule.has("owners");
        let keys = if has_owners {
            rule.take("keys").map(|keys| listed(keys, "and"))
        } else {
            None
        };
        let every = "every parameter below net.";
        let keys = keys.unwrap_or_else(|| rule.all_of("keys", every));
        let values = rule.with("values", " to ");
        match (rule.may(Verb::Read), rule.may(Verb::Write)) {
            (true, true) if has_owners => format!("read {keys} of any link, and set it{values}"),
            (true, true) => format!("read {keys}, and set it{values}"),
            (false, true) => format!("set {keys}{values}"),
            _ => format!("read {keys}"),
        }
    }
}

/// One parameter, and the value to write or none to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    pub key: String,
    pub value: Option<String>,
    /// None to read: owners bound only writes.
    pub owner: Option<String>,
}

impl Requirement {
    fn verb(&self) -> Verb {
        match self.value {
            Some(_) => Verb::Write,
            None => Verb::Read,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "write {} = {value} in {}", self.key, self.namespace),
            None => write!(f, "read {} in {}", self.key, self.namespace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_its_link() {
        let link = |key: &str| {
            let (namespace, key) = (Namespace::Container, key.to_owned());
            let value = "1".to_owned();
            let write = Write {
                namespace,
                key,
                value,
                owner: String::new(),
            };
            write.link()
        };
        assert_eq!(link("net.ipv4.conf.eth0.rp_filter").unwrap(), "eth0");
        assert_eq!(
            link("net.ipv6.neigh.eth0/1.mcast_solicit").unwrap(),
            "eth0.1"
        );
        assert_eq!(link("net.mpls.conf.eth0.input").unwrap(), "eth0");
        // A link may have the name of anything that is not one.
        assert_eq!(link("net.core.somaxconn"), None);
        assert_eq!(link("net.ipv4.ip_default_ttl"), None);
        assert_eq!(link("net.ipv4.route.flush"), None);
        assert_eq!(link("net.ipv4.conf"), None);
    }
}
