//! The check of source MACs, in the table of the family `bridge`.
//!
//! A frame costs two look-ups, however many containers there are:
//!
//! ```text
//! chain prerouting {
//!     type filter hook prerouting priority -300
//!     iifname @links iifname . ether saddr != @macs drop
//! }
//! set links { "veth5f3c0a12" comment "<attachment>" }
//! set macs { "veth5f3c0a12" . 02:00:00:00:00:01 comment "<attachment>" }
//! ```

use weir_sdk::firewall::owned::{self, Found, creation, deletion};
use weir_sdk::firewall::shared::Shared;
use weir_sdk::firewall::{
    Chain, ChainType, Command, Condition, DataType, Element, Family, Field, Hook, Rule, Set,
    Statement, Value,
};
use weir_sdk::link::Link;
use weir_sdk::owner::{Owner, Valid};
use weir_sdk::{AddResult, Context, Error, GcRequest, Interface, Mac, OperationError};

use crate::config::Config;

const FAMILY: Family = Family::Bridge;
const PREROUTING: &str = "prerouting";
/// Before the bridge's own destination translation.
const PRIORITY: i32 = -300;
const LINKS: &str = "links";
const MACS: &str = "macs";

/// Drops frames from a port whose source is not the MAC of the container's link.
pub fn add(owner: &Owner, port: &str, container: &Link) -> Result<(), Error> {
    let mac = mac_of(container)?;
    try_add(owner, port, mac).context("cannot set up the check of source MACs")
}

fn try_add(owner: &Owner, port: &str, mac: Mac) -> Result<(), OperationError> {
    let commands = elements(owner, port, mac).map(creation);
    owned::add(&shared(), commands.into(), || {
        // The name belonged to the port of a container that had no DEL.
        let mut commands: Vec<Command> = of_port(port)?.into_iter().map(deletion).collect();
        commands.extend_from_slice(&elements(owner, port, mac).map(creation));
        Ok(commands)
    })
}

/// The MAC of a link that must have one.
fn mac_of(link: &Link) -> Result<Mac, Error> {
    let missing = || Error::internal(format!("interface `{}` has no MAC", link.name));
    link.mac().ok_or_else(missing)
}

fn elements(owner: &Owner, port: &str, mac: Mac) -> [(&'static str, Element); 2] {
    keys(port, mac).map(|(set, key)| (set, Element::new(key).owned_by(owner)))
}

/// The sets, and the key that a port with its MAC has in each.
fn keys(port: &str, mac: Mac) -> [(&'static str, Vec<Value>); 2] {
    [
        (LINKS, vec![port.into()]),
        (MACS, vec![port.into(), mac.into()]),
    ]
}

/// What all networks share.
fn shared() -> Shared {
    let prerouting = Chain::base(PREROUTING, ChainType::Filter, Hook::Prerouting, PRIORITY);
    let fields = [Field::InputLinkName, Field::MacSource];
    let rule = Rule::new(PREROUTING)
        .known_as(MACS)
        .when(Condition::in_set([Field::InputLinkName], LINKS))
        .when(Condition::not_in_set(fields, MACS))
        .then(Statement::Drop);
    Shared {
        family: FAMILY,
        chains: vec![prerouting],
        sets: vec![
            Set::new(LINKS, [DataType::LinkName]),
            Set::new(MACS, [DataType::LinkName, DataType::MacAddress]),
        ],
        rules: vec![rule],
    }
}

fn of_port(port: &str) -> Result<Vec<Found>, OperationError> {
    let port = Value::from(port);
    owned::find(FAMILY, &[LINKS, MACS], |element| {
        element.key.first() == Some(&port)
    })
}

/// Fails unless frames from the port whose source is not the container's MAC are dropped.
pub fn check(owner: &Owner, port: &str, container: &Link) -> Result<(), Error> {
    let mac = mac_of(container)?;
    let checked = shared().check().and_then(|()| {
        let mut keys = keys(port, mac).into_iter();
        keys.try_for_each(|(set, key)| owned::check(FAMILY, set, &key, owner).map(drop))
    });
    checked.context("the check of source MACs")
}

/// Removes the attachment's elements: by the name and MAC of the previous result, or, without these or where one is
/// missing, by searching the sets.
pub fn remove(owner: &Owner, previous: Option<&AddResult>) -> Result<(), Error> {
    let known = previous.and_then(known_keys).unwrap_or_default();
    owned::remove(FAMILY, owner, &known, || Ok(vec![LINKS, MACS]))
        .map(drop)
        .context("cannot remove the check of source MACs")
}

/// What an attachment with this result has in the sets.
fn known_keys(previous: &AddResult) -> Option<Vec<(&'static str, Vec<Value>)>> {
    // Bridge, port, container's interface: the order in which ADD returns them.
    let [_, port, container, ..] = &previous.interfaces[..] else {
        return None;
    };
    Some(keys(&port.name, container_mac(container)?).into())
}

fn container_mac(interface: &Interface) -> Option<Mac> {
    interface.mac.as_deref()?.parse().ok()
}

/// Removes the elements of attachments that are not valid.
pub fn retain(request: &GcRequest<Config>) -> Result<(), Error> {
    owned::retain(FAMILY, &[LINKS, MACS], &Valid::of(request))
        .context("cannot remove leftover checks of source MACs")
}
