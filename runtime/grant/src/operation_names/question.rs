//! Questions about operations of which not everything is given: with wildcards, and with fields left out.
//!
//! What the question leaves open has no value of its own in the operation. A text is `*`. One of few words makes a case for
//! each word. Of a number or an address, two operations are built with different values: a field of a rule that differs
//! between the two may have any value.

use serde_json::{Map, Value};

use super::super::pattern::{globs_meet, is_glob};
use super::super::query::Query;
use super::super::rule::Facts;
use super::field::{Field, Kind};
use super::{Known, candidates, wrong_fields};
use crate::Capabilities;

/// What a text that is left open has as its value.
const ANY: &str = "*";

/// One case of a question.
pub struct Case {
    /// The words that the question leaves open, and that are different in each case: `namespace`, `host`.
    pub words: Vec<(&'static str, String)>,
    /// The same operation, with two values for what is open.
    operations: [Box<dyn Query>; 2],
    is_open: bool,
}

impl Case {
    /// Returns what must be allowed for the operation to be, under these rules.
    pub fn facts(&self, capabilities: &Capabilities) -> Vec<Facts> {
        let facts_of = |operation: &dyn Query| -> Vec<Facts> {
            let needs = operation.needs().into_iter();
            needs.flat_map(|need| need.facts(capabilities)).collect()
        };
        let [one, other] = &self.operations;
        let pairs = facts_of(&**one).into_iter().zip(facts_of(&**other));
        let mut all: Vec<Facts> = pairs.map(|(one, other)| one.common(&other)).collect();
        let others = all.clone();
        all.iter_mut().for_each(|facts| facts.settle(&others));
        all
    }

    /// Whether the operation changes nothing.
    pub fn is_read(&self) -> bool {
        self.operations.iter().all(|operation| operation.is_read())
    }

    /// Says why weir refuses it whatever a grant allows; none if it leaves something open.
    pub fn flaw(&self) -> Option<String> {
        self.operations[0].flaw().filter(|_| !self.is_open)
    }
}

/// Returns the cases of a question about an operation, with its fields in any order.
///
/// Errors: as of [`by_name`](super::by_name); but no field must be given.
pub fn question(name: &str, given: &[(String, String)]) -> Result<Vec<Case>, String> {
    let candidates = candidates(name, given)?;
    let (mut cases, mut why) = (Vec::new(), None);
    for known in &candidates {
        let is_known = |(key, _): &(String, String)| known.fields.iter().any(|f| f.name == key);
        if !given.iter().all(is_known) {
            continue;
        }
        let built = combinations(known, given).and_then(|all| {
            let built = all.iter().map(|filled| case(known, filled));
            built.collect::<Result<Vec<_>, String>>()
        });
        match built {
            Ok(built) => cases.extend(built.into_iter().flatten()),
            Err(error) => why = why.or(Some(error)),
        }
    }
    if cases.is_empty() {
        return Err(why.unwrap_or_else(|| wrong_fields(name, &candidates, given)));
    }
    Ok(cases)
}

/// A field with the values of the two operations.
#[derive(Clone)]
struct Filled {
    name: &'static str,
    values: [String; 2],
    is_case: bool,
}

impl Filled {
    fn is_open(&self) -> bool {
        let [one, other] = &self.values;
        self.is_case || one != other || is_glob(one)
    }
}

/// None where the fields belong to another operation of the name.
fn case(known: &Known, filled: &[Filled]) -> Result<Option<Case>, String> {
    let build = |at: usize| {
        let given = filled
            .iter()
            .map(|f| (f.name.to_owned(), f.values[at].clone()));
        known.build(&given.collect::<Vec<_>>())
    };
    let (Some(one), Some(other)) = (build(0)?, build(1)?) else {
        return Ok(None);
    };
    let words = filled.iter().filter(|f| f.is_case);
    Ok(Some(Case {
        words: words.map(|f| (f.name, f.values[0].clone())).collect(),
        operations: [one, other],
        is_open: filled.iter().any(Filled::is_open),
    }))
}

/// Each combination of the words that are left open, with all other fields.
fn combinations(known: &Known, given: &[(String, String)]) -> Result<Vec<Vec<Filled>>, String> {
    let mut all: Vec<Vec<Filled>> = vec![Vec::new()];
    for field in known.fields {
        let value = given.iter().find(|(key, _)| key == field.name);
        let value = value.map(|(_, text)| text.as_str());
        let mut longer = Vec::new();
        for before in all {
            if value.is_none() && !is_filled(field, &before, given) {
                longer.push(before);
                continue;
            }
            for filled in fill(field, value.unwrap_or(ANY))? {
                let mut now = before.clone();
                now.push(filled);
                longer.push(now);
            }
        }
        all = longer;
    }
    Ok(all)
}

/// Whether a question that does not give the field leaves it open.
fn is_filled(field: &Field, before: &[Filled], given: &[(String, String)]) -> bool {
    let kind = before.iter().find(|f| f.name == "kind");
    let is_of_kind = kind.is_some_and(|kind| field.of_kinds.contains(&&*kind.values[0]));
    // One part of another link is given, and so the link is there.
    let is_part = field.name.rsplit_once('.').is_some_and(|(link, _)| {
        let part = |key: &str| {
            key.strip_prefix(link)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        given.iter().any(|(key, _)| part(key))
    });
    field.required || field.is_open || is_of_kind || is_part
}

fn fill(field: &Field, text: &str) -> Result<Vec<Filled>, String> {
    let filled = |values: [&str; 2], is_case| Filled {
        name: field.name,
        values: values.map(str::to_owned),
        is_case,
    };
    let (Kind::OneOf(words) | Kind::ListOf(words)) = field.kind else {
        let values = match field.kind {
            _ if text != ANY => [text; 2],
            Kind::Number => ["1", "2"],
            Kind::Flag => ["true"; 2],
            Kind::Address | Kind::Addresses => ["192.0.2.1", "192.0.2.2"],
            Kind::Network => ["192.0.2.1/32", "192.0.2.2/32"],
            _ => [ANY; 2],
        };
        return Ok(vec![filled(values, false)]);
    };
    if !is_glob(text) {
        return Ok(vec![filled([text; 2], false)]);
    }
    let matching = words.iter().filter(|word| globs_meet(text, word));
    let matching: Vec<Filled> = matching.map(|word| filled([word; 2], true)).collect();
    if matching.is_empty() {
        // This says what is expected.
        field.parse(text)?;
    }
    Ok(matching)
}

/// Takes owners that are left open off links of the container, which have none.
pub(super) fn without_owners_in_container(members: &mut Map<String, Value>) {
    let in_container = members.get("namespace").is_some_and(|n| n == "container");
    if in_container && members.get("owner").is_some_and(|owner| owner == ANY) {
        members.remove("owner");
    }
    for member in members.values_mut() {
        if let Value::Object(members) = member {
            without_owners_in_container(members);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capability;
    use crate::field as rule_field;
    use crate::rule::{Bounds, RuleFields, bounds_in_words, facts_in_words, rules_of};

    fn cases_of(name: &str, fields: &str) -> Vec<Case> {
        let given = fields.split_whitespace().map(|field| {
            let (key, value) = field.split_once('=').expect("a field");
            (key.to_owned(), value.to_owned())
        });
        question(name, &given.collect::<Vec<_>>()).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// `link[1] kinds=veth` for each rule that may allow the only need of the first case.
    fn possible(grant: &str, name: &str, fields: &str) -> Vec<String> {
        let grant: Capabilities = serde_json::from_str(grant).expect("a grant");
        let cases = cases_of(name, fields);
        let facts = cases[0].facts(&grant);
        let [facts] = facts.as_slice() else {
            panic!("{facts:?}");
        };
        let rules = rules_of(&grant, facts.capability);
        let found = rules.iter().enumerate().filter_map(|(index, rule)| {
            let bounds = rule.bounds_for(facts)?;
            let mut words = vec![format!("{}[{index}]", facts.capability)];
            words.extend(bounds.iter().map(|(key, values)| {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                format!("{key}={}", values.join(","))
            }));
            Some(words.join(" "))
        });
        found.collect()
    }

    const BRIDGE: &str = r#"{"link": [
        {"namespace": "host", "kinds": ["bridge"], "verbs": ["read", "update"]},
        {"namespace": "host", "kinds": ["veth"], "names": ["veth*"], "owners": ["network"], "verbs": ["update"]},
        {"namespace": "container", "names": ["{ifname}"], "attributes": ["mtu"]}
    ]}"#;

    #[test]
    fn what_is_not_given_is_a_bound() {
        for (fields, expected) in [
            (
                "namespace=host link=eth0 up=false",
                vec!["link[0] kinds=bridge"],
            ),
            ("namespace=host name=eth0 kind=physical up=false", vec![]),
            (
                "namespace=host name=br0 kind=bridge mtu=9000",
                vec!["link[0]"],
            ),
            (
                "namespace=host name=veth1 up=false",
                vec!["link[0] kinds=bridge", "link[1] kinds=veth owners=network"],
            ),
            (
                "namespace=host name=v* kind=v* up=false",
                vec!["link[1] kinds=veth names=veth* owners=network"],
            ),
            // What weir did not make belongs to nobody.
            (
                "namespace=host name=veth1 kind=veth owner= up=false",
                vec![],
            ),
            (
                "namespace=container name=net1 mtu=9000",
                vec!["link[2] names={ifname}"],
            ),
            (
                "namespace=container name={ifname} mtu=9000",
                vec!["link[2]"],
            ),
            ("namespace=container name=net1 mtu=9000 up=true", vec![]),
            // A change of anything.
            (
                "namespace=container name=net1",
                vec!["link[2] attributes=mtu names={ifname}"],
            ),
        ] {
            let fields = fields.replace("link=", "name=");
            assert_eq!(
                possible(BRIDGE, "link.update", &fields),
                expected,
                "{fields}"
            );
        }
    }

    #[test]
    fn numbers_and_addresses_are_left_open() {
        let grant = r#"{
            "route": [{"namespace": "host", "destinations": ["10.0.0.0/8"], "tables": [100], "overlaps": ["network"]}],
            "conntrack": [{"protocols": ["udp"], "ports": [53]}],
            "sysctl": [{"namespace": "host", "keys": ["net.ipv4.conf.*.rp_filter"], "values": ["1"], "verbs": ["write"]}],
            "store": [{}, {"directories": ["/var/lib/cni"]}, {"files": ["{resolvConf}"], "verbs": ["read"]}],
            "firewalld": [{"zones": ["trusted"], "sources": ["10.0.0.0/8"]}]
        }"#;
        for (name, fields, expected) in [
            (
                "route.add",
                "namespace=host",
                vec!["route[0] destinations=10.0.0.0/8 overlaps=network tables=100"],
            ),
            (
                "route.add",
                "namespace=host destination=10.1.0.0/16 table=100",
                vec!["route[0] overlaps=network"],
            ),
            ("route.add", "namespace=host destination=0.0.0.0/0", vec![]),
            (
                "conntrack.delete",
                "namespace=host protocol=udp",
                vec!["conntrack[0] ports=53"],
            ),
            ("conntrack.delete", "namespace=host protocol=tcp", vec![]),
            (
                "sysctl.write",
                "namespace=host key=net.ipv4.conf.*.*",
                vec!["sysctl[0] keys=net.ipv4.conf.*.rp_filter values=1"],
            ),
            (
                "sysctl.write",
                "namespace=host key=net.ipv4.conf.eth0.rp_filter value=1",
                vec!["sysctl[0]"],
            ),
            (
                "sysctl.write",
                "namespace=host key=net.ipv4.conf.eth0.rp_filter value=0",
                vec![],
            ),
            (
                "store.put",
                "directory=/var/lib/cni/networks key=a",
                vec!["store[1]"],
            ),
            (
                "store.put",
                "directory=/var/*",
                vec!["store[1] directories=/var/lib/cni"],
            ),
            (
                "store.read-file",
                "path=/etc/*",
                vec!["store[2] files={resolvConf}"],
            ),
            (
                "firewalld.add-source",
                "zone=*",
                vec!["firewalld[0] sources=10.0.0.0/8 zones=trusted"],
            ),
        ] {
            assert_eq!(possible(grant, name, fields), expected, "{name} {fields}");
        }
    }

    #[test]
    fn open_words_make_cases() {
        let words = |name: &str, fields: &str| -> Vec<String> {
            let cases = cases_of(name, fields);
            let words = cases.iter().map(|case| {
                let words = case.words.iter().map(|(key, word)| format!("{key}={word}"));
                words.collect::<Vec<_>>().join(" ")
            });
            words.collect()
        };
        assert_eq!(
            words("link.get", ""),
            ["namespace=host", "namespace=container"]
        );
        assert_eq!(words("link.get", "namespace=h*"), ["namespace=host"]);
        assert_eq!(words("link.get", "namespace=host"), [""]);
        // A veth has an end in each namespace, or both in one.
        assert_eq!(words("link.create", "namespace=host kind=veth").len(), 2);
        // So has the lower link of three kinds; five have neither.
        assert_eq!(words("link.create", "namespace=host").len(), 2 + 3 * 2 + 5);
        assert_eq!(words("store.open", ""), ["access=read", "access=write"]);
        let hooks = "namespace=host family=inet hooks=* statements=drop";
        assert!(words("firewall.apply", hooks).contains(&"hooks=input".to_owned()));
        let why = question("link.get", &[("namespace".to_owned(), "x*".to_owned())]);
        let why = why.err().expect("no such word");
        assert!(why.contains("`namespace=x*` is out of place"), "{why}");
    }

    /// A query may name any operation without a field.
    #[test]
    fn nothing_need_be_given() {
        for name in super::super::names() {
            let cases = cases_of(name, "");
            assert!(!cases.is_empty(), "{name}");
            for facts in cases
                .iter()
                .flat_map(|case| case.facts(&Capabilities::default()))
            {
                assert!(!facts_in_words(&facts).is_empty(), "{name}");
            }
        }
    }

    /// The operations of a name that have a field for which a rule of its verb has a value, and that do not show it as a
    /// condition.
    fn without_condition(name: &str) -> Vec<String> {
        let cases = cases_of(name, "");
        let all: Vec<Facts> = cases
            .iter()
            .flat_map(|case| case.facts(&Capabilities::default()))
            .collect();
        let Some(own) = all.first().map(Facts::as_rule) else {
            return Vec::new();
        };
        let applies = |field: &&rule_field::Field| {
            let is_own = own.verbs().iter().any(|verb| field.is_for(*verb));
            is_own && !["verbs", "namespace"].contains(&field.key)
        };
        let is_shown = |field: &&rule_field::Field| {
            let rule = RuleFields::new(own.capability).with(field.key, &field.examples[..1]);
            let mut bounds = all.iter().map(|facts| rule.bounds_for(facts));
            bounds.any(|bounds| bounds.is_none_or(|bounds| bounds.contains_key(field.key)))
        };
        let fields = own.described().iter().filter(applies);
        let missing = fields.filter(|field| !is_shown(field));
        missing
            .map(|field| format!("{name} {}", field.key))
            .collect()
    }

    /// A field of a rule is a condition of each operation that it applies to, as long as the question leaves it open.
    #[test]
    fn no_field_of_a_rule_is_left_out() {
        let names = super::super::names();
        let missing: Vec<String> = names.into_iter().flat_map(without_condition).collect();
        assert_eq!(
            missing,
            [
                // What is not there has neither.
                "link.look-up kinds",
                "link.look-up owners",
                // All are listed, whatever the rule names.
                "traffic.list-qdiscs disciplines",
                "traffic.list-filters disciplines",
                "firewalld.is-running sources",
                // The operation gives it, or it is of the other protocol.
                "packet.open-udp protocols",
                "packet.open-udp ethertypes",
                "packet.open-raw ports",
                "packet.open-raw remotes",
            ]
        );
    }

    /// `statements=accept; write its own tables of inet, on the host` for each need of the first case that the only rule may
    /// meet.
    fn firewall(rule: &str, fields: &str) -> Vec<String> {
        let grant: Capabilities = serde_json::from_str(rule).expect("a grant");
        let cases = cases_of(
            "firewall.apply",
            &format!("namespace=host family=inet {fields}"),
        );
        let rules = rules_of(&grant, Capability::Firewall);
        let words = |facts: &Facts| {
            let bounds = rules[0].bounds_for(facts);
            let bounds = bounds.map(|bounds| bounds_in_words(facts.capability, &bounds));
            format!(
                "{}: {}",
                facts_in_words(facts),
                bounds.unwrap_or("never".to_owned())
            )
        };
        cases[0].facts(&grant).iter().map(words).collect()
    }

    #[test]
    fn what_may_be_written_into_a_table_is_a_condition() {
        let rule = r#"{"firewall": [{"families": ["inet"], "hooks": ["input", "forward"], "statements": ["accept", "drop"],
                                     "ports": [80], "owners": ["attachment"]}]}"#;
        let removing =
            "removing only elements of this attachment, translating no port of the host but 80";
        assert_eq!(
            firewall(rule, ""),
            [format!(
                "write its own tables of inet, on the host: with chains on forward and input, {removing}, \
                 with no statement but accept and drop"
            )]
        );
        assert_eq!(
            firewall(rule, "hooks=input"),
            [
                format!(
                    "write its own tables of inet, on the host: {removing}, with no statement but accept and drop"
                ),
                "write its own tables of inet, with chains on input, on the host: ".to_owned(),
            ]
        );
        assert_eq!(
            firewall(rule, "hooks=input statements=reject"),
            [
                format!("write its own tables of inet, on the host: {removing}"),
                "write its own tables of inet, with chains on input, on the host: ".to_owned(),
                "write its own tables of inet, with chains on input, whose rules may reject, on the host: never".to_owned(),
            ]
        );
        let nothing =
            r#"{"firewall": [{"hooks": [], "statements": [], "ports": [], "owners": []}]}"#;
        assert_eq!(
            firewall(nothing, ""),
            [
                "write its own tables of inet, on the host: with no chain on a hook, removing nothing, \
              translating no port of the host, with no statement and no verdict"
            ]
        );
        // A read needs none of it.
        let reads = cases_of("firewall.list-rules", "namespace=host family=inet");
        let facts = reads[0].facts(&Capabilities::default());
        let rules = rules_of(
            &serde_json::from_str(nothing).expect("a grant"),
            Capability::Firewall,
        );
        assert_eq!(rules[0].bounds_for(&facts[0]), Some(Bounds::new()));
    }
}
