//! Capability `link`: links, and what goes with them.

mod create;
mod delete;
mod moved;
mod state;
mod update;
mod vlan;

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::link::{GetPeer, Link, LinkFacts, List, OperState, Peer, Read, WaitUp};
use weir_kernel::{Answer, Code, Error, Result, WhileDoing as _};

use super::kernel::Model;
use super::state::{Device, NetworkState};
pub(crate) use delete::delete;
pub(crate) use state::loopback;

/// The link of an operation. Errors: `NotFound`.
pub(crate) fn find<'a>(network: &'a NetworkState, link: &LinkFacts) -> Result<&'a Device> {
    by_index(network, link.index)
}

/// The link with an index. Errors: `NotFound`.
pub(crate) fn by_index(network: &NetworkState, index: u32) -> Result<&Device> {
    let mut links = network.links.iter();
    let found = links.find(|device| device.link.index == index);
    found.ok_or_else(|| Errno::ENODEV.into())
}

pub(crate) fn by_index_mut(network: &mut NetworkState, index: u32) -> Result<&mut Device> {
    let mut links = network.links.iter_mut();
    let found = links.find(|device| device.link.index == index);
    found.ok_or_else(|| Errno::ENODEV.into())
}

/// Fails where a name is taken. Errors: `Exists`.
fn check_free(network: &NetworkState, name: &str) -> Result<()> {
    match network.link(name) {
        Some(_) => Err(Errno::EEXIST.into()),
        None => Ok(()),
    }
}

impl Answer<Read, Link> for Model {
    fn answer(&mut self, permit: &Permit<Read>) -> Result<Link> {
        let wanted = &permit.operation().link;
        let found = self.known.known(wanted).cloned();
        found.ok_or_else(|| Error::not_found(wanted.not_found()))
    }
}

impl Answer<List, Vec<Link>> for Model {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<Link>> {
        let list = permit.operation();
        self.look(|state| {
            let links = state
                .of(list.namespace)?
                .links
                .iter()
                .map(|device| &device.link);
            let wanted = links.filter(|link| {
                let is_master = |master| link.master == Some(master);
                list.kind.as_ref().is_none_or(|kind| *kind == link.kind)
                    && list.master.is_none_or(is_master)
            });
            Ok(wanted.cloned().collect())
        })
    }
}

impl Answer<GetPeer, Peer> for Model {
    fn answer(&mut self, permit: &Permit<GetPeer>) -> Result<Peer> {
        let link = &permit.operation().link;
        if link.kind != "veth" {
            return Err(Error::invalid(format!("{link} is not a veth")));
        }
        let peer = self.look(|state| Ok(find(state.of(link.namespace)?, link)?.peer));
        let peer = peer.while_doing(format_args!("find the peer of {link}"))?;
        let no_peer = || Error::failed("the kernel does not report it");
        let (namespace, index) = peer.ok_or_else(no_peer)?;
        Ok(Peer {
            index,
            namespace: Some(namespace),
        })
    }
}

/// Errors: `TimedOut` for a link that is not up, as nothing changes meanwhile; `NotFound`.
impl Answer<WaitUp> for Model {
    fn answer(&mut self, permit: &Permit<WaitUp>) -> Result<()> {
        let link = &permit.operation().link;
        let doing = format_args!("wait for {link} to be up");
        let state = self
            .look(|state| Ok(find(state.of(link.namespace)?, link)?.link.oper_state))
            .while_doing(doing)?;
        match state {
            OperState::Up => Ok(()),
            other => {
                let why = format!("{doing}: its state is `{other}`");
                Err(Error::new(Code::TimedOut, why))
            }
        }
    }
}
