//! Masquerading of the containers' traffic to other networks, in the table of the family `inet`.
//!
//! A packet costs three look-ups, and an ADD one transaction, however many containers there are:
//!
//! ```text
//! chain postrouting {
//!     type nat hook postrouting priority srcnat
//!     ip saddr . ip daddr @local4 return
//!     ip daddr 224.0.0.0/4 return
//!     ip saddr @pods4 masquerade
//!     (and the same for IPv6)
//! }
//! set local4 { 10.1.0.0/16 . 10.1.0.0/16 }
//! set pods4 { 10.1.0.5 comment "<attachment>" }
//! ```

use std::net::IpAddr;

use ipnet::IpNet;
use weir_sdk::firewall::{
    self, Chain, ChainType, Command, Condition, DataType, Element, Elements, Family, Field, Hook,
    Rule, Set, Statement, Value,
};
use weir_sdk::{
    AddResult, Context, Error, ErrorCode, GcRequest, IpConfig, Namespace, OperationError, Outcome,
};

use crate::config::Config;
use crate::owned::{self, Found, Owner, Valid, creation, deletion};

const FAMILY: Family = Family::Inet;
const POSTROUTING: &str = "postrouting";
const SOURCE_NAT: i32 = 100;
const PODS4: &str = "pods4";
const PODS6: &str = "pods6";

/// What masquerading of one family looks at.
struct Masquerade {
    pods: &'static str,
    local: &'static str,
    key: DataType,
    source: Field,
    destination: Field,
    multicast: &'static str,
}

const IPV4: Masquerade = Masquerade {
    pods: PODS4,
    local: "local4",
    key: DataType::Ipv4Address,
    source: Field::Ipv4Source,
    destination: Field::Ipv4Destination,
    multicast: "224.0.0.0/4",
};

const IPV6: Masquerade = Masquerade {
    pods: PODS6,
    local: "local6",
    key: DataType::Ipv6Address,
    source: Field::Ipv6Source,
    destination: Field::Ipv6Destination,
    multicast: "ff00::/8",
};

/// How often to try when others change the same objects at the same time.
const ATTEMPTS: usize = 8;

/// Masquerades what these addresses send to other networks.
pub fn add(owner: &Owner, ips: &[IpConfig]) -> Result<(), Error> {
    let commands: Vec<Command> = ips
        .iter()
        .flat_map(|ip| elements(owner, &ip.address))
        .collect();
    let added = match apply(&commands) {
        Err(error) if is_to_be_prepared(&error) => {
            ips.iter().try_for_each(|ip| add_one(owner, &ip.address))
        }
        applied => applied,
    };
    added.context("could not set up masquerading")
}

/// Whether the table is missing, or an element is in the way.
fn is_to_be_prepared(error: &OperationError) -> bool {
    matches!(error.code, ErrorCode::NotFound | ErrorCode::Exists)
}

fn add_one(owner: &Owner, address: &IpNet) -> Result<(), OperationError> {
    let mut outcome = apply(&elements(owner, address));
    for _ in 0..ATTEMPTS {
        match &outcome {
            Err(error) if error.code == ErrorCode::NotFound => {
                apply(&base()).or_exists()?;
                outcome = apply(&elements(owner, address));
            }
            Err(error) if error.code == ErrorCode::Exists => {
                outcome = replacement(owner, address).and_then(|commands| apply(&commands));
            }
            _ => break,
        }
    }
    outcome
}

fn apply(commands: &[Command]) -> Result<(), OperationError> {
    firewall::apply(Namespace::Host, FAMILY, commands)
}

/// What an address adds: itself, and that its network is not to be masqueraded to.
fn elements(owner: &Owner, address: &IpNet) -> [Command; 2] {
    let (first, last) = (address.network(), address.broadcast());
    let network = Element::range([first.into(), first.into()], [last.into(), last.into()]);
    let local = family_of(address.addr()).local;
    [
        creation(pod(owner, address)),
        Command::AddElements(Elements::of(local, [network])),
    ]
}

/// What an address adds where something is in the way: the element of another container that went
/// without a DEL, or a network that lies in this one, or that this one lies in.
fn replacement(owner: &Owner, address: &IpNet) -> Result<Vec<Command>, OperationError> {
    let family = family_of(address.addr());
    let [add_pod, add_network] = elements(owner, address);
    let pod = pod(owner, address);
    let left = firewall::get_element(Namespace::Host, FAMILY, family.pods, &pod.1.key)?;
    let mut commands: Vec<Command> = left.map(|_| deletion(pod)).into_iter().collect();
    commands.push(add_pod);

    let known = firewall::list_elements(Namespace::Host, FAMILY, family.local)?;
    if !known.iter().any(|known| contains(known, address)) {
        let inner = known.into_iter().filter(|known| lies_in(known, address));
        commands.extend(inner.map(|known| {
            let range = Element::range(known.key.clone(), known.key_end.unwrap_or(known.key));
            Command::DeleteElements(Elements::of(family.local, [range]))
        }));
        commands.push(add_network);
    }
    Ok(commands)
}

/// First and last address of a network that is not masqueraded.
fn bounds(local: &Element) -> Option<(IpAddr, IpAddr)> {
    let source = |key: &[Value]| match key.first() {
        Some(Value::Address(address)) => Some(IpAddr::from(*address)),
        _ => None,
    };
    let last = local.key_end.as_deref().unwrap_or(&local.key);
    Some((source(&local.key)?, source(last)?))
}

fn contains(local: &Element, network: &IpNet) -> bool {
    bounds(local)
        .is_some_and(|(first, last)| first <= network.network() && network.broadcast() <= last)
}

fn lies_in(local: &Element, network: &IpNet) -> bool {
    bounds(local)
        .is_some_and(|(first, last)| network.network() <= first && last <= network.broadcast())
}

/// The element of an address, and its set.
fn pod(owner: &Owner, address: &IpNet) -> Found {
    let element = Element::new([address.addr().into()]).with_comment(owner.comment());
    (family_of(address.addr()).pods, element)
}

fn family_of(address: IpAddr) -> Masquerade {
    match address {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(_) => IPV6,
    }
}

/// What all networks share. `create-chain` fails where it exists, so that nothing comes twice.
fn base() -> Vec<Command> {
    let postrouting = Chain::base(POSTROUTING, ChainType::Nat, Hook::Postrouting, SOURCE_NAT);
    let mut commands = vec![Command::CreateChain(postrouting)];
    for family in [IPV4, IPV6] {
        commands.push(Command::AddSet(Set::new(family.pods, [family.key])));
        commands.push(Command::AddSet(Set::ranges(
            family.local,
            [family.key, family.key],
        )));
        commands.extend(rules(&family).map(Command::AppendRule));
    }
    commands
}

fn rules(family: &Masquerade) -> [Rule; 3] {
    let rule = |condition| Rule::new(POSTROUTING).when(condition);
    let multicast: IpNet = family.multicast.parse().expect("a network");
    [
        rule(Condition::in_set(
            [family.source, family.destination],
            family.local,
        ))
        .then(Statement::ReturnToCaller),
        rule(Condition::within(family.destination, multicast)).then(Statement::ReturnToCaller),
        rule(Condition::in_set([family.source], family.pods)).then(Statement::masquerade()),
    ]
}

/// Removes the attachment's elements: by address where the previous result tells the addresses,
/// else, or where they are not there, by looking at all.
pub fn remove(owner: &Owner, previous: Option<&AddResult>) -> Result<(), Error> {
    let removed = || {
        let mut found = find_by_address(owner, previous)?;
        if found.is_empty() {
            found = owned::find(FAMILY, &[PODS4, PODS6], |element| owner.owns(element))?;
        }
        owned::delete(FAMILY, found)
    };
    removed().context("could not remove masquerading")
}

fn find_by_address(
    owner: &Owner,
    previous: Option<&AddResult>,
) -> Result<Vec<Found>, OperationError> {
    let mut found = Vec::new();
    for ip in previous.map_or(&[][..], |previous| &previous.ips) {
        let address = ip.address.addr();
        found.extend(owned::get(
            FAMILY,
            family_of(address).pods,
            &[address.into()],
            owner,
        )?);
    }
    Ok(found)
}

/// Removes the elements of attachments that are not valid.
pub fn retain(request: &GcRequest<Config>) -> Result<(), Error> {
    owned::retain(FAMILY, &[PODS4, PODS6], &Valid::of(request))
        .context("could not remove masquerading that is left over")
}

#[cfg(test)]
mod tests {
    use weir_sdk::firewall::Value;

    use super::*;

    fn rules_of(family: &Masquerade) -> Vec<Rule> {
        rules(family).into_iter().collect()
    }

    #[test]
    fn what_stays_in_a_network_and_multicast_is_spared_before_the_rest_is_masqueraded() {
        for family in [IPV4, IPV6] {
            let rules = rules_of(&family);
            let statements: Vec<&Statement> = rules
                .iter()
                .flat_map(|rule| rule.statements.first())
                .collect();
            assert!(matches!(
                statements[..],
                [
                    Statement::ReturnToCaller,
                    Statement::ReturnToCaller,
                    Statement::Masquerade(_)
                ]
            ));
        }
    }

    #[test]
    fn networks_are_told_to_lie_in_each_other() {
        let net = |text: &str| -> IpNet { text.parse().unwrap() };
        let local = |text: &str| {
            let (first, last) = (net(text).network(), net(text).broadcast());
            Element::range([first.into(), first.into()], [last.into(), last.into()])
        };
        for (outer, inner) in [("10.1.0.0/16", "10.1.2.0/24"), ("fd00::/48", "fd00::/64")] {
            assert!(contains(&local(outer), &net(inner)));
            assert!(!contains(&local(inner), &net(outer)));
            assert!(lies_in(&local(inner), &net(outer)));
            assert!(!lies_in(&local(outer), &net(inner)));
        }
        let same = "10.1.0.0/16";
        assert!(contains(&local(same), &net(same)) && lies_in(&local(same), &net(same)));
        assert!(!contains(&local(same), &net("10.2.0.0/16")));
        assert!(!lies_in(&local(same), &net("10.2.0.0/16")));
    }

    #[test]
    fn a_network_is_spared_whole() {
        let owner = Owner::new("net", "id", "eth0");
        let [_, local] = elements(&owner, &"10.1.2.3/16".parse().unwrap());
        let Command::AddElements(local) = local else {
            panic!("another command");
        };
        let address = |text: &str| Value::from(text.parse::<IpAddr>().unwrap());
        let element = &local.elements[0];
        assert_eq!(local.set, "local4");
        assert_eq!(element.key, [address("10.1.0.0"), address("10.1.0.0")]);
        let end = element.key_end.as_deref().unwrap();
        assert_eq!(end, [address("10.1.255.255"), address("10.1.255.255")]);
    }
}
