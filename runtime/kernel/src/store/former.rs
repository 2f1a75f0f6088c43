//! Moves an attachment's leases from a store that tenants' networks shared with the node's, in former versions, to the
//! network's own store when that is opened.

use std::time::Instant;

use weir_grant::store::Location;

use super::directory::Missing;
use super::{Former, OpenStore, StorePlace};
use crate::Result;

/// Moves the leases that name the attachment, and nothing else: the former store may be another network's.
///
/// What is moved is in both stores for a moment, and a kill then leaves it so: the next call continues.
pub(super) fn adopt(
    place: &StorePlace<'_>,
    former: &Former,
    location: &Location,
    deadline: Instant,
) -> Result<()> {
    let before = StorePlace {
        network: &former.network,
        ..*place
    };
    let Some(mut old) = OpenStore::open(&before, location, Missing::Leave, deadline)? else {
        return Ok(());
    };
    // The format of host-local's leases: the reference plugin's.
    let lease = format!("{}\r\n{}", former.container_id, former.ifname).into_bytes();
    let held = old.index.find(&old.directory, &lease)?;
    if held.is_empty() {
        return Ok(());
    }
    let Some(mut new) = OpenStore::open(place, location, Missing::Create, deadline)? else {
        return Ok(());
    };
    for key in &held {
        let there = new.directory.read(key)?;
        if there.is_none() {
            new.set(key, None, Some(lease.clone()))?;
        }
    }
    new.commit()?;
    for key in &held {
        let value = old.directory.read(key)?;
        old.set(key, value, None)?;
    }
    old.commit().map(drop)
}
