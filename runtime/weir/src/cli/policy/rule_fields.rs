//! A rule as its fields, whatever its capability: what the tools compare, put together and describe.
//!
//! Nothing is decided here: the gate and `explain` use the rules themselves.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use serde_json::{Map, Value, json};
use weir_grant::address::AddressRule;
use weir_grant::conntrack::ConntrackRule;
use weir_grant::device::DeviceRule;
use weir_grant::firewall::FirewallRule;
use weir_grant::firewalld::FirewalldRule;
use weir_grant::link::LinkRule;
use weir_grant::native::NativePlugin;
use weir_grant::neighbour::NeighbourRule;
use weir_grant::packet::PacketRule;
use weir_grant::pattern::contains;
use weir_grant::route::RouteRule;
use weir_grant::rule::RuleRule;
use weir_grant::store::StoreRule;
use weir_grant::sysctl::SysctlRule;
use weir_grant::traffic::TrafficRule;
use weir_grant::{Capabilities, Capability, Rule, Verb};

/// The values of a field, as they are written in a document. A scalar is one of them.
pub type Values = BTreeSet<String>;

/// A rule's fields; one that is not there matches everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleFields {
    pub capability: Capability,
    pub fields: BTreeMap<String, Values>,
}

/// The field of `ipam`, whose rules are names alone.
const IPAM_NAME: &str = "name";

/// The verbs that operations of a capability have.
pub fn verbs(capability: Capability) -> &'static [Verb] {
    match capability {
        Capability::Link => LinkRule::VERBS,
        Capability::Address => AddressRule::VERBS,
        Capability::Route => RouteRule::VERBS,
        Capability::Rule => RuleRule::VERBS,
        Capability::Neighbour => NeighbourRule::VERBS,
        Capability::Traffic => TrafficRule::VERBS,
        Capability::Firewall => FirewallRule::VERBS,
        Capability::Firewalld => FirewalldRule::VERBS,
        Capability::Conntrack => ConntrackRule::VERBS,
        Capability::Sysctl => SysctlRule::VERBS,
        Capability::Store => StoreRule::VERBS,
        Capability::Device => DeviceRule::VERBS,
        Capability::Packet => PacketRule::VERBS,
        Capability::Ipam => String::VERBS,
        Capability::Native => NativePlugin::VERBS,
        Capability::Log => &[],
    }
}

/// Whether rules of a capability say in which namespace.
fn has_namespace(capability: Capability) -> bool {
    use Capability::{Device, Firewalld, Ipam, Log, Native, Packet, Store};
    !matches!(
        capability,
        Device | Firewalld | Ipam | Log | Native | Packet | Store
    )
}

/// Fields that an operation need not be matched with: a chain's hook and a statement, a directory or a
/// file.
fn alternatives(capability: Capability) -> &'static [&'static str] {
    match capability {
        Capability::Firewall => &["hooks", "statements"],
        Capability::Store => &["directories", "files"],
        _ => &[],
    }
}

/// Fields that operations of a verb are not matched with.
fn irrelevant(capability: Capability, verb: &str) -> &'static [&'static str] {
    match (capability, verb) {
        (Capability::Sysctl, "read") => &["owners", "values"],
        (Capability::Address, "read") => &["addresses", "overlaps"],
        (Capability::Address | Capability::Route, "delete") => &["overlaps"],
        (Capability::Route, "read") => &["overlaps"],
        (Capability::Neighbour, "read") => &["addresses"],
        (Capability::Firewalld, "read") => &["zones"],
        (Capability::Link, "create") => &["attributes", "owners"],
        (Capability::Link, "read" | "delete") => &["attributes"],
        _ => &[],
    }
}

/// A capability's rules, in the document's order.
pub fn rules_of(capabilities: &Capabilities, capability: Capability) -> Vec<RuleFields> {
    let document = serde_json::to_value(capabilities).expect("a grant is JSON");
    let rules = document[capability.word()].as_array();
    let rules = rules.into_iter().flatten();
    rules.map(|rule| RuleFields::of(capability, rule)).collect()
}

/// Capabilities that have these rules. Errors: a rule that is none.
pub fn capabilities(rules: &[RuleFields]) -> Result<Capabilities, serde_json::Error> {
    let mut document = Map::new();
    for rule in rules {
        let list = document
            .entry(rule.capability.word())
            .or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(rule.to_json());
        }
    }
    serde_json::from_value(Value::Object(document))
}

impl RuleFields {
    /// A rule without fields.
    pub fn new(capability: Capability) -> Self {
        Self {
            capability,
            fields: BTreeMap::new(),
        }
    }

    fn of(capability: Capability, rule: &Value) -> Self {
        let mut rule_fields = Self::new(capability);
        match rule {
            Value::Object(fields) => {
                for (key, value) in fields {
                    rule_fields.fields.insert(key.clone(), values(value));
                }
            }
            name => {
                rule_fields
                    .fields
                    .insert(IPAM_NAME.to_owned(), values(name));
            }
        }
        rule_fields
    }

    /// The rule with this field set.
    #[must_use]
    pub fn with<T: ToString>(mut self, field: &str, values: impl IntoIterator<Item = T>) -> Self {
        let values = values.into_iter().map(|v| v.to_string()).collect();
        self.fields.insert(field.to_owned(), values);
        self
    }

    /// The values of a field; none where it is left out.
    pub fn get(&self, field: &str) -> Option<&Values> {
        self.fields.get(field)
    }

    /// Whether a field is there and has this value.
    pub fn names(&self, field: &str, value: &str) -> bool {
        self.get(field).is_some_and(|values| values.contains(value))
    }

    /// The verbs, in the capability's order: all of them where none are named.
    pub fn verbs(&self) -> Vec<Verb> {
        let named = self.get("verbs");
        let all = verbs(self.capability).iter().copied();
        all.filter(|verb| named.is_none_or(|named| named.contains(&verb.to_string())))
            .collect()
    }

    /// The namespaces that it is about.
    pub fn namespaces(&self) -> Vec<&str> {
        match self.get("namespace") {
            _ if !has_namespace(self.capability) => Vec::new(),
            Some(named) => named.iter().map(String::as_str).collect(),
            None => vec!["host", "container"],
        }
    }

    /// The rule as it stands in a document.
    pub fn to_json(&self) -> Value {
        if self.capability == Capability::Ipam {
            return self.first(IPAM_NAME);
        }
        let mut rule = Map::new();
        for (field, values) in &self.fields {
            let value = match field.as_str() {
                "namespace" => self.first(field),
                "verbs" if !self.verbs().is_empty() => {
                    self.verbs().iter().map(Verb::to_string).collect()
                }
                _ => values.iter().map(|text| spelled(field, text)).collect(),
            };
            rule.insert(field.clone(), value);
        }
        Value::Object(rule)
    }

    fn first(&self, field: &str) -> Value {
        let first = self.get(field).and_then(|values| values.first());
        first.map(String::as_str).into()
    }

    /// Rules that allow together what this one allows, each with one value in each field: what is
    /// left out because it matches everything is spelled out where that can be listed.
    pub fn split(&self) -> Vec<RuleFields> {
        let mut whole = self.clone();
        let verbs = self.verbs();
        whole = whole.with("verbs", verbs);
        if has_namespace(self.capability) {
            let namespaces: Vec<String> =
                self.namespaces().into_iter().map(str::to_owned).collect();
            whole = whole.with("namespace", namespaces);
        }
        let parts = match self.capability {
            Capability::Firewall => split_firewall(&whole),
            Capability::Store => split_store(&whole),
            _ => vec![whole],
        };
        let mut rules: Vec<RuleFields> = parts.iter().flat_map(RuleFields::product).collect();
        for rule in &mut rules {
            let unused = rule.unused();
            rule.fields
                .retain(|field, _| !unused.contains(&field.as_str()));
        }
        rules.sort();
        rules.dedup();
        rules
    }

    /// The rule with networks and ranges that lie together as one.
    #[must_use]
    pub fn aggregated(mut self) -> Self {
        for (field, values) in &mut self.fields {
            let together = match field.as_str() {
                "addresses" | "destinations" | "sources" => networks_together(values),
                "ports" | "priorities" | "remotes" | "ethertypes" => ranges_together(values),
                _ => None,
            };
            if let Some(together) = together {
                *values = together;
            }
        }
        self
    }

    /// The fields that no operation of its verbs is matched with.
    pub fn unused(&self) -> Vec<&'static str> {
        let verbs = self.verbs();
        let of_verb = |verb: &Verb| irrelevant(self.capability, &verb.to_string());
        let first = verbs.first().map(of_verb).unwrap_or_default();
        let unused = first.iter().copied();
        unused
            .filter(|field| verbs.iter().all(|verb| of_verb(verb).contains(field)))
            .collect()
    }

    /// One rule for each combination of values.
    fn product(&self) -> Vec<RuleFields> {
        let mut rules = vec![Self::new(self.capability)];
        for (field, values) in &self.fields {
            rules = rules
                .iter()
                .flat_map(|rule| values.iter().map(|v| rule.clone().with(field, [v])))
                .collect();
        }
        rules
    }

    /// Whether it allows all that `other`, one of [`RuleFields::split`]'s, allows. It may say no where two
    /// rules do only together, and where one glob is contained in another in a roundabout way.
    pub fn covers(&self, other: &RuleFields) -> bool {
        let absent_is_all = |field: &str| {
            let is_alternative = alternatives(self.capability).contains(&field);
            let is_place = self.capability == Capability::Store;
            !(is_alternative && is_place)
        };
        let each_of_other = other
            .fields
            .iter()
            .all(|(field, theirs)| match self.get(field) {
                Some(own) => theirs
                    .iter()
                    .all(|t| own.iter().any(|o| value_covers(field, o, t))),
                None => absent_is_all(field),
            });
        let is_alternative = |field: &str| alternatives(self.capability).contains(&field);
        let unused = other.unused();
        let bounded_alike = self.fields.keys().all(|field| {
            let is_matched = !is_alternative(field) && !unused.contains(&field.as_str());
            other.fields.contains_key(field) || !is_matched
        });
        let same_place = self.capability != Capability::Store || {
            let is_private = |rule: &Self| !rule.fields.keys().any(|f| is_alternative(f));
            is_private(self) == is_private(other)
        };
        self.capability == other.capability && each_of_other && bounded_alike && same_place
    }

    /// Both in one, where that allows nothing more: all fields are the same but one.
    fn join(&self, other: &RuleFields, may_differ: &dyn Fn(&str) -> bool) -> Option<RuleFields> {
        let same_fields = self.fields.keys().eq(other.fields.keys());
        if self.capability != other.capability || !same_fields {
            return None;
        }
        let mut differ = self.fields.keys().filter(|f| self.get(f) != other.get(f));
        let field = match (differ.next(), differ.next()) {
            (None, _) => return Some(self.clone()),
            (Some(field), None) if is_list(self.capability, field) && may_differ(field) => {
                field.clone()
            }
            _ => return None,
        };
        let mut both = self.clone();
        if let (Some(own), Some(theirs)) = (both.fields.get_mut(&field), other.get(&field)) {
            own.extend(theirs.iter().cloned());
        }
        Some(both)
    }
}

fn is_list(capability: Capability, field: &str) -> bool {
    field != "namespace" && capability != Capability::Ipam
}

fn values(value: &Value) -> Values {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        Value::Array(list) => list.iter().map(text).collect(),
        scalar => Values::from([text(scalar)]),
    }
}

/// Numbers are written as numbers where a document has them so.
fn spelled(field: &str, text: &str) -> Value {
    let is_number = matches!(
        field,
        "tables" | "priorities" | "ports" | "remotes" | "ethertypes"
    );
    match text.parse::<u64>() {
        Ok(number) if is_number => number.into(),
        _ => text.into(),
    }
}

fn split_store(whole: &RuleFields) -> Vec<RuleFields> {
    let only = |field: &str| {
        let mut part = whole.clone();
        part.fields
            .retain(|f, _| f == field || !alternatives(whole.capability).contains(&f.as_str()));
        part
    };
    let mut parts: Vec<RuleFields> = alternatives(whole.capability)
        .iter()
        .filter(|field| whole.fields.contains_key(**field))
        .map(|field| only(field))
        .collect();
    // Files can be read and no more.
    for part in &mut parts {
        if let (true, Some(verbs)) = (
            part.fields.contains_key("files"),
            part.fields.get_mut("verbs"),
        ) {
            verbs.retain(|verb| verb == "read");
        }
    }
    match parts.is_empty() {
        true => vec![whole.clone()],
        false => parts,
    }
}

/// The table itself, the chains on each hook, and each statement on each hook. A rule without hooks is
/// about what no hook leads to.
fn split_firewall(whole: &RuleFields) -> Vec<RuleFields> {
    let mut table = whole.clone();
    table
        .fields
        .retain(|f, _| !alternatives(whole.capability).contains(&f.as_str()));
    let mut parts = vec![table.clone()];
    if whole.names("verbs", "write") {
        let values = |field: &str, all: &[&str]| match whole.get(field) {
            Some(named) => named.clone(),
            None => all.iter().map(|word| (*word).to_owned()).collect(),
        };
        let written = table.with("verbs", ["write"]);
        let hooks = values("hooks", &HOOKS);
        let said = written
            .clone()
            .with("statements", values("statements", &STATEMENTS));
        match hooks.is_empty() {
            true => parts.push(said),
            false => {
                parts.push(written.with("hooks", &hooks));
                parts.push(said.with("hooks", hooks));
            }
        }
    }
    parts
}

/// The hooks of nftables.
pub const HOOKS: [&str; 7] = [
    "prerouting",
    "input",
    "forward",
    "output",
    "postrouting",
    "ingress",
    "egress",
];

/// The statements that a firewall rule may name.
pub const STATEMENTS: [&str; 14] = [
    "accept",
    "drop",
    "return",
    "jump",
    "goto",
    "verdict-map",
    "masquerade",
    "snat",
    "dnat",
    "set-mark",
    "set-connection-mark",
    "reject",
    "counter",
    "notrack",
];

/// Puts rules together that allow nothing more in one, until there are no such two. What is done with
/// the same object comes together first.
pub fn merge(rules: Vec<RuleFields>) -> Vec<RuleFields> {
    let by_verbs = put_together(gather(rules), &|field| field == "verbs");
    put_together(by_verbs, &|_| true)
}

fn put_together(rules: Vec<RuleFields>, may_differ: &dyn Fn(&str) -> bool) -> Vec<RuleFields> {
    let mut merged: Vec<RuleFields> = Vec::new();
    for rule in rules {
        add(&mut merged, rule, may_differ);
    }
    merged
}

fn add(merged: &mut Vec<RuleFields>, rule: RuleFields, may_differ: &dyn Fn(&str) -> bool) {
    let joined = merged
        .iter()
        .enumerate()
        .find_map(|(at, other)| Some((at, other.join(&rule, may_differ)?)));
    match joined {
        // What became larger may go together with another now.
        Some((at, both)) if both != merged[at] => {
            merged.remove(at);
            add(merged, both, may_differ);
        }
        Some(_) => {}
        None => merged.push(rule),
    }
}

/// Parts of firewall rules that are about the same tables, as rules: one for the hooks on which the same
/// statements are allowed.
fn gather(rules: Vec<RuleFields>) -> Vec<RuleFields> {
    let (parts, mut rules): (Vec<RuleFields>, Vec<RuleFields>) = rules
        .into_iter()
        .partition(|rule| rule.capability == Capability::Firewall);
    let mut tables: BTreeMap<(Option<Values>, Option<Values>), Table> = BTreeMap::new();
    for part in parts {
        let tables_of = |field| part.get(field).cloned();
        let key = (tables_of("namespace"), tables_of("families"));
        tables.entry(key).or_default().take(&part);
    }
    rules.extend(tables.into_values().flat_map(Table::rules));
    rules
}

/// What is allowed in the tables of a namespace and family.
#[derive(Default)]
struct Table {
    /// Namespace, families and verbs.
    fields: BTreeMap<String, Values>,
    /// The statements on each hook.
    hooks: BTreeMap<String, Values>,
    /// Statements that are to be allowed on every one of them.
    anywhere: Values,
}

impl Table {
    fn take(&mut self, part: &RuleFields) {
        let is_alternative = |field: &str| alternatives(part.capability).contains(&field);
        for (field, values) in part.fields.iter().filter(|(f, _)| !is_alternative(f)) {
            let own = self.fields.entry(field.clone()).or_default();
            own.extend(values.iter().cloned());
        }
        let said = part.get("statements").cloned().unwrap_or_default();
        match part.get("hooks").filter(|hooks| !hooks.is_empty()) {
            None => self.anywhere.extend(said),
            Some(hooks) => {
                for hook in hooks {
                    let on_hook = self.hooks.entry(hook.clone()).or_default();
                    on_hook.extend(said.iter().cloned());
                }
            }
        }
    }

    fn rules(self) -> Vec<RuleFields> {
        let mut whole = RuleFields::new(Capability::Firewall);
        whole.fields = self.fields;
        if !whole.names("verbs", "write") {
            return vec![whole];
        }
        // Statements, and the hooks on which they are allowed.
        let mut alike: BTreeMap<Values, Values> = BTreeMap::new();
        for (hook, mut said) in self.hooks {
            said.extend(self.anywhere.iter().cloned());
            alike.entry(said).or_default().insert(hook);
        }
        if alike.is_empty() {
            alike.insert(self.anywhere, Values::new());
        }
        let rule = |(statements, hooks)| {
            let rule = whole.clone().with("statements", statements);
            rule.with("hooks", hooks)
        };
        alike.into_iter().map(rule).collect()
    }
}

/// Whether what one value of a field matches, the other does as well.
pub fn value_covers(field: &str, wide: &str, narrow: &str) -> bool {
    wide == narrow
        || match field {
            "names" | "links" | "zones" | "pci" => glob_covers(wide, narrow),
            "keys" => {
                let (wide, narrow): (Vec<&str>, Vec<&str>) =
                    (wide.split('.').collect(), narrow.split('.').collect());
                let mut segments = wide.iter().zip(&narrow);
                wide.len() == narrow.len() && segments.all(|(w, n)| w == n || glob_covers(w, n))
            }
            "addresses" | "destinations" | "sources" => {
                let networks = (wide.parse::<IpNet>(), narrow.parse::<IpNet>());
                matches!(networks, (Ok(wide), Ok(narrow)) if contains(&wide, &narrow))
            }
            "ports" | "priorities" | "remotes" | "ethertypes" => match (range(wide), range(narrow))
            {
                (Some(wide), Some(narrow)) => wide.0 <= narrow.0 && narrow.1 <= wide.1,
                _ => false,
            },
            "directories" => std::path::Path::new(narrow).starts_with(wide),
            // What is the attachment's is the network's.
            "owners" | "overlaps" => (wide, narrow) == ("network", "attachment"),
            _ => false,
        }
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// None where one is no network.
fn networks_together(values: &Values) -> Option<Values> {
    let networks: Option<Vec<IpNet>> = values.iter().map(|text| text.parse().ok()).collect();
    let together = IpNet::aggregate(&networks?);
    Some(together.iter().map(IpNet::to_string).collect())
}

/// None where one is no range.
fn ranges_together(values: &Values) -> Option<Values> {
    let ranges: Option<Vec<(u32, u32)>> = values.iter().map(|text| range(text)).collect();
    let mut ranges = ranges?;
    ranges.sort_unstable();
    let mut together: Vec<(u32, u32)> = Vec::new();
    for (first, last) in ranges {
        match together.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => together.push((first, last)),
        }
    }
    let text = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    Some(together.into_iter().map(text).collect())
}

/// Whether a glob matches all that another text, which may be a glob, does.
pub fn glob_covers(wide: &str, narrow: &str) -> bool {
    if wide == narrow || wide == "*" {
        return true;
    }
    let has_placeholder = |text: &str| text.contains('{');
    if is_plain(narrow) && !has_placeholder(narrow) && !has_placeholder(wide) {
        return glob::Pattern::new(wide).is_ok_and(|pattern| pattern.matches(narrow));
    }
    let prefix = wide.strip_suffix('*').filter(|prefix| is_plain(prefix));
    prefix.is_some_and(|prefix| narrow.starts_with(prefix))
}

/// Whether a glob of networks covers all that another covers: in each part, for no wildcard reaches over a slash.
pub fn network_covers(wide: &str, narrow: &str) -> bool {
    let (wide, narrow): (Vec<&str>, Vec<&str>) =
        (wide.split('/').collect(), narrow.split('/').collect());
    let mut parts = wide.iter().zip(&narrow);
    wide.len() == narrow.len() && parts.all(|(wide, narrow)| glob_covers(wide, narrow))
}

/// Whether a text is no glob.
pub fn is_plain(text: &str) -> bool {
    !text.contains(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(grant: &str) -> Vec<RuleFields> {
        let capabilities = serde_json::from_str(grant).expect("a grant");
        let all = Capability::ALL.into_iter();
        all.flat_map(|c| rules_of(&capabilities, c)).collect()
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        let wide = rules(wide);
        let narrow = rules(narrow);
        let mut parts = narrow.iter().flat_map(RuleFields::split);
        parts.all(|part| wide.iter().any(|rule| rule.covers(&part)))
    }

    #[test]
    fn a_rule_covers_what_it_allows_all_of() {
        for (wide, narrow) in [
            (
                r#"{"link": [{}]}"#,
                r#"{"link": [{"kinds": ["veth"], "verbs": ["read"]}]}"#,
            ),
            (
                r#"{"link": [{"namespace": "host", "names": ["veth*"]}]}"#,
                r#"{"link": [{"namespace": "host", "names": ["veth1", "veth1*"], "kinds": ["veth"]}]}"#,
            ),
            (
                r#"{"link": [{"namespace": "host"}, {"namespace": "container"}]}"#,
                r#"{"link": [{}]}"#,
            ),
            (
                r#"{"address": [{"addresses": ["10.0.0.0/8"]}]}"#,
                r#"{"address": [{"addresses": ["10.1.0.0/16"]}]}"#,
            ),
            (
                r#"{"address": [{"addresses": ["10.0.0.0/8"], "verbs": ["read"]}]}"#,
                r#"{"address": [{"verbs": ["read"]}]}"#,
            ),
            (
                r#"{"conntrack": [{"ports": ["1-100"]}]}"#,
                r#"{"conntrack": [{"ports": [53, "60-70"]}]}"#,
            ),
            (
                r#"{"sysctl": [{"keys": ["net.ipv4.conf.*.*"]}]}"#,
                r#"{"sysctl": [{"keys": ["net.ipv4.conf.{ifname}.rp_filter"], "values": ["1"]}]}"#,
            ),
            (
                r#"{"firewall": [{"families": ["inet"], "hooks": ["input", "forward"], "statements": []},
                                 {"families": ["inet"], "statements": ["drop"], "verbs": ["write"]}]}"#,
                r#"{"firewall": [{"families": ["inet"], "hooks": ["input"], "statements": ["drop"]}]}"#,
            ),
            (
                r#"{"store": [{"directories": ["/var/lib"]}, {"files": ["/etc/a"]}]}"#,
                r#"{"store": [{"directories": ["/var/lib/cni"], "files": ["/etc/a"]}]}"#,
            ),
            (r#"{"ipam": ["a", "b"]}"#, r#"{"ipam": ["b"]}"#),
        ] {
            assert!(covers(wide, narrow), "{wide} covers {narrow}");
        }
    }

    #[test]
    fn a_rule_does_not_cover_more() {
        for (wide, narrow) in [
            (r#"{"link": [{"kinds": ["veth"]}]}"#, r#"{"link": [{}]}"#),
            (
                r#"{"link": [{"names": ["veth*"]}]}"#,
                r#"{"link": [{"names": ["*"]}]}"#,
            ),
            (
                r#"{"link": [{"names": ["eth0"]}]}"#,
                r#"{"link": [{"names": ["{ifname}"]}]}"#,
            ),
            (r#"{"link": [{"verbs": ["read"]}]}"#, r#"{"link": [{}]}"#),
            (
                r#"{"sysctl": [{"keys": ["net.ipv4.*"]}]}"#,
                r#"{"sysctl": [{"keys": ["net.ipv4.conf.all"]}]}"#,
            ),
            (
                r#"{"sysctl": [{"values": ["1"]}]}"#,
                r#"{"sysctl": [{"values": ["0"], "verbs": ["write"]}]}"#,
            ),
            (
                r#"{"address": [{"addresses": ["10.0.0.0/8"]}]}"#,
                r#"{"address": [{"addresses": ["::ffff:10.0.0.0/104"]}]}"#,
            ),
            // A rule about nothing is about the plugin's own store, and not about every one.
            (
                r#"{"store": [{}]}"#,
                r#"{"store": [{"directories": ["/var/lib"]}]}"#,
            ),
            (
                r#"{"store": [{"directories": ["/"]}]}"#,
                r#"{"store": [{}]}"#,
            ),
            (
                r#"{"store": [{"directories": ["/etc"]}]}"#,
                r#"{"store": [{"files": ["/etc/a"]}]}"#,
            ),
            (
                r#"{"firewall": [{"hooks": ["input"], "statements": []}]}"#,
                r#"{"firewall": [{"hooks": ["input"], "statements": ["drop"]}]}"#,
            ),
            // What may be said on one hook may not be on another.
            (
                r#"{"firewall": [{"hooks": ["input"], "statements": ["accept"]},
                                 {"hooks": ["postrouting"], "statements": ["drop"]}]}"#,
                r#"{"firewall": [{"hooks": ["input"], "statements": ["drop"]}]}"#,
            ),
            (r#"{"ipam": ["a"]}"#, r#"{"ipam": ["b"]}"#),
        ] {
            assert!(!covers(wide, narrow), "{wide} does not cover {narrow}");
        }
    }

    #[test]
    fn rules_are_put_together_where_that_allows_nothing_more() {
        let merged = |grant: &str| -> Vec<String> {
            let rules = merge(rules(grant));
            rules
                .iter()
                .map(|rule| rule.to_json().to_string())
                .collect()
        };
        let two = r#"{"link": [{"kinds": ["veth"], "verbs": ["read"]}, {"kinds": ["veth"], "verbs": ["create"]}]}"#;
        assert_eq!(
            merged(two),
            [r#"{"kinds":["veth"],"verbs":["create","read"]}"#]
        );
        let apart = r#"{"link": [{"kinds": ["veth"], "names": ["a"]}, {"kinds": ["bridge"], "names": ["b"]}]}"#;
        assert_eq!(merged(apart).len(), 2);
        let absent = r#"{"link": [{"kinds": ["veth"]}, {"names": ["b"]}]}"#;
        assert_eq!(merged(absent).len(), 2);
    }

    #[test]
    fn what_is_split_and_put_together_is_the_rule() {
        for grant in [
            r#"{"link":[{"kinds":["bridge","veth"],"names":["a","b*"],"namespace":"host","verbs":["create","read"]}]}"#,
            r#"{"firewall":[{"families":["inet"],"hooks":["input"],"namespace":"host","statements":["accept","drop"],"verbs":["read","write"]}]}"#,
            r#"{"firewall":[{"families":["inet"],"hooks":["input"],"namespace":"host","statements":["accept"],"verbs":["read","write"]},{"families":["inet"],"hooks":["postrouting"],"namespace":"host","statements":["drop"],"verbs":["read","write"]}]}"#,
            r#"{"route":[{"namespace":"container","tables":[100,254],"verbs":["create"]}]}"#,
            r#"{"ipam":["a"]}"#,
        ] {
            let parts: Vec<RuleFields> = rules(grant).iter().flat_map(RuleFields::split).collect();
            let merged = capabilities(&merge(parts)).expect("rules");
            assert_eq!(
                serde_json::to_string(&merged).expect("JSON"),
                canonical(grant)
            );
        }
    }

    fn canonical(grant: &str) -> String {
        let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
        serde_json::to_string(&capabilities).expect("JSON")
    }
}
