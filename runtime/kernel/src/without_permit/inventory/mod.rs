//! All that is in a network namespace at one moment, in words: what `weir plugin test` compares before and after.

mod nftables;
mod parameters;
mod route;
mod traffic;

use std::collections::BTreeMap;

use crate::error::Result;

/// What is in a network namespace.
pub struct Inventory {
    /// One line for each link, address, route, rule, neighbour, discipline, class, filter, table, chain and set.
    pub things: Vec<String>,
    /// The values of kernel parameters by their keys.
    pub parameters: BTreeMap<String, String>,
}

impl Inventory {
    /// Of the calling thread's namespace. Errors: what the kernel says of a list that it was asked for.
    pub fn take() -> Result<Self> {
        let mut things = route::things()?;
        things.extend(traffic::things()?);
        things.extend(nftables::things()?);
        Ok(Self {
            things,
            parameters: parameters::all(),
        })
    }
}
