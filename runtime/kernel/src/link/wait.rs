//! Waits for a link's operational state.

use nix::libc;
use weir_gate::Permit;
use weir_grant::link::{OperState, WaitUp};

use super::by_index;
use crate::error::{Result, WhileDoing as _};
use crate::linux::Linux;
use crate::netlink::Wait;
use crate::perform::Answer;

/// Waits until a link's operational state is `up`, as long as the operation says and until
/// `deadline` at the latest. Errors: `TimedOut`, `NotFound`.
impl Answer<WaitUp> for Linux {
    fn answer(&mut self, permit: &Permit<WaitUp>) -> Result<()> {
        let WaitUp { link, timeout_ms } = permit.operation();
        let wait = Wait::new(*timeout_ms, self.deadline);
        let namespace = self.namespaces.of(link.namespace)?;
        let waited = namespace.wait(&wait, libc::RTNLGRP_LINK, link, |namespace| {
            let state = namespace.link(by_index(link.index))?.oper_state;
            Ok((state != OperState::Up).then(|| format!("its state is `{state}`")))
        });
        waited.while_doing(format_args!("wait for {link} to be up"))
    }
}
