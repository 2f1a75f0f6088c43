//! The pod's default routes, where its selection says through which attachment they lead (key
//! `default-route`, section 4.1.2.1.9 of the standard's later versions).
//!
//! IPv4 and IPv6 are apart: a list of IPv4 gateways leaves the IPv6 default routes as the plugins made
//! them. An empty list takes the default routes of both families away from all attachments, the
//! cluster-wide default network's included.

mod gateway;
mod interface;
mod plan;
mod result;
mod table;
mod work;

use std::net::IpAddr;
use std::sync::Arc;

use weir_cni::{AddResult, Error};
use weir_network::Attachment;
use weir_sandbox::Sandbox;

use self::work::Work;

/// One attachment of a pod, made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The network's name, for errors and for the audit log.
    pub network: String,
    /// The interface's name in the container.
    pub ifname: String,
    /// `default-route`, where the pod's selection has it for this attachment.
    pub wanted: Option<Vec<IpAddr>>,
    pub result: AddResult,
}

/// Leads the default routes through the attachments that name gateways, and takes them from the others:
/// in the container's main routing table and in the results, so that a CHECK with these finds what is
/// there. `attachment` says in which container; its interface does not matter. Returns whether anything
/// was changed, be it in the kernel or in the results.
///
/// Each of the operations passes the gate and is recorded, as weir's own.
///
/// Errors: `codes::SELECTION` where two attachments want the default route of one family,
/// `codes::DEFAULT_ROUTE` for a gateway that the attachment does not reach on its link and for what the
/// kernel refuses, code 5 for what cannot be recorded, code 8 without a namespace. With each of them
/// nothing is changed, or what was is put back.
pub fn settle(
    sandbox: &Arc<Sandbox>,
    attachment: &Attachment,
    made: &mut [Made],
) -> Result<bool, Error> {
    let moves = plan::moves(made)?;
    if moves.is_empty() {
        return Ok(false);
    }
    let mut work = Work::begin(sandbox, attachment, made)?;
    let carried_out = moves.iter().try_for_each(|one| work.check(made, one));
    let carried_out = carried_out.and_then(|()| {
        let mut moves = moves.iter();
        moves.try_for_each(|one| work.carry_out(made, one))
    });
    if let Err(error) = carried_out.and_then(|()| work.recorded()) {
        return Err(work.give_up(error));
    }
    let results_changed = result::amend(made, &moves);
    Ok(work.has_changed() || results_changed)
}
