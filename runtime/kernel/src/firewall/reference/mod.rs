//! Rules that the reference plugins made for an attachment: those of iptables, in nftables or in the kernel's older tables,
//! and those in the plugins' own nftables tables.
//!
//! No program is run: the node need not have the one that made them.

mod blob;
mod expression;
mod legacy;
mod nft;
pub(crate) mod traces;

use weir_gate::Permit;
use weir_grant::firewall::RemoveReference;

use self::traces::Traces;
use crate::error::Result;
use crate::linux::Linux;
use crate::namespace::NetworkNamespace;
use crate::perform::Answer;

/// Removes the rules and chains, and returns their number.
///
/// Errors: `Unsupported` for a plugin that leaves none; `Busy` if rules of others lead to a chain, or the tables keep changing.
impl Answer<RemoveReference, u32> for Linux {
    fn answer(&mut self, permit: &Permit<RemoveReference>) -> Result<u32> {
        let traces = Traces::of(permit.operation())?;
        let in_nftables = self
            .namespaces
            .host()
            .netfilter(|socket| nft::remove(socket, &traces))?;
        Ok(in_nftables + legacy::remove(&traces)?)
    }
}

/// Returns how many rules and chains there are.
///
/// Errors: as [`RemoveReference`].
pub fn count_reference(host: &mut NetworkNamespace, sought: &RemoveReference) -> Result<u32> {
    let traces = Traces::of(sought)?;
    let in_nftables = host.netfilter(|socket| nft::count(socket, &traces))?;
    Ok(in_nftables + legacy::count(&traces)?)
}
