//! A grant in words: what a person reads who never saw a rule.

use bytesize::ByteSize;
use weir_grant::size::Exact;
use weir_grant::{Capability, Limits, Verb};

use super::rule_fields::{RuleFields, Values};

/// What a capability is about: "network interfaces".
pub fn subject(capability: Capability) -> &'static str {
    match capability {
        Capability::Link => "network interfaces",
        Capability::Address => "IP addresses",
        Capability::Route => "routes",
        Capability::Rule => "policy routing rules",
        Capability::Neighbour => "ARP and neighbour entries",
        Capability::Traffic => "traffic shaping",
        Capability::Firewall => "packet filtering and translation (nftables)",
        Capability::Firewalld => "zones of firewalld",
        Capability::Conntrack => "tracked connections",
        Capability::Sysctl => "kernel parameters",
        Capability::Store => "files",
        Capability::Device => "facts about hardware",
        Capability::Packet => "packets of its own",
        Capability::Ipam => "other plugins, which assign addresses",
        Capability::Log => "weir's log",
        Capability::Native => "native plugins, outside of the sandbox",
    }
}

/// What a rule allows: "create and change interfaces of kind bridge on the host".
pub fn sentence(rule: &RuleFields) -> String {
    let verbs = verbs(rule);
    let place = format!("{}{}", place(rule), bounds(rule));
    match rule.capability {
        Capability::Link => format!("{verbs} {}{place}", links(rule, "names")),
        Capability::Address => format!(
            "{verbs} {} of {}{place}",
            within(rule, "addresses", "addresses"),
            links(rule, "links")
        ),
        Capability::Route => format!(
            "{verbs} {}{}{}{place}",
            to(rule, "destinations", "routes"),
            over(rule),
            only(rule, "tables", " in routing table ")
        ),
        Capability::Neighbour => format!(
            "{verbs} {} on {}{place}",
            within(rule, "addresses", "entries"),
            links(rule, "links")
        ),
        Capability::Traffic => format!(
            "{verbs} {} on {}{place}",
            of_all(rule, "disciplines", "every discipline"),
            links(rule, "links")
        ),
        Capability::Firewall => firewall(rule, &verbs, &place),
        Capability::Firewalld => format!(
            "{verbs} {} in {}",
            within(rule, "sources", "addresses"),
            match rule.get("zones") {
                Some(zones) => format!("the zones {}", list(zones, "or")),
                None => "every zone".to_owned(),
            }
        ),
        Capability::Conntrack => format!(
            "{verbs} connections of {} to {}{place}",
            of_all(rule, "protocols", "every protocol"),
            match rule.get("ports") {
                Some(ports) => format!("port {}", list(ports, "or")),
                None => "any port".to_owned(),
            }
        ),
        Capability::Sysctl => sysctl(rule, &place),
        Capability::Store => store(rule, &verbs),
        Capability::Ipam => format!("run {}", of_all(rule, "name", "every IPAM plugin")),
        _ => other(rule, &verbs, &place),
    }
}

/// "64 MiB of memory".
pub fn limits(limits: &Limits) -> Vec<String> {
    vec![
        format!("at most {} of memory", size(limits.memory)),
        format!("at most {:?} from start to end", limits.time),
        format!("at most {} calls of weir", limits.calls),
        format!("at most {} things made or changed", limits.changes),
        format!("at most {} handed over in one call", size(limits.transfer)),
        format!("at most {} written to the log", size(limits.log)),
    ]
}

fn size(size: ByteSize) -> String {
    Exact::from(size).in_words()
}

fn verbs(rule: &RuleFields) -> String {
    let word = |verb: &Verb| match (rule.capability, verb) {
        (Capability::Address | Capability::Route, Verb::Create) => "add",
        (Capability::Neighbour | Capability::Traffic, Verb::Create) => "add",
        (Capability::Rule | Capability::Firewalld, Verb::Create) => "add",
        (Capability::Conntrack, Verb::Delete) => "forget",
        (Capability::Link, Verb::Delete) => "delete",
        (_, Verb::Create) => "create",
        (Capability::Link | Capability::Address | Capability::Route, Verb::Read) => "look at",
        (Capability::Neighbour | Capability::Traffic | Capability::Firewalld, Verb::Read) => {
            "look at"
        }
        (_, Verb::Read) => "read",
        (Capability::Route, Verb::Update) => "replace",
        (_, Verb::Update) => "change",
        (_, Verb::Delete) => "remove",
        (_, Verb::Write) => "write",
        (_, Verb::Announce) => "announce",
        (_, Verb::Open) => "send and receive",
        (_, Verb::Run) => "run",
    };
    match rule.verbs() {
        verbs if verbs.is_empty() => "do nothing with".to_owned(),
        verbs => joined(verbs.iter().map(|v| word(v).to_owned()).collect(), "and"),
    }
}

fn place(rule: &RuleFields) -> String {
    let word = |namespace: &&str| match *namespace {
        "host" => "on the host".to_owned(),
        _ => "in the container".to_owned(),
    };
    let places: Vec<String> = rule.namespaces().iter().map(word).collect();
    match places.is_empty() {
        true => String::new(),
        false => format!(", {}", joined(places, "and")),
    }
}

/// Whose the interfaces must be, what of them may change, and what else of the host may be touched.
fn bounds(rule: &RuleFields) -> String {
    let mut text = String::new();
    if let Some(attributes) = rule.get("attributes") {
        text += &format!(", nothing but {}", list(attributes, "and"));
    }
    if let Some(owners) = rule.get("owners") {
        text += &format!(", where weir made it for {}", owned(owners));
    }
    if let Some(owners) = rule.get("overlaps") {
        let others = owned(owners);
        text += &format!(", where it overlaps no route of the host but those of {others}");
    }
    text
}

fn owned(owners: &Values) -> String {
    let word = |owner: &String| match owner.as_str() {
        "attachment" => "this attachment".to_owned(),
        _ => "this network".to_owned(),
    };
    joined(owners.iter().map(word).collect(), "or")
}

/// The interface that is called `{ifname}`.
const OWN: &str = "the interface that is asked for";

fn is_own(names: &Values) -> bool {
    names.iter().eq(["{ifname}"])
}

/// The interfaces that a rule about routes is about.
fn over(rule: &RuleFields) -> String {
    match rule.get("links") {
        Some(names) if is_own(names) => format!(" over {OWN}"),
        _ => only(rule, "links", " over an interface named "),
    }
}

/// The interfaces that a rule is about.
fn links(rule: &RuleFields, field: &str) -> String {
    let kinds = rule.get("kinds").map(|kinds| list(kinds, "or"));
    let names = rule.get(field);
    match (names, kinds) {
        (Some(names), None) if is_own(names) => OWN.to_owned(),
        (Some(names), Some(kinds)) if is_own(names) => format!("{OWN}, if it is of kind {kinds}"),
        (names, kinds) => {
            let kinds = match kinds {
                Some(kinds) => format!(" of kind {kinds}"),
                None => " of every kind, hardware included".to_owned(),
            };
            let names = match names {
                Some(names) => format!(", named {}", list(names, "or")),
                None => String::new(),
            };
            // Rules about routes and neighbours know no kinds.
            match rule.capability {
                Capability::Neighbour if names.is_empty() => "every interface".to_owned(),
                Capability::Neighbour => format!("an interface{}", names.replacen(',', "", 1)),
                _ => format!("interfaces{kinds}{names}"),
            }
        }
    }
}

fn within(rule: &RuleFields, field: &str, what: &str) -> String {
    match rule.get(field) {
        Some(networks) => format!("{what} within {}", list(networks, "or")),
        None => what.to_owned(),
    }
}

fn to(rule: &RuleFields, field: &str, what: &str) -> String {
    match rule.get(field) {
        Some(networks) => format!("{what} to {}", list(networks, "or")),
        None => what.to_owned(),
    }
}

fn only(rule: &RuleFields, field: &str, before: &str) -> String {
    let values = rule.get(field).map(|values| list(values, "or"));
    values.map_or_else(String::new, |values| format!("{before}{values}"))
}

fn of_all(rule: &RuleFields, field: &str, all: &str) -> String {
    let values = rule.get(field).map(|values| list(values, "and"));
    values.unwrap_or_else(|| all.to_owned())
}

fn firewall(rule: &RuleFields, verbs: &str, place: &str) -> String {
    let families = of_all(rule, "families", "every family");
    if rule.verbs().contains(&Verb::Delete) {
        let reference =
            "remove what the reference plugin of its name made for the container, in tables of";
        let rest: Vec<Verb> = rule
            .verbs()
            .into_iter()
            .filter(|v| *v != Verb::Delete)
            .collect();
        if rest.is_empty() {
            return format!("{reference} {families}{place}");
        }
        let others = rule
            .clone()
            .with("verbs", rest.iter().map(|verb| verb.word()));
        let own = firewall(&others, &self::verbs(&others), place);
        return format!("{own}; {reference} {families}{place}");
    }
    let mut text = format!("{verbs} its own tables of {families}");
    if rule.verbs().contains(&Verb::Write) {
        match rule.get("hooks") {
            Some(hooks) if hooks.is_empty() => {}
            Some(hooks) => text.push_str(&format!(", with chains on {}", list(hooks, "and"))),
            None => text.push_str(", with chains on every hook"),
        }
        match rule.get("statements") {
            Some(statements) if statements.is_empty() => {}
            Some(statements) => {
                text.push_str(&format!(", whose rules may {}", list(statements, "or")))
            }
            None => text.push_str(", whose rules may do anything with a packet"),
        }
    }
    text + place
}

fn sysctl(rule: &RuleFields, place: &str) -> String {
    let keys = of_all(rule, "keys", "every parameter below net.");
    let reads = rule.verbs().contains(&Verb::Read);
    let writes = rule.verbs().contains(&Verb::Write);
    let values = only(rule, "values", " to ");
    match (reads, writes) {
        (true, true) => format!("read {keys}, and set it{values}{place}"),
        (false, true) => format!("set {keys}{values}{place}"),
        _ => format!("read {keys}{place}"),
    }
}

fn store(rule: &RuleFields, verbs: &str) -> String {
    let mut places = Vec::new();
    if let Some(directories) = rule.get("directories") {
        places.push(format!(
            "{verbs} what is below {}",
            list(directories, "and")
        ));
    }
    if let Some(files) = rule.get("files") {
        places.push(format!("read the file {}", list(files, "and")));
    }
    match places.is_empty() {
        true => format!("{verbs} files of its own below /var/lib/weir/stores"),
        false => joined(places, "and"),
    }
}

/// A rule of a capability that has no words of its own yet: its fields as they stand.
fn other(rule: &RuleFields, verbs: &str, place: &str) -> String {
    let fields = rule.fields.iter();
    let bounds: Vec<String> = fields
        .filter(|(field, _)| !matches!(field.as_str(), "verbs" | "namespace"))
        .map(|(field, values)| format!("{field} {}", list(values, "or")))
        .collect();
    let bounds = match bounds.is_empty() {
        true => String::new(),
        false => format!(" with {}", joined(bounds, "and")),
    };
    format!("{verbs} {}{bounds}{place}", subject(rule.capability))
}

fn list(values: &Values, last: &str) -> String {
    match values.is_empty() {
        true => "nothing".to_owned(),
        false => joined(values.iter().cloned().collect(), last),
    }
}

/// `a, b and c`.
pub fn joined(mut words: Vec<String>, last: &str) -> String {
    match words.pop() {
        None => String::new(),
        Some(word) if words.is_empty() => word,
        Some(word) => format!("{} {last} {word}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule_fields::rules_of;
    use super::*;

    #[test]
    fn a_rule_is_a_sentence() {
        for (grant, expected) in [
            (
                r#"{"link": [{"namespace": "host", "kinds": ["bridge"], "verbs": ["create", "read", "update"]}]}"#,
                "create, look at and change interfaces of kind bridge, on the host",
            ),
            (
                r#"{"link": [{"namespace": "container", "kinds": ["veth"], "names": ["{ifname}"], "verbs": ["delete"]}]}"#,
                "delete the interface that is asked for, if it is of kind veth, in the container",
            ),
            (
                r#"{"link": [{"verbs": ["read"]}]}"#,
                "look at interfaces of every kind, hardware included, on the host and in the container",
            ),
            (
                r#"{"address": [{"namespace": "host", "kinds": ["bridge"], "addresses": ["10.0.0.0/8"], "verbs": ["create"]}]}"#,
                "add addresses within 10.0.0.0/8 of interfaces of kind bridge, on the host",
            ),
            (
                r#"{"route": [{"namespace": "container", "links": ["{ifname}"], "tables": [254], "verbs": ["create"]}]}"#,
                "add routes over the interface that is asked for in routing table 254, in the container",
            ),
            (
                r#"{"sysctl": [{"namespace": "host", "keys": ["net.ipv4.ip_forward"], "values": ["1"]}]}"#,
                "read net.ipv4.ip_forward, and set it to 1, on the host",
            ),
            (
                r#"{"store": [{"verbs": ["read", "write"]}]}"#,
                "read and write files of its own below /var/lib/weir/stores",
            ),
            (
                r#"{"store": [{"files": ["/etc/resolv.conf"], "verbs": ["read"]}]}"#,
                "read the file /etc/resolv.conf",
            ),
            (
                r#"{"conntrack": [{"namespace": "host", "protocols": ["udp"], "ports": [53]}]}"#,
                "forget connections of udp to port 53, on the host",
            ),
            (
                r#"{"firewall": [{"namespace": "host"}]}"#,
                "read and write its own tables of every family, with chains on every hook, whose \
                 rules may do anything with a packet, on the host; remove what the reference plugin \
                 of its name made for the container, in tables of every family, on the host",
            ),
            (
                r#"{"firewall": [{"namespace": "host", "families": ["ip", "ip6"], "verbs": ["delete"]}]}"#,
                "remove what the reference plugin of its name made for the container, in tables of ip and ip6, on the host",
            ),
            (
                r#"{"link": [{"namespace": "host", "kinds": ["veth"], "owners": ["network"], "attributes": ["mtu", "mac"], "verbs": ["update"]}]}"#,
                "change interfaces of kind veth, on the host, nothing but mac and mtu, where weir made it for this network",
            ),
            (
                r#"{"address": [{"namespace": "host", "kinds": ["bridge"], "overlaps": ["network"], "verbs": ["create"]}]}"#,
                "add addresses of interfaces of kind bridge, on the host, where it overlaps no route of the host but \
                 those of this network",
            ),
            (r#"{"ipam": ["host-local"]}"#, "run host-local"),
        ] {
            let capabilities = serde_json::from_str(grant).expect("a grant");
            let all = Capability::ALL.into_iter();
            let rules: Vec<RuleFields> = all.flat_map(|c| rules_of(&capabilities, c)).collect();
            assert_eq!(rules.iter().map(sentence).collect::<Vec<_>>(), [expected]);
        }
    }
}
