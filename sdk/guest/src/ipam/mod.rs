//! IPAM, from both sides.
//!
//! A main plugin runs the IPAM plugin that its configuration names in [`config::Ipam`](crate::config::Ipam), with the
//! capability `ipam`.
//!
//! An IPAM plugin reads [`RangeSets`] from its configuration, and keeps in a [`Pool`] which addresses are in use. Its own
//! is the order in which it tries the addresses of a set:
//!
//! ```no_run
//! # use weir_sdk::config::NoKeys;
//! use weir_sdk::ipam::{Pool, RangeSets};
//! use weir_sdk::store::{Access, Location};
//! # use weir_sdk::{AddResult, Error, Request};
//!
//! # fn add(request: Request<NoKeys>, sets: RangeSets) -> Result<AddResult, Error> {
//! let pool = Pool::open(&Location::Private, Access::Write)?;
//! let holder = pool.holder(&request)?;
//! let mut result = AddResult::default();
//! for set in sets.iter() {
//!     let lease = pool.claim(&holder, set, set.after(None))?;
//!     result.ips.push(lease.into());
//! }
//! pool.commit()?;
//! # Ok(result)
//! # }
//! ```

pub mod codes;
mod keys;
mod pool;
mod range;
mod rotation;

use weir_cni::{AddResult, Error};

pub use keys::{RangeKeys, RangeSets};
pub use pool::{Holder, Lease, Pool};
pub use range::{Range, RangeSet};

use crate::bindings::weir::cni::ipam as raw;
use crate::config::Ipam;

/// The IPAM plugin that asks a DHCP server.
const DHCP: &str = "dhcp";

/// ADD: the addresses, routes and DNS settings to configure. When this invocation fails later, the
/// host runs DEL of the same IPAM plugin.
pub fn add() -> Result<AddResult, Error> {
    Ok(raw::add()?.into())
}

/// All but [`assign`](Ipam::assign) do nothing where no IPAM plugin is named.
impl Ipam {
    /// ADD for a main plugin: the addresses become those of the interface with this index in its result.
    ///
    /// Errors: [`NO_ADDRESS`](crate::codes::NO_ADDRESS) where the IPAM plugin returns none.
    pub fn assign(&self, interface: u32) -> Result<AddResult, Error> {
        let mut assigned = add()?;
        if assigned.ips.is_empty() {
            let msg = format!("IPAM plugin `{}` returned no IP address", self.plugin);
            return Err(Error::new(crate::codes::NO_ADDRESS, msg));
        }
        for ip in &mut assigned.ips {
            ip.interface = Some(interface);
        }
        Ok(assigned)
    }

    /// DEL.
    pub fn del(&self) -> Result<(), Error> {
        self.run(raw::del)
    }

    /// DEL, after `remove`, which removes the interface: the address must not be free while something still uses it.
    /// `dhcp` is the exception: it gives an address back over the interface. The interface goes even if that fails.
    ///
    /// Errors: the first.
    pub fn del_with(&self, remove: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        if self.plugin == DHCP {
            let released = self.del();
            let removed = remove();
            return released.and(removed);
        }
        remove()?;
        self.del()
    }

    /// CHECK.
    pub fn check(&self) -> Result<(), Error> {
        self.run(raw::check)
    }

    /// STATUS.
    pub fn status(&self) -> Result<(), Error> {
        self.run(raw::status)
    }

    /// GC, with the valid attachments that this plugin was given.
    pub fn gc(&self) -> Result<(), Error> {
        self.run(raw::gc)
    }

    fn run(&self, command: fn() -> Result<(), raw::Failure>) -> Result<(), Error> {
        if self.is_configured() {
            command()?;
        }
        Ok(())
    }
}
