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

use weir_sdk::firewall::{
    self, Chain, ChainType, Command, Condition, DataType, Element, Family, Field, Hook, Rule, Set,
    Statement, Value,
};
use weir_sdk::{
    AddResult, Context, Error, ErrorCode, GcRequest, Interface, Mac, Namespace, OperationError,
    Outcome,
};

use crate::config::Config;
use crate::owned::{self, Found, Owner, Valid, creation};

const FAMILY: Family = Family::Bridge;
const PREROUTING: &str = "prerouting";
/// Before the bridge's own destination translation.
const PRIORITY: i32 = -300;
const LINKS: &str = "links";
const MACS: &str = "macs";

/// How often to try when others change the same objects at the same time.
const ATTEMPTS: usize = 8;

/// Drops what comes from a port with another source than this MAC.
pub fn add(owner: &Owner, port: &str, mac: Mac) -> Result<(), Error> {
    try_add(owner, port, mac).context("could not set up the check of source MACs")
}

fn try_add(owner: &Owner, port: &str, mac: Mac) -> Result<(), OperationError> {
    let elements = [
        (
            LINKS,
            Element::new([port.into()]).with_comment(owner.comment()),
        ),
        (
            MACS,
            Element::new([port.into(), mac.into()]).with_comment(owner.comment()),
        ),
    ];
    let commands = elements.map(creation);
    let mut outcome = apply(&commands);
    for _ in 0..ATTEMPTS {
        match &outcome {
            Err(error) if error.code == ErrorCode::NotFound => {
                apply(&base()).or_exists()?;
            }
            // The name was another port's, whose container went without a DEL.
            Err(error) if error.code == ErrorCode::Exists => {
                owned::delete(FAMILY, of_port(port)?)?;
            }
            _ => break,
        }
        outcome = apply(&commands);
    }
    outcome
}

fn apply(commands: &[Command]) -> Result<(), OperationError> {
    firewall::apply(Namespace::Host, FAMILY, commands)
}

/// What all networks share. `create-chain` fails where it exists, so that nothing comes twice.
fn base() -> [Command; 4] {
    let prerouting = Chain::base(PREROUTING, ChainType::Filter, Hook::Prerouting, PRIORITY);
    let fields = [Field::InputLinkName, Field::MacSource];
    let rule = Rule::new(PREROUTING)
        .when(Condition::in_set([Field::InputLinkName], LINKS))
        .when(Condition::not_in_set(fields, MACS))
        .then(Statement::Drop);
    [
        Command::CreateChain(prerouting),
        Command::AddSet(Set::new(LINKS, [DataType::LinkName])),
        Command::AddSet(Set::new(MACS, [DataType::LinkName, DataType::MacAddress])),
        Command::AppendRule(rule),
    ]
}

fn of_port(port: &str) -> Result<Vec<Found>, OperationError> {
    let port = Value::from(port);
    owned::find(FAMILY, &[LINKS, MACS], |element| {
        element.key.first() == Some(&port)
    })
}

/// Removes the attachment's elements: by name and MAC where the previous result tells them, else,
/// or where they are not there, by looking at all.
pub fn remove(owner: &Owner, previous: Option<&AddResult>) -> Result<(), Error> {
    let removed = || {
        let mut found = find_by_name(owner, previous)?;
        if found.len() != 2 {
            found = owned::find(FAMILY, &[LINKS, MACS], |element| owner.owns(element))?;
        }
        owned::delete(FAMILY, found)
    };
    removed().context("could not remove the check of source MACs")
}

fn find_by_name(owner: &Owner, previous: Option<&AddResult>) -> Result<Vec<Found>, OperationError> {
    let interfaces = previous.map_or(&[][..], |previous| &previous.interfaces);
    // Bridge, port, container's interface: the order in which ADD returns them.
    let [_, port, container, ..] = interfaces else {
        return Ok(Vec::new());
    };
    let Some(mac) = container_mac(container) else {
        return Ok(Vec::new());
    };
    let port = || Value::from(port.name.as_str());
    let keys = [(LINKS, vec![port()]), (MACS, vec![port(), mac.into()])];
    let mut found = Vec::new();
    for (set, key) in keys {
        found.extend(owned::get(FAMILY, set, &key, owner)?);
    }
    Ok(found)
}

fn container_mac(interface: &Interface) -> Option<Mac> {
    interface.mac.as_deref()?.parse().ok()
}

/// Removes the elements of attachments that are not valid.
pub fn retain(request: &GcRequest<Config>) -> Result<(), Error> {
    owned::retain(FAMILY, &[LINKS, MACS], &Valid::of(request))
        .context("could not remove checks of source MACs that are left over")
}
