//! Capability `firewalld`: the zones of firewalld, where it runs.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::fields::{Networks, Verbs};
use super::operation::{Capability, Fields, Invocation, Miss, Operation, Rule, Verb, any};
use super::pattern::{Pattern, contains};

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

/// Takes an address out of a zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoveSource {
    pub zone: String,
    pub source: IpAddr,
}

impl Operation for IsRunning {
    type Rule = FirewalldRule;
    const NAME: &'static str = "firewalld.is-running";
    const VERB: Verb = Verb::Read;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement {
            zone: None,
            source: None,
            verb: Self::VERB,
        }]
    }
}

impl Operation for ZoneOfSource {
    type Rule = FirewalldRule;
    const NAME: &'static str = "firewalld.zone-of-source";
    const VERB: Verb = Verb::Read;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement {
            zone: None,
            source: Some(self.source),
            verb: Self::VERB,
        }]
    }
}

impl Operation for AddSource {
    type Rule = FirewalldRule;
    const NAME: &'static str = "firewalld.add-source";
    const VERB: Verb = Verb::Create;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::in_zone(&self.zone, self.source, Self::VERB)]
    }
}

impl Operation for RemoveSource {
    type Rule = FirewalldRule;
    const NAME: &'static str = "firewalld.remove-source";
    const VERB: Verb = Verb::Delete;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::in_zone(&self.zone, self.source, Self::VERB)]
    }
}

/// `firewalld:` in a grant. Absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FirewalldRule {
    /// Names of zones, for what changes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<Pattern>>,
    /// Networks that the address must be in.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Networks")]
    pub sources: Option<Vec<IpNet>>,
    /// What may be done; everything, when left out.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "Verbs::<FirewalldRule>"
    )]
    pub verbs: Option<Vec<Verb>>,
}

/// An address, its zone, and what is done with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// None for what only reads.
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

impl Rule for FirewalldRule {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Firewalld;
    const VERBS: &'static [Verb] = &[Verb::Create, Verb::Read, Verb::Delete];

    fn miss(&self, r: &Requirement, invocation: &Invocation) -> Option<Miss> {
        let is_named = |zone: &String| {
            any(self.zones.as_deref(), |pattern| {
                pattern.matches(zone, invocation)
            })
        };
        let in_networks = |source: &IpAddr| {
            let source = IpNet::from(*source);
            any(self.sources.as_deref(), |n| contains(n, &source))
        };
        Fields::default()
            .field("zones", r.zone.as_ref().is_none_or(is_named))
            .field("sources", r.source.as_ref().is_none_or(in_networks))
            .field("verbs", any(self.verbs.as_deref(), |v| *v == r.verb))
            .miss()
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::Capabilities;
    use super::super::operation::{Decision, decide};
    use super::*;

    const PODS: &str = r#"{"firewalld": [{
        "zones": ["trusted", "pods-*"], "sources": ["10.1.0.0/16", "fd00:1::/64"],
        "verbs": ["create", "read"]
    }]}"#;

    fn decision<O: Operation>(grant: &str, operation: &O) -> Decision {
        let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
        decide(&capabilities, &Invocation::default(), operation)
    }

    fn add(zone: &str, source: &str) -> AddSource {
        AddSource {
            zone: zone.to_owned(),
            source: source.parse().expect("an address"),
        }
    }

    fn missed(decision: Decision) -> Option<String> {
        match decision {
            Decision::Allowed { .. } => None,
            Decision::Denied { closest, .. } => closest.map(|closest| closest.to_string()),
        }
    }

    #[test]
    fn what_is_listed_is_allowed() {
        for (zone, source) in [
            ("trusted", "10.1.2.3"),
            ("pods-a", "10.1.255.255"),
            ("trusted", "fd00:1::5"),
        ] {
            assert_eq!(missed(decision(PODS, &add(zone, source))), None, "{source}");
        }
        let read = ZoneOfSource {
            source: IpAddr::from([10, 1, 2, 3]),
        };
        assert_eq!(missed(decision(PODS, &read)), None);
        assert_eq!(missed(decision(PODS, &IsRunning {})), None);
    }

    #[test]
    fn each_field_counts() {
        let closest = |field: &str| Some(format!("firewalld[0]: {field}"));
        let zone = add("public", "10.1.2.3");
        assert_eq!(missed(decision(PODS, &zone)), closest("zones"));
        for source in ["10.2.0.0", "fd00:2::5", "::ffff:10.1.2.3"] {
            let outside = add("trusted", source);
            assert_eq!(missed(decision(PODS, &outside)), closest("sources"));
        }
        let remove = RemoveSource {
            zone: "trusted".to_owned(),
            source: IpAddr::from([10, 1, 2, 3]),
        };
        assert_eq!(missed(decision(PODS, &remove)), closest("verbs"));
        let create = r#"{"firewalld": [{"verbs": ["create"]}]}"#;
        assert_eq!(missed(decision(create, &IsRunning {})), closest("verbs"));
    }

    #[test]
    fn without_a_rule_all_is_denied() {
        let expected = Decision::Denied {
            requirement: "create source 10.1.2.3 of zone `trusted`".to_owned(),
            closest: None,
        };
        assert_eq!(decision("{}", &add("trusted", "10.1.2.3")), expected);
    }

    #[test]
    fn unknown_keys_are_refused() {
        let read = serde_json::from_str::<Capabilities>(r#"{"firewalld": [{"zone": "trusted"}]}"#);
        assert!(read.is_err(), "{read:?}");
    }
}
