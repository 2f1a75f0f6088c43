//! All that is in a network namespace at one moment, in words: what `weir plugin test` compares before and after.

mod nftables;
mod parameters;
mod route;
mod traffic;

use std::collections::BTreeMap;

use weir_grant::link::Link;

use crate::error::Result;
use crate::netlink::RouteSocket;

/// What is in a network namespace.
pub struct Inventory {
    /// One line for each link, address, route, rule, neighbour, discipline, class, filter, table, chain and set.
    pub things: Vec<String>,
    /// The values of kernel parameters by their keys.
    pub parameters: BTreeMap<String, String>,
    /// The links once more, by their indexes.
    pub links: Vec<Link>,
}

impl Inventory {
    /// Takes the inventory of the calling thread's namespace. Errors: the kernel's, for a list that cannot be read.
    pub fn take() -> Result<Self> {
        let mut links = route::links(&mut RouteSocket::open()?)?;
        links.sort_by_key(|link| link.index);
        let mut things = route::things(&links)?;
        things.extend(traffic::things(&links)?);
        things.extend(nftables::things()?);
        Ok(Self {
            things,
            parameters: parameters::all(),
            links,
        })
    }
}
