//! Capability `firewalld`: the zones of firewalld, where it runs.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::act::{Act, Severity};
use super::field::types::Globs;
use super::field::{Has, Networks};
use super::invocation::Invocation;
use super::operation::{operations, reads};
use super::pattern::{globs_meet, is_glob};
use super::phrase::{joined, quoted};
use super::rule::declare::rule;
use super::verb::Verb;

/// Asks whether firewalld runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IsRunning {}

/// Reads the zone of an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoneOfSource {
    pub source: IpAddr,
}

/// Binds an address to a zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddSource {
    pub zone: String,
    pub source: IpAddr,
}

impl AddSource {
    /// What takes it back.
    pub fn inverse(&self) -> RemoveSource {
        RemoveSource {
            zone: self.zone.clone(),
            source: self.source,
        }
    }
}

/// Takes an address out of a zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoveSource {
    pub zone: String,
    pub source: IpAddr,
}

operations! {
    FirewalldRule;
    IsRunning: "firewalld.is-running", Read, |_o| Requirement { zone: None, source: None, verb: Self::VERB };
    ZoneOfSource: "firewalld.zone-of-source", Read, |o|
        Requirement { zone: None, source: Some(o.source), verb: Self::VERB };
    AddSource: "firewalld.add-source", Create, |o| Requirement::in_zone(&o.zone, o.source, Self::VERB);
    RemoveSource: "firewalld.remove-source", Delete, |o| Requirement::in_zone(&o.zone, o.source, Self::VERB);
}

reads!(IsRunning, ZoneOfSource);

/// The zone of firewalld that accepts every connection.
const TRUSTED: &str = "trusted";
/// Those that accept none from outside.
const CLOSED: [&str; 2] = ["drop", "block"];

impl Act for AddSource {
    fn act(&self) -> String {
        let Self { zone, source } = self;
        let effect = if zone == TRUSTED {
            ", which accepts every connection"
        } else {
            ""
        };
        format!("bind {source} to firewalld's zone `{zone}`{effect}")
    }

    fn severity(&self, _: &Invocation) -> Severity {
        if self.zone == TRUSTED {
            return Severity::DisablesProtection;
        }
        Severity::ReachesOthers
    }
}

impl Act for RemoveSource {
    fn act(&self) -> String {
        let Self { zone, source } = self;
        let is_closed = CLOSED.contains(&zone.as_str());
        let effect = if is_closed {
            ", which accepts no connection"
        } else {
            ""
        };
        format!("take {source} out of firewalld's zone `{zone}`{effect}")
    }

    fn severity(&self, _: &Invocation) -> Severity {
        if CLOSED.contains(&self.zone.as_str()) {
            return Severity::DisablesProtection;
        }
        Severity::ReachesOthers
    }
}

rule! {
    /// `firewalld:` in a grant. Absent fields match everything.
    pub struct FirewalldRule: Firewalld for r: Requirement, which may "add" Create, "look at" Read, "remove" Delete {
        /// Names of zones, for operations that change them.
        zones: Globs = Has::if_any(r.zone.as_deref()), only_for(&[Verb::Create, Verb::Delete]), including(included);
        /// Networks that the address must be in.
        #[serde(with = "Networks")]
        sources: Networks = Has::if_any(r.source.map(IpNet::from));
        => verbs = r.verb;
    } says |rule| {
        let sources = rule.with("sources", " within ");
        let every = included("*").map_or_else(String::new, |included| format!(" ({included})"));
        let zones = rule.one_of("zones", " in the zones ", &format!(" in every zone{every}"));
        format!("{} addresses{sources}{zones}", rule.verbs())
    }
}

/// The zones of firewalld's own that a glob includes and that accept everything or nothing.
fn included(zones: &str) -> Option<String> {
    let has = |zone: &&str| is_glob(zones) && globs_meet(zones, zone);
    let trusted = Some(TRUSTED).filter(has);
    let trusted = trusted.map(|zone| format!("`{zone}`, which accepts every connection"));
    let closed = quoted(CLOSED.iter().filter(|zone| has(zone)));
    let closed = (!closed.is_empty()).then(|| {
        let accept = if closed.len() == 1 {
            "accepts"
        } else {
            "accept"
        };
        format!("{}, which {accept} none", joined(closed, "and"))
    });
    let known: Vec<String> = trusted.into_iter().chain(closed).collect();
    (!known.is_empty()).then(|| format!("including {}", known.join("; ")))
}

/// An address, its zone, and what is done with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// None for operations that only read.
    pub zone: Option<String>,
    /// None for the question whether firewalld runs.
    pub source: Option<IpAddr>,
    pub verb: Verb,
}

impl Requirement {
    fn in_zone(zone: &str, source: IpAddr, verb: Verb) -> Self {
        Self {
            zone: Some(zone.to_owned()),
            source: Some(source),
            verb,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.verb;
        match (&self.zone, &self.source) {
            (Some(zone), Some(source)) => write!(f, "{verb} source {source} of zone `{zone}`"),
            (_, Some(source)) => write!(f, "{verb} the zone of {source}"),
            _ => write!(f, "{verb} whether firewalld runs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::decisions::{decision, denied, missed};

    const PODS: &str = r#"{"firewalld": [{
        "zones": ["trusted", "pods-*"], "sources": ["10.1.0.0/16", "fd00:1::/64"],
        "verbs": ["create", "read"]
    }]}"#;

    fn add(zone: &str, source: &str) -> AddSource {
        AddSource {
            zone: zone.to_owned(),
            source: source.parse().expect("an address"),
        }
    }

    #[test]
    fn what_is_listed_is_allowed() {
        for (zone, source) in [
            ("trusted", "10.1.2.3"),
            ("pods-a", "10.1.255.255"),
            ("trusted", "fd00:1::5"),
        ] {
            assert_eq!(missed(PODS, &add(zone, source)), None, "{source}");
        }
        let read = ZoneOfSource {
            source: IpAddr::from([10, 1, 2, 3]),
        };
        assert_eq!(missed(PODS, &read), None);
        assert_eq!(missed(PODS, &IsRunning {}), None);
    }

    #[test]
    fn each_field_counts() {
        let closest = |field: &str| Some(format!("firewalld[0]: {field}"));
        let zone = add("public", "10.1.2.3");
        assert_eq!(missed(PODS, &zone), closest("zones"));
        for source in ["10.2.0.0", "fd00:2::5", "::ffff:10.1.2.3"] {
            let outside = add("trusted", source);
            assert_eq!(missed(PODS, &outside), closest("sources"));
        }
        let remove = RemoveSource {
            zone: "trusted".to_owned(),
            source: IpAddr::from([10, 1, 2, 3]),
        };
        assert_eq!(missed(PODS, &remove), closest("verbs"));
        let create = r#"{"firewalld": [{"verbs": ["create"]}]}"#;
        assert_eq!(missed(create, &IsRunning {}), closest("verbs"));
    }

    #[test]
    fn without_a_rule_all_is_denied() {
        let act = "bind 10.1.2.3 to firewalld's zone `trusted`, which accepts every connection";
        let expected = denied(act, None);
        assert_eq!(decision("{}", &add("trusted", "10.1.2.3")), expected);
    }
}
