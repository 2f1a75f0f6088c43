//! Waits for a link's operational state.

use netlink_packet_route::RouteNetlinkMessage;
use weir_gate::Permit;
use weir_grant::link::{LinkFacts, OperState, WaitUp};

use super::by_index;
use crate::error::{Result, WhileDoing as _};
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::netlink::{Group, Notifications, Wait};
use crate::perform::{Changes, Perform};

/// Waits until a link's operational state is `up`, as long as the operation says and until
/// `deadline` at the latest. Errors: `TimedOut`, `NotFound`.
impl Perform<WaitUp> for Linux {
    fn perform(&mut self, permit: &Permit<WaitUp>, _: &mut Changes<'_>) -> Result<()> {
        let WaitUp { link, timeout_ms } = permit.operation();
        let wait = Wait::new(*timeout_ms, self.deadline);
        wait_for_up(self.namespaces.of(link.namespace)?, link, &wait)
            .while_doing(format_args!("wait for {link} to be up"))
    }
}

fn wait_for_up(namespace: &mut NetworkNamespace, link: &LinkFacts, wait: &Wait) -> Result<()> {
    if state(namespace, link)? == OperState::Up {
        return Ok(());
    }
    let mut changes = namespace.enter(|| Notifications::subscribe(Group::Link))??;
    loop {
        let state = state(namespace, link)?;
        if state == OperState::Up {
            return Ok(());
        }
        if !changes.next(wait, |change| concerns(change, link.index))? {
            return Err(wait.timed_out(format_args!("its state is `{state}`")));
        }
    }
}

fn state(namespace: &mut NetworkNamespace, link: &LinkFacts) -> Result<OperState> {
    let now = namespace.link(by_index(link.index))?;
    Ok(now.oper_state)
}

fn concerns(change: &RouteNetlinkMessage, index: u32) -> bool {
    match change {
        RouteNetlinkMessage::NewLink(message) | RouteNetlinkMessage::DelLink(message) => {
            message.header.index == index
        }
        _ => false,
    }
}
