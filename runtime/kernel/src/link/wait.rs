//! Waits for a link to be as an operation wants it.

use nix::libc;
use weir_gate::Permit;
use weir_grant::link::{LinkFacts, OperState, WaitUp};

use super::by_index;
use crate::error::{Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::netlink::Wait;
use crate::perform::Answer;

impl Linux {
    /// Waits until `state` returns none, as long as an operation says and until `deadline` at the latest. Notifications of
    /// `group` about the link say when to look again.
    ///
    /// Errors: those of `state`; `TimedOut` with what it returned last.
    pub(crate) fn wait(
        &mut self,
        link: &LinkFacts,
        timeout_ms: u32,
        group: u32,
        state: impl FnMut(&mut NetworkNamespace) -> Result<Option<String>>,
    ) -> Result<()> {
        let wait = Wait::new(timeout_ms, self.deadline);
        let namespace = self.namespaces.of(link.namespace)?;
        namespace.wait(&wait, group, link, state)
    }
}

/// Waits until a link's operational state is `up`, as long as the operation says and until
/// `deadline` at the latest. Errors: `TimedOut`, `NotFound`.
impl Answer<WaitUp> for Linux {
    fn answer(&mut self, permit: &Permit<WaitUp>) -> Result<()> {
        let WaitUp { link, timeout_ms } = permit.operation();
        let waited = self.wait(link, *timeout_ms, libc::RTNLGRP_LINK, |namespace| {
            let state = namespace.link(by_index(link.index))?.oper_state;
            Ok((state != OperState::Up).then(|| format!("its state is `{state}`")))
        });
        waited.while_doing(format_args!("wait for {link} to be up"))
    }
}
