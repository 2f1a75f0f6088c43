//! Capability `policy-rule`: policy routing rules. They choose the table in which a packet's route is looked
//! up.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::act::{Act, Severity};
use super::address::Family;
use super::field::types::{InNamespace, Numbers, Ranges, Words};
use super::field::{
    Has::{self, One},
    Networks,
};
use super::invocation::Invocation;
use super::namespace::Namespace;
use super::operation::{operations, reads};
use super::rule::declare::rule;
use super::verb::Verb;

/// A policy routing rule of one namespace. Absent selectors match every packet.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyRule {
    pub family: Family,
    /// Lower is earlier. Absent if the kernel is to choose.
    pub priority: Option<u32>,
    pub source: Option<IpNet>,
    pub destination: Option<IpNet>,
    pub input_link: Option<String>,
    pub output_link: Option<String>,
    pub mark: Option<u32>,
    pub mark_mask: Option<u32>,
    /// The table to look up.
    pub table: u32,
}

impl PolicyRule {
    /// Makes a rule for all packets of a family, whose priority the kernel chooses.
    pub fn new(family: Family, table: u32) -> Self {
        Self {
            family,
            priority: None,
            source: None,
            destination: None,
            input_link: None,
            output_link: None,
            mark: None,
            mark_mask: None,
            table,
        }
    }

    /// The sources that it matches: without one, every address of its family.
    fn sources(&self) -> IpNet {
        self.source.unwrap_or(match self.family {
            Family::Ipv4 => IpNet::V4(ipnet::Ipv4Net::default()),
            Family::Ipv6 => IpNet::V6(ipnet::Ipv6Net::default()),
        })
    }
}

/// Adds a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Add {
    pub namespace: Namespace,
    pub rule: PolicyRule,
}

/// Removes the first rule that has these selectors. What is left out matches any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delete {
    pub namespace: Namespace,
    pub rule: PolicyRule,
}

/// Lists rules of one family or of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct List {
    pub namespace: Namespace,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
}

operations! {
    PolicyRuleRule;
    Add: "policy-rule.add", Create, |o| Requirement::of(o.namespace, &o.rule, Self::VERB);
    Delete: "policy-rule.delete", Delete, |o| Requirement::of(o.namespace, &o.rule, Self::VERB);
    List: "policy-rule.list", Read, |o|
        Requirement { namespace: o.namespace, family: o.family, source: None, table: None, priority: None, verb: Self::VERB };
}

reads!(List);

impl PolicyRule {
    /// The packets that it matches: "packets from 10.1.0.0/16, coming in on `eth0`".
    fn packets(&self) -> String {
        let mut selectors = Vec::new();
        selectors.extend(self.source.map(|source| format!("from {source}")));
        selectors.extend(
            self.destination
                .map(|destination| format!("to {destination}")),
        );
        selectors.extend(
            self.input_link
                .as_ref()
                .map(|link| format!("coming in on `{link}`")),
        );
        selectors.extend(
            self.output_link
                .as_ref()
                .map(|link| format!("going out of `{link}`")),
        );
        selectors.extend(self.mark.map(|mark| {
            let mask = self.mark_mask.unwrap_or(u32::MAX);
            format!("with mark {mark:#x}/{mask:#x}")
        }));
        if selectors.is_empty() {
            return format!("every {} packet", self.family);
        }
        format!("{} packets {}", self.family, selectors.join(", "))
    }

    /// Returns the rule in a sentence: "routing rule in container, priority 7: ipv4 packets from 10.1.0.0/16 by routing
    /// table 100".
    pub fn words(&self, namespace: Namespace) -> String {
        let priority = self
            .priority
            .map(|priority| format!(", priority {priority}"));
        let priority = priority.unwrap_or_default();
        let Self { table, .. } = self;
        format!(
            "routing rule in {namespace}{priority}: {} by routing table {table}",
            self.packets()
        )
    }
}

impl Act for Add {
    fn act(&self) -> String {
        format!("add the {}", self.rule.words(self.namespace))
    }

    /// Whose the packets are, the rule does not say.
    fn severity(&self, _: &Invocation) -> Severity {
        Severity::of_traffic_in(self.namespace)
    }
}

impl Act for Delete {
    fn act(&self) -> String {
        format!("delete the {}", self.rule.words(self.namespace))
    }

    fn severity(&self, _: &Invocation) -> Severity {
        Severity::of_traffic_in(self.namespace)
    }
}

rule! {
    // An operation that does not specify a field, such as a list of all rules, is allowed only by a rule without the
    // field.
    /// `policy-rule:` in a grant. Absent fields match everything.
    pub struct PolicyRuleRule: PolicyRule for r: Requirement, which may "add" Create, "read" Read, "remove" Delete {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.namespace);
        /// Address families.
        families: Words<Family> = Has::or_anything(r.family);
        /// Networks that contain the source. A rule without a source matches every address.
        #[serde(with = "Networks")]
        sources: Networks = Has::or_anything(r.source), not_said_by(&[Verb::Read]);
        /// Tables that may be looked up.
        tables: Numbers = Has::or_anything(r.table), not_said_by(&[Verb::Read]);
        /// Priorities, as numbers and ranges. One that the kernel chooses matches only if this is
        /// absent.
        priorities: Ranges<u32> = Has::or_anything(r.priority), not_said_by(&[Verb::Read]);
        => verbs = r.verb;
    } says |rule| format!("{} policy routing rules", rule.verbs())
}

/// Policy rules, and what is done with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    /// None to read both families.
    pub family: Option<Family>,
    /// None to read all rules.
    pub source: Option<IpNet>,
    /// None to read all rules.
    pub table: Option<u32>,
    /// None if the kernel chooses, or any will do.
    pub priority: Option<u32>,
    pub verb: Verb,
}

impl Requirement {
    fn of(namespace: Namespace, rule: &PolicyRule, verb: Verb) -> Self {
        Self {
            namespace,
            family: Some(rule.family),
            source: Some(rule.sources()),
            table: Some(rule.table),
            priority: rule.priority,
            verb,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace, verb, ..
        } = self;
        let (Some(source), Some(table)) = (self.source, self.table) else {
            return write!(f, "{verb} the policy rules in {namespace}");
        };
        write!(f, "{verb} policy rule from {source} to table {table}")?;
        if let Some(priority) = self.priority {
            write!(f, ", priority {priority}")?;
        }
        write!(f, " in {namespace}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Operation;
    use super::*;
    use crate::tests::decisions::missed;

    const SBR: &str = r#"{"policy-rule": [{
        "namespace": "container", "families": ["ipv4"], "sources": ["10.1.0.0/16"],
        "tables": [100, 101], "priorities": [7, "1000-1999"], "verbs": ["create", "read"]
    }]}"#;

    fn from(source: &str) -> PolicyRule {
        PolicyRule {
            priority: Some(1000),
            source: Some(source.parse().expect("a network")),
            ..PolicyRule::new(Family::Ipv4, 100)
        }
    }

    fn add(rule: PolicyRule) -> Add {
        Add {
            namespace: Namespace::Container,
            rule,
        }
    }

    #[test]
    fn what_is_listed_is_allowed() {
        for priority in [7, 1000, 1500, 1999] {
            let mut rule = from("10.1.2.3/32");
            rule.priority = Some(priority);
            assert_eq!(missed(SBR, &add(rule)), None, "{priority}");
        }
        let list = List {
            namespace: Namespace::Container,
            family: Some(Family::Ipv4),
        };
        let read = r#"{"policy-rule": [{ "families": ["ipv4"], "verbs": ["read"] }]}"#;
        assert_eq!(missed(read, &list), None);
        // It shows what comes from everywhere.
        assert_eq!(
            missed(SBR, &list),
            Some("policy-rule[0]: sources".to_owned())
        );
        let all = r#"{"policy-rule": [{}]}"#;
        let mut rule = from("0.0.0.0/0");
        (rule.source, rule.priority) = (None, None);
        assert_eq!(missed(all, &add(rule)), None);
    }

    #[test]
    fn each_field_counts() {
        let closest = |field: &str| Some(format!("policy-rule[0]: {field}"));
        let mut outside = add(from("10.1.0.0/16"));
        outside.namespace = Namespace::Host;
        assert_eq!(missed(SBR, &outside), closest("namespace"));
        let mut ipv6 = from("fd00::/64");
        ipv6.family = Family::Ipv6;
        assert_eq!(missed(SBR, &add(ipv6)), closest("families"));
        for source in ["10.2.0.0/16", "10.0.0.0/15", "0.0.0.0/0"] {
            assert_eq!(missed(SBR, &add(from(source))), closest("sources"));
        }
        let mut main = from("10.1.2.3/32");
        main.table = 254;
        assert_eq!(missed(SBR, &add(main)), closest("tables"));
        for priority in [None, Some(0), Some(8), Some(999), Some(2000)] {
            let mut rule = from("10.1.2.3/32");
            rule.priority = priority;
            assert_eq!(missed(SBR, &add(rule)), closest("priorities"));
        }
        let delete = Delete {
            namespace: Namespace::Container,
            rule: from("10.1.2.3/32"),
        };
        assert_eq!(missed(SBR, &delete), closest("verbs"));
        assert_eq!(missed("{}", &delete), Some(String::new()));
    }

    /// A rule without a source diverts every packet, and a list of both families shows both.
    #[test]
    fn everything_is_more_than_something() {
        let mut everybody = from("10.1.0.0/16");
        everybody.source = None;
        let expected = Some("policy-rule[0]: sources".to_owned());
        assert_eq!(missed(SBR, &add(everybody)), expected);
        let list = List {
            namespace: Namespace::Container,
            family: None,
        };
        assert_eq!(
            missed(SBR, &list),
            Some("policy-rule[0]: families".to_owned())
        );
    }

    #[test]
    fn an_operation_says_what_it_needs() {
        let said = |needed: Vec<Requirement>| needed[0].to_string();
        assert_eq!(
            said(add(from("10.1.2.3/32")).requirements()),
            "create policy rule from 10.1.2.3/32 to table 100, priority 1000 in container"
        );
        let list = List {
            namespace: Namespace::Host,
            family: None,
        };
        assert_eq!(said(list.requirements()), "read the policy rules in host");
    }
}
