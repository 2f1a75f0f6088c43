//! Masquerading of the containers' traffic to other networks, in the plugin's table of the family
//! `inet`: what the key `ipMasq` of a main plugin does.
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

use crate::check;
use crate::firewall::owned::{self, creation};
use crate::firewall::shared::Shared;
use crate::firewall::{
    Chain, ChainType, Command, Condition, DataType, Element, Family, Field, Hook, Rule, Set,
    Statement, Value, networks,
};
use crate::owner::{Owner, Valid};
use crate::{AddResult, Context, Error, ErrorCode, GcRequest, IpConfig, Result};

const FAMILY: Family = Family::Inet;
const POSTROUTING: &str = "postrouting";
const SOURCE_NAT: i32 = 100;
const PODS4: &str = "pods4";
const PODS6: &str = "pods6";

/// Checks the key `ipMasqBackend`: `nftables`, `iptables` or empty. weir uses nftables for each. Errors: code 2.
pub fn validate_backend(backend: &str) -> Result<(), Error> {
    match backend {
        "" | "nftables" | "iptables" => Ok(()),
        other => Err(Error::unsupported_field("ipMasqBackend", &other.into())
            .with_details("weir uses nftables for `iptables` as well")),
    }
}

/// The sets, fields and networks of one family.
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

/// Masquerades what these addresses send to other networks.
pub fn add(owner: &Owner, ips: &[IpConfig]) -> Result<(), Error> {
    let commands = ips.iter().flat_map(|ip| elements(owner, &ip.address));
    let shared = shared();
    let added = match owned::apply(&shared, commands.collect()) {
        // An element is in the way: they are added one by one, and each sees what the one before did.
        Err(error) if error.code == ErrorCode::Exists => {
            let mut ips = ips.iter();
            ips.try_for_each(|ip| add_one(owner, &shared, &ip.address))
        }
        applied => applied,
    };
    added.context("cannot set up masquerading")
}

fn add_one(owner: &Owner, shared: &Shared, address: &IpNet) -> Result<()> {
    let commands = elements(owner, address).into();
    owned::add(shared, commands, || replacement(owner, address))
}

/// What an address adds: its own element, and its network, to which nothing is masqueraded.
fn elements(owner: &Owner, address: &IpNet) -> [Command; 2] {
    let local = family_of(address.addr()).local;
    [
        creation(pod(owner, address)),
        networks::adding(local, address),
    ]
}

/// What an address adds where something is in the way: the element of another container, which had no DEL, or a
/// network that contains this one or lies in it.
fn replacement(owner: &Owner, address: &IpNet) -> Result<Vec<Command>> {
    let local = family_of(address.addr()).local;
    let mut commands = owned::replacing(FAMILY, [pod(owner, address)])?;
    commands.extend(networks::replacing(FAMILY, local, address)?);
    Ok(commands)
}

/// The element of an address, and its set.
fn pod(owner: &Owner, address: &IpNet) -> (&'static str, Element) {
    let element = Element::new([address.addr().into()]).owned_by(owner);
    (family_of(address.addr()).pods, element)
}

fn family_of(address: IpAddr) -> Masquerade {
    match address {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(_) => IPV6,
    }
}

/// What all networks share.
fn shared() -> Shared {
    let both = || [IPV4, IPV6].into_iter();
    let sets = both().flat_map(|f| [Set::new(f.pods, [f.key]), networks::set(f.local, f.key)]);
    Shared {
        family: FAMILY,
        chains: vec![Chain::base(
            POSTROUTING,
            ChainType::Nat,
            Hook::Postrouting,
            SOURCE_NAT,
        )],
        sets: sets.collect(),
        rules: both().flat_map(|family| rules(&family)).collect(),
    }
}

fn rules(family: &Masquerade) -> [Rule; 3] {
    let rule = |condition| Rule::new(POSTROUTING).when(condition);
    let multicast: IpNet = family.multicast.parse().expect("a network");
    [
        rule(Condition::in_set(
            [family.source, family.destination],
            family.local,
        ))
        .known_as(family.local)
        .then(Statement::ReturnToCaller),
        rule(Condition::within(family.destination, multicast))
            .known_as(family.multicast)
            .then(Statement::ReturnToCaller),
        rule(Condition::in_set([family.source], family.pods))
            .known_as(family.pods)
            .then(Statement::masquerade()),
    ]
}

/// Fails unless everything that [`add`] set up for these addresses is there, with the rules that use it.
///
/// Errors: [`codes::NOT_AS_ATTACHED`](crate::codes::NOT_AS_ATTACHED).
pub fn check(owner: &Owner, ips: &[IpConfig]) -> Result<(), Error> {
    shared()
        .check()
        .and_then(|()| ips.iter().try_for_each(|ip| check_one(owner, &ip.address)))
        .context("masquerading")
}

fn check_one(owner: &Owner, address: &IpNet) -> Result<(), Error> {
    let (set, pod) = pod(owner, address);
    owned::check(FAMILY, set, &pod.key, owner)?;
    let family = family_of(address.addr());
    if networks::has(FAMILY, family.local, address)? {
        Ok(())
    } else {
        Err(check::wrong(format!(
            "network {} is missing in set `{}`",
            address.trunc(),
            family.local
        )))
    }
}

/// Removes the attachment's elements: by the addresses of the previous result, or, without these or where one is
/// missing, by searching the sets.
pub fn remove(owner: &Owner, previous: Option<&AddResult>) -> Result<(), Error> {
    owned::remove(FAMILY, owner, &known(previous), sets)
        .map(drop)
        .context("cannot remove masquerading")
}

/// Removes the attachment's elements as [`remove`] does, and where there are none, what the reference plugin of this plugin's
/// name made in their place. Only for plugins that replace one.
pub fn remove_or_reference(owner: &Owner, previous: Option<&AddResult>) -> Result<(), Error> {
    owned::remove_or_reference(FAMILY, owner, &known(previous), sets)
        .context("cannot remove masquerading")
}

/// The sets and the elements of a result's addresses.
fn known(previous: Option<&AddResult>) -> Vec<(&'static str, Vec<Value>)> {
    let addresses = previous.into_iter().flat_map(AddResult::addresses);
    let element = |address| (family_of(address).pods, vec![Value::from(address)]);
    addresses.map(element).collect()
}

fn sets() -> Result<Vec<&'static str>> {
    Ok([PODS4, PODS6].to_vec())
}

/// Removes the elements of attachments that are not valid.
pub fn retain<C>(request: &GcRequest<C>) -> Result<(), Error> {
    owned::retain(FAMILY, &[PODS4, PODS6], &Valid::of(request))
        .context("cannot remove leftover masquerading")
}

#[cfg(test)]
mod tests {
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
}
