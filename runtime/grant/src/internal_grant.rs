//! What weir may do on its own behalf, through the same gate as a plugin: a grant that no document replaces,
//! widens or narrows.

use super::Capabilities;
use super::address::AddressRule;
use super::firewall::FirewallRule;
use super::link::{Attribute, LinkRule};
use super::namespace::Namespace;
use super::owner::Owner;
use super::pattern::Pattern;
use super::route::{MAIN_TABLE, RouteRule};
use super::sysctl::SysctlRule;
use super::verb::Verb;

/// The plugin's name in records of such operations; no plugin can have it.
pub const NAME: &str = "weir";

/// Returns the grant to move the default routes of a pod with these interfaces, through one of them or away from it. A
/// route may have several of them as next hops. It covers nothing on the host.
pub fn capabilities(interfaces: Vec<Pattern>) -> Capabilities {
    let namespace = Some(Namespace::Container);
    Capabilities {
        address: vec![AddressRule {
            namespace,
            links: Some(vec![pattern("{ifname}")]),
            verbs: Some(vec![Verb::Read]),
            ..AddressRule::default()
        }],
        route: vec![RouteRule {
            namespace,
            links: Some(interfaces),
            tables: Some(vec![MAIN_TABLE]),
            verbs: Some(vec![Verb::Create, Verb::Read, Verb::Delete]),
            ..RouteRule::default()
        }],
        // So no router advertisement restores a default route that was removed.
        sysctl: vec![SysctlRule {
            owners: None,
            namespace,
            keys: Some(vec![pattern("net.ipv6.conf.{ifname}.accept_ra_defrtr")]),
            values: Some(vec!["0".to_owned()]),
            verbs: Some(vec![Verb::Write]),
        }],
        ..Capabilities::default()
    }
}

/// Returns the grant to remove what weir's plugins made for an attachment that other plugins take over: elements of
/// weir's own tables, and the mark on its link; and to undo what those made.
pub fn handover() -> Capabilities {
    Capabilities {
        link: vec![LinkRule {
            namespace: Some(Namespace::Host),
            kinds: Some(vec!["veth".to_owned()]),
            attributes: Some(vec![Attribute::Alias]),
            owners: Some(vec![Owner::Attachment]),
            verbs: Some(vec![Verb::Update]),
            ..LinkRule::default()
        }],
        firewall: vec![FirewallRule {
            namespace: Some(Namespace::Host),
            verbs: Some(vec![Verb::Write, Verb::Delete]),
            hooks: Some(Vec::new()),
            statements: Some(Vec::new()),
            ports: Some(Vec::new()),
            ..FirewallRule::default()
        }],
        ..Capabilities::default()
    }
}

fn pattern(text: &str) -> Pattern {
    Pattern::try_from(text.to_owned()).expect("a valid pattern")
}

#[cfg(test)]
mod tests {
    use super::super::invocation::Invocation;
    use super::super::operation::{Decision, Operation, decide};
    use super::super::{address, link::LinkFacts, route, sysctl};
    use super::*;

    fn is_allowed(operation: &impl Operation) -> bool {
        let invocation = Invocation {
            ifname: "net.1".to_owned(),
            ..Invocation::default()
        };
        let interfaces = ["net.1", "net*"].map(Pattern::literal).to_vec();
        let decision = decide(&capabilities(interfaces), &invocation, operation);
        matches!(decision, Decision::Allowed { .. })
    }

    fn link(namespace: Namespace, name: &str) -> LinkFacts {
        LinkFacts {
            owner: String::new(),
            by_index: false,
            namespace,
            index: 2,
            name: name.to_owned(),
            kind: "veth".to_owned(),
        }
    }

    fn default_route(namespace: Namespace, name: &str, table: u32) -> route::Delete {
        let to = "0.0.0.0/0".parse().expect("a network");
        let mut wanted = route::Route::unicast(to);
        wanted.link = Some(link(namespace, name));
        wanted.table = table;
        route::Delete {
            namespace,
            route: wanted,
        }
    }

    #[test]
    fn it_is_of_the_interfaces_of_the_container() {
        let (inside, outside) = (Namespace::Container, Namespace::Host);
        assert!(is_allowed(&default_route(inside, "net.1", MAIN_TABLE)));
        assert!(is_allowed(&default_route(inside, "net*", MAIN_TABLE)));
        assert!(!is_allowed(&default_route(inside, "net2", MAIN_TABLE)));
        assert!(!is_allowed(&default_route(inside, "net.1", 100)));
        assert!(!is_allowed(&default_route(outside, "net.1", MAIN_TABLE)));
        let list = |namespace, name| address::List {
            link: link(namespace, name),
            family: None,
        };
        assert!(is_allowed(&list(inside, "net.1")));
        assert!(!is_allowed(&list(inside, "net*")));
        assert!(!is_allowed(&list(outside, "net.1")));
    }

    #[test]
    fn one_parameter_may_be_turned_off() {
        let write = |namespace, key: &str, value: &str| sysctl::Write {
            namespace,
            key: key.to_owned(),
            value: value.to_owned(),
            owner: String::new(),
        };
        let key = "net.ipv6.conf.net/1.accept_ra_defrtr";
        assert!(is_allowed(&write(Namespace::Container, key, "0")));
        assert!(!is_allowed(&write(Namespace::Container, key, "1")));
        assert!(!is_allowed(&write(Namespace::Host, key, "0")));
        let other = "net.ipv6.conf.all.accept_ra_defrtr";
        assert!(!is_allowed(&write(Namespace::Container, other, "0")));
        let other = "net.ipv6.conf.net/1.accept_ra";
        assert!(!is_allowed(&write(Namespace::Container, other, "0")));
    }
}
