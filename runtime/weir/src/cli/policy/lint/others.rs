//! Rules that reach what belongs to other networks, or lead past the host's own protection.

use ipnet::IpNet;
use weir_grant::field::Field;
use weir_grant::field::types::{Kinds, LinkNames, Owners};
use weir_grant::pattern::{globs_meet, is_glob};
use weir_grant::phrase::joined;
use weir_grant::rule::{RuleFields, rules_of};
use weir_grant::{Capability, Document, Verb};

use super::{Remark, warning};
use crate::cli::policy::reach::on_host;

/// The host's ends of containers' interfaces, as weir and the reference plugins name them.
const HOST_VETH: &str = "veth[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]";

/// The zone of firewalld whose addresses may do everything.
const TRUSTED: &str = "trusted";

/// The names in place of a link's that stand for all links, and for those to come.
pub(super) const ALL_LINKS: [&str; 2] = ["all", "default"];

/// A subnet of a network, and the network's name.
pub type Subnet = (String, IpNet);

pub(super) fn of_others(rule: &RuleFields) -> Vec<Remark> {
    let veth = match rule.capability {
        Capability::Sysctl => veth_in_key(rule),
        _ => every_veth(rule),
    };
    veth.into_iter().chain(trusted_zone(rule)).collect()
}

/// Whether a verb changes something that others may have made. A link has no owner before it is created.
fn touches(rule: &RuleFields) -> impl Fn(&Verb) -> bool {
    let creates = Some(Verb::Create).filter(|_| rule.capability == Capability::Link);
    move |verb| !verb.is_read() && Some(*verb) != creates
}

/// Changes of the host's ends of other networks' containers.
fn every_veth(rule: &RuleFields) -> Option<Remark> {
    let fields = rule.described();
    let of_type = |is: fn(&&Field) -> bool| fields.iter().find(is);
    let names = of_type(|field| field.is_of::<LinkNames>())?;
    let has_owners = of_type(|field| field.is_of::<Owners>()).is_some();
    let is_bounded = rule.get("owners").is_some() || !has_owners;
    if is_bounded || !on_host(rule) || !rule.verbs().iter().any(touches(rule)) {
        return None;
    }
    let has_kinds = of_type(|field| field.is_of::<Kinds>()).is_some();
    let kinds = rule.get("kinds").filter(|_| has_kinds);
    if kinds.is_some_and(|kinds| !kinds.contains("veth")) {
        return None;
    }
    // Without both, another remark says that it is about every link.
    match rule.get(names.key) {
        None if kinds.is_none() => return None,
        Some(named) if named.contains("*") && kinds.is_none() => return None,
        Some(named) if !named.iter().any(|name| is_any_veth(name)) => return None,
        _ => {}
    }
    let text = "it may change every veth of the host, those of other networks' containers too; `owners: [network]` bounds \
                it to this network's";
    Some(warning("every-veth", text))
}

/// Whether a glob matches veths of any owner.
fn is_any_veth(name: &str) -> bool {
    is_glob(name) && !name.contains('{') && globs_meet(name, HOST_VETH)
}

fn veth_in_key(rule: &RuleFields) -> Option<Remark> {
    if !on_host(rule) || rule.get("owners").is_some() || !rule.verbs().contains(&Verb::Write) {
        return None;
    }
    let is_every = |part: &str| part.chars().all(|c| "*?".contains(c));
    let is_wide = |key: &&String| {
        let link = key.split('.').nth(3);
        // A remark on the key says that it is about every link.
        link.is_some_and(|link| is_any_veth(link) && !is_every(link))
    };
    let key = rule.get("keys")?.iter().find(is_wide)?;
    let text = format!(
        "`{key}` is a parameter of every veth of the host, those of other networks' containers too; `owners: [network]` bounds \
         it to this network's"
    );
    Some(warning("every-veth", text))
}

/// Addresses that pass the host's own rules.
fn trusted_zone(rule: &RuleFields) -> Option<Remark> {
    if rule.capability != Capability::Firewalld || !rule.verbs().contains(&Verb::Create) {
        return None;
    }
    let what = match rule.get("zones") {
        None => "`zones` is left out: it may".to_owned(),
        Some(zones) => {
            let zone = zones.iter().find(|zone| globs_meet(zone, TRUSTED))?;
            format!("`{zone}` in `zones`: it may")
        }
    };
    let text = format!(
        "{what} put addresses into the zone `{TRUSTED}`, which accepts everything from them, whatever the host's other rules say"
    );
    Some(warning("trusted-zone", text))
}

/// Routes of the host that overlap subnets of other networks.
pub fn overlapping_routes(document: &Document, subnets: &[Subnet]) -> Vec<Remark> {
    let mut findings = Vec::new();
    for (section, capabilities) in document.spec.sections() {
        let rules = rules_of(capabilities, Capability::Route);
        for (index, rule) in rules.iter().enumerate() {
            let others = subnets
                .iter()
                .filter(|(network, _)| !is_only_network(document, network));
            findings.extend(overlap(rule, others).map(|found| Remark {
                rule: Some(section.rule(&format!("route[{index}]"))),
                ..found
            }));
        }
    }
    findings
}

/// Whether a grant is for this network and for no other.
fn is_only_network(document: &Document, network: &str) -> bool {
    matches!(document.spec.networks.as_slice(), [only] if only.to_string() == network)
}

fn overlap<'a>(rule: &RuleFields, others: impl Iterator<Item = &'a Subnet>) -> Option<Remark> {
    let makes = |verb: &Verb| matches!(verb, Verb::Create | Verb::Update);
    if !on_host(rule) || rule.get("overlaps").is_some() || !rule.verbs().iter().any(makes) {
        return None;
    }
    let destinations = rule.get("destinations")?.iter();
    let destinations: Vec<IpNet> = destinations.filter_map(|text| text.parse().ok()).collect();
    let overlaps = |subnet: &IpNet| {
        destinations
            .iter()
            .any(|own| own.contains(subnet) || subnet.contains(own))
    };
    let mut found: Vec<String> = others
        .filter(|(_, subnet)| overlaps(subnet))
        .map(|(network, subnet)| format!("{subnet} of network `{network}`"))
        .collect();
    found.dedup();
    if found.is_empty() {
        return None;
    }
    let text = format!(
        "`destinations` overlaps the subnet {}, whose traffic it may lead elsewhere; `overlaps: [network]` keeps its routes \
         from those of others",
        joined(found, "and")
    );
    Some(warning("overlapping-routes", text))
}
