//! What a bridge forwards between its own ports, in the table of the family `bridge`, for the policy
//! `isolated`.
//!
//! ```text
//! chain forward {
//!     type filter hook forward priority filter; policy accept
//!     iifname @isolated oifname @isolated drop
//! }
//! set isolated { "veth5f3c0a12" comment "<attachment>" }
//! ```

use weir_sdk::firewall::owned::{self, creation};
use weir_sdk::firewall::shared::Shared;
use weir_sdk::firewall::{
    Chain, ChainType, Condition, DataType, Element, Family, Field, Hook, Rule, Set, Statement,
};
use weir_sdk::owner::{Owner, Valid};
use weir_sdk::{AddResult, Context, Error, GcRequest, OperationError};

const FAMILY: Family = Family::Bridge;
const FORWARD: &str = "forward";
const FILTER: i32 = 0;
const ISOLATED: &str = "isolated";

/// Drops what comes from other isolated ports.
pub fn add(owner: &Owner, port: &str) -> Result<(), Error> {
    try_add(owner, port).context(format!("cannot isolate port `{port}`"))
}

fn try_add(owner: &Owner, port: &str) -> Result<(), OperationError> {
    let element = || {
        let element = Element::new([port.into()]);
        (ISOLATED, element.owned_by(owner))
    };
    let commands = vec![creation(element())];
    // The name may have belonged to the port of a container that had no DEL.
    owned::add(&shared(), commands, || {
        owned::replacing(FAMILY, [element()])
    })
}

/// What all networks share.
fn shared() -> Shared {
    let rule = Rule::new(FORWARD)
        .known_as(ISOLATED)
        .when(Condition::in_set([Field::InputLinkName], ISOLATED))
        .when(Condition::in_set([Field::OutputLinkName], ISOLATED))
        .then(Statement::Drop);
    Shared {
        family: FAMILY,
        chains: vec![Chain::base(
            FORWARD,
            ChainType::Filter,
            Hook::Forward,
            FILTER,
        )],
        sets: vec![Set::new(ISOLATED, [DataType::LinkName])],
        rules: vec![rule],
    }
}

/// Fails unless the port is isolated. Errors: `codes::NOT_AS_ATTACHED`.
pub fn check(owner: &Owner, port: &str) -> Result<(), Error> {
    let checked = shared()
        .check()
        .and_then(|()| owned::check(FAMILY, ISOLATED, &[port.into()], owner));
    checked.map(drop).context("the isolation of the port")
}

/// Removes the attachment's element: by the names of the previous result, or, without these or where it is missing,
/// by searching the set.
pub fn remove(owner: &Owner, previous: Option<&AddResult>) -> Result<(), Error> {
    // Bridge, port: the order in which `bridge` returns them.
    let port = previous.and_then(|previous| previous.on_host().nth(1));
    let known = port.map(|port| (ISOLATED, vec![port.name.as_str().into()]));
    owned::remove(FAMILY, owner, known.as_slice(), || Ok(vec![ISOLATED]))
        .map(drop)
        .context("cannot remove the isolation of the port")
}

/// Removes the elements of attachments that are not valid.
pub fn retain<C>(request: &GcRequest<C>) -> Result<(), Error> {
    owned::retain(FAMILY, &[ISOLATED], &Valid::of(request))
        .context("cannot remove leftover isolations")
}
