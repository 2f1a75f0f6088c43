//! Capability `link`: links, and what goes with them.

mod create;
mod delete;
mod moved;
mod settle;
mod update;
mod vlan;

use super::Call;
use super::error::{EEXIST, Result, error, invalid, refuse};
use super::state::Network;
use crate::bindings::weir::cni::link::{Link, OperState, Peer};
use crate::bindings::weir::cni::types::{ErrorCode, LinkReference, Namespace};

pub use create::create;
pub use delete::{delete, delete_all};
pub use moved::move_;
pub use update::{update, update_bridge, update_port};
pub use vlan::{add_vlans, delete_vlans, list_vlans};

pub(crate) use delete::remove_container;

pub fn get(namespace: Namespace, link: &LinkReference) -> Result<Link> {
    let call = Call::of("link.get").on(namespace, link);
    call.run(|machine| Ok(machine.look(namespace)?.find(link)?.link.clone()))
}

/// Returns the links that the grant lets the plugin read: those of a kind, and the ports of a master, where these
/// are given.
pub fn list(namespace: Namespace, kind: Option<&str>, master: Option<u32>) -> Result<Vec<Link>> {
    Call::of("link.list").within(namespace).run(|machine| {
        let links = machine.look(namespace)?.links.iter();
        let links = links.map(|device| &device.link).filter(|link| {
            kind.is_none_or(|kind| kind == link.kind) && (master.is_none() || master == link.master)
        });
        Ok(links.cloned().collect())
    })
}

pub fn get_peer(namespace: Namespace, link: &LinkReference) -> Result<Peer> {
    let call = Call::of("link.get-peer").on(namespace, link);
    call.run(|machine| {
        let peer = machine.look(namespace)?.find(link)?.peer;
        let (namespace, index) = peer.ok_or_else(|| invalid("it is not a veth"))?;
        Ok(Peer {
            index,
            namespace: Some(namespace),
        })
    })
}

/// Does not wait: nothing changes meanwhile.
pub fn wait_up(namespace: Namespace, link: &LinkReference, timeout: u32) -> Result<()> {
    let call = Call::of("link.wait-up").on(namespace, link);
    call.with(format_args!("{timeout}ms")).run(|machine| {
        match machine.look(namespace)?.find(link)?.link.oper_state {
            OperState::Up => Ok(()),
            other => {
                let why = format!("its operational state is {other:?}");
                Err(error(ErrorCode::TimedOut, why))
            }
        }
    })
}

/// Fails where a name is taken. Errors: `exists`.
fn check_free(network: &Network, name: &str) -> Result<()> {
    if network.links.iter().any(|device| device.link.name == name) {
        refuse(EEXIST)
    } else {
        Ok(())
    }
}

/// Fails for what weir does not give a link as its alias. Errors: `invalid`.
fn check_alias(namespace: Namespace, alias: Option<&String>) -> Result<()> {
    match alias {
        None => Ok(()),
        Some(_) if namespace == Namespace::Host => Err(invalid(
            "the alias of a link in `host` names its owner, and only weir sets it",
        )),
        Some(alias) if alias.len() > 255 || alias.contains('\0') => {
            Err(invalid("an alias has at most 255 bytes, without NUL"))
        }
        Some(_) => Ok(()),
    }
}
