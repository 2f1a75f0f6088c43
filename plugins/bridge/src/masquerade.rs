//! Masquerading of the containers' traffic to other networks, in the table of the family `inet`.
//!
//! A packet costs one look-up by its source, however many containers there are:
//!
//! ```text
//! chain postrouting {
//!     type nat hook postrouting priority srcnat
//!     ip saddr vmap @pods4
//!     ip6 saddr vmap @pods6
//! }
//! chain masquerade_10_1_0_0_16 {
//!     ip daddr 10.1.0.0/16 return
//!     ip daddr 224.0.0.0/4 return
//!     masquerade
//! }
//! map pods4 { 10.1.0.5 comment "<attachment>" : jump masquerade_10_1_0_0_16 }
//! ```

use std::net::IpAddr;

use ipnet::IpNet;
use weir_sdk::firewall::{
    self, Chain, ChainType, Command, Condition, DataType, Element, Family, Field, Hook, Rule, Set,
    Statement, Verdict,
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

/// How often to try when others change the same objects at the same time.
const ATTEMPTS: usize = 8;

/// Masquerades what these addresses send to other networks.
pub fn add(owner: &Owner, ips: &[IpConfig]) -> Result<(), Error> {
    let elements = |ip: &IpConfig| element(owner, &ip.address);
    let commands: Vec<Command> = ips.iter().map(elements).map(creation).collect();
    match apply(&commands) {
        Err(error) if is_to_be_prepared(&error) => {
            let one_by_one = ips.iter().try_for_each(|ip| add_one(owner, &ip.address));
            one_by_one.context("could not set up masquerading")
        }
        applied => applied.context("could not set up masquerading"),
    }
}

/// Whether chains are missing, or an element of an earlier container is in the way.
fn is_to_be_prepared(error: &OperationError) -> bool {
    matches!(error.code, ErrorCode::NotFound | ErrorCode::Exists)
}

fn add_one(owner: &Owner, address: &IpNet) -> Result<(), OperationError> {
    let found = element(owner, address);
    let mut outcome = apply(&[creation(found.clone())]);
    for _ in 0..ATTEMPTS {
        match &outcome {
            Err(error) if error.code == ErrorCode::NotFound => {
                apply(&base()).or_exists()?;
                apply(&network_chain(address)).or_exists()?;
                outcome = apply(&[creation(found.clone())]);
            }
            // The address was another container's, which went without a DEL.
            Err(error) if error.code == ErrorCode::Exists => {
                outcome = apply(&[deletion(found.clone()), creation(found.clone())]);
            }
            _ => break,
        }
    }
    outcome
}

fn apply(commands: &[Command]) -> Result<(), OperationError> {
    firewall::apply(Namespace::Host, FAMILY, commands)
}

/// The element of an address, and its map.
fn element(owner: &Owner, address: &IpNet) -> Found {
    let element = Element::new([address.addr().into()])
        .with_verdict(Verdict::Jump(chain_name(address)))
        .with_comment(owner.comment());
    (map_of(address.addr()), element)
}

fn map_of(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => PODS4,
        IpAddr::V6(_) => PODS6,
    }
}

/// What all networks share. `create-chain` fails where it exists, so that nothing comes twice.
fn base() -> [Command; 5] {
    let postrouting = Chain::base(POSTROUTING, ChainType::Nat, Hook::Postrouting, SOURCE_NAT);
    let look_up = |field, map| {
        let rule = Rule::new(POSTROUTING).then(Statement::verdict_map([field], map));
        Command::AppendRule(rule)
    };
    [
        Command::CreateChain(postrouting),
        Command::AddSet(Set::verdict_map(PODS4, [DataType::Ipv4Address])),
        Command::AddSet(Set::verdict_map(PODS6, [DataType::Ipv6Address])),
        look_up(Field::Ipv4Source, PODS4),
        look_up(Field::Ipv6Source, PODS6),
    ]
}

/// The chain of an address's network.
fn network_chain(address: &IpNet) -> [Command; 4] {
    let name = chain_name(address);
    let (destination, multicast) = match address.addr() {
        IpAddr::V4(_) => (Field::Ipv4Destination, "224.0.0.0/4"),
        IpAddr::V6(_) => (Field::Ipv6Destination, "ff00::/8"),
    };
    let multicast: IpNet = multicast.parse().expect("a network");
    let spare = |network| {
        let rule = Rule::new(&name).when(Condition::within(destination, network));
        Command::AppendRule(rule.then(Statement::ReturnToCaller))
    };
    [
        Command::CreateChain(Chain::regular(&name)),
        spare(address.trunc()),
        spare(multicast),
        Command::AppendRule(Rule::new(&name).then(Statement::masquerade())),
    ]
}

fn chain_name(address: &IpNet) -> String {
    let network = address.trunc().to_string();
    format!("masquerade_{}", network.replace(['.', ':', '/'], "_"))
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
            map_of(address),
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
    use super::*;

    #[test]
    fn chains_are_named_by_their_network() {
        let name = |text: &str| chain_name(&text.parse().unwrap());
        assert_eq!(name("10.1.2.3/16"), "masquerade_10_1_0_0_16");
        assert_eq!(name("fd00:1::5/64"), "masquerade_fd00_1___64");
        assert_ne!(name("fd00::1:0/112"), name("fd00:1::/112"));
    }

    #[test]
    fn a_network_chain_spares_its_own_network_and_multicast() {
        let commands = network_chain(&"10.1.2.3/16".parse().unwrap());
        let networks: Vec<IpNet> = commands
            .iter()
            .filter_map(|command| match command {
                Command::AppendRule(rule) => rule.conditions.first(),
                _ => None,
            })
            .map(|condition| match condition {
                Condition::Within(within) => within.network.into(),
                _ => panic!("another condition"),
            })
            .collect();
        let expected: [IpNet; 2] = [
            "10.1.0.0/16".parse().unwrap(),
            "224.0.0.0/4".parse().unwrap(),
        ];
        assert_eq!(networks, expected);
    }
}
