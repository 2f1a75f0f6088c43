//! The pod's default routes, if its selection says which attachment has them (key `default-route`, section 4.1.2.1.9 of the
//! standard's later versions).
//!
//! IPv4 and IPv6 are independent: a list of IPv4 gateways leaves the IPv6 default routes alone. An empty list removes the
//! default routes of both families from all attachments, the cluster-wide default network included.

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

pub(crate) use self::result::is_main;
use self::table::Table;

/// One attachment of a pod, after its ADD.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    /// The network's name, for errors and for the audit log.
    pub network: String,
    /// The interface's name in the container.
    pub ifname: String,
    /// `default-route` of the pod's selection for this attachment.
    pub wanted: Option<Vec<IpAddr>>,
    pub result: AddResult,
}

/// Moves the default routes to the attachments that name gateways, in the container's main routing table and in the results,
/// so that a CHECK finds what is there. The interface of `attachment` does not matter. Returns whether anything was changed.
///
/// Each operation passes the gate, and is recorded as weir's own.
///
/// Errors: `codes::SELECTION` if two attachments want the default route of one family; `codes::DEFAULT_ROUTE` for a gateway
/// that the attachment does not reach on its link, and for errors of the kernel; code 5 for what cannot be recorded; code 8
/// without a namespace. Nothing is changed then, or it is changed back.
pub fn settle(
    sandbox: &Arc<Sandbox>,
    attachment: &Attachment,
    attached: &mut [Attached],
) -> Result<bool, Error> {
    let moves = plan::moves(attached)?;
    if moves.is_empty() {
        return Ok(false);
    }
    let mut table = Table::begin(sandbox, attachment, attached)?;
    let mut carry_out = || {
        moves
            .iter()
            .try_for_each(|one| table.check(attached, one))?;
        moves
            .iter()
            .try_for_each(|one| table.carry_out(attached, one))?;
        table.recorded()
    };
    if let Err(error) = carry_out() {
        return Err(table.give_up(error));
    }
    let results_changed = result::amend(attached, &moves);
    Ok(table.has_changed() || results_changed)
}
