//! The plugin `host-local`: hands out addresses of configured ranges on this host.
//!
//! From each range set the container gets one address: the next free one after that which was
//! handed out last, or one that was requested. Leases are the files of the reference plugin, see
//! [`Pool`]; a host can change from one to the other with containers running.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`], and these
//! are this plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 [`codes::NO_ADDRESS`] | a range set has no free address |
//! | 111 [`codes::REQUEST_UNMET`] | a requested address is taken, a gateway, or in no range |
//! | 112 [`codes::DUPLICATE`] | the container's interface has an address of the range set already |
//! | 113 [`codes::NO_LEASE`] | CHECK: the container's interface has no address |
//!
//! STATUS answers code 50 when a range set has no free address, where `failStatusWhenExhausted` asks for it.

pub mod codes;
pub mod config;
mod requested;
pub mod resolv_conf;
mod rotation;

use std::net::IpAddr;

use weir_sdk::ipam::{Holder, Lease, Pool, RangeSet};
use weir_sdk::store::{self, Access, Location};
use weir_sdk::{AddResult, Context, Dns, Error, GcRequest, Plugin, Request, StatusRequest, World};

use config::Config;
use requested::Requested;

/// The plugin.
pub struct HostLocal;

impl Plugin for HostLocal {
    type Config = Config;
    const NAME: &'static str = "host-local";
    const WORLD: World = World::IpamPlugin;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let ipam = &request.config.ipam;
        let sets = config::range_sets(&request.config)?;
        let mut requested = Requested::of(&request.args, &request.config)?;
        let dns = dns(&ipam.resolv_conf)?;

        let pool = open(&request.config, Access::Write)?;
        let holder = pool.holder(&request)?;
        let mut ips = Vec::with_capacity(sets.len());
        for (index, set) in sets.iter().enumerate() {
            let lease = match requested.take_in(set) {
                Some(address) => reserve(&pool, &holder, set, address),
                None => allocate(&pool, &holder, set, index),
            };
            let lease = lease.context(format!("failed to allocate for range set {index}"))?;
            rotation::note(&pool, index, lease.address)?;
            ips.push(lease.into());
        }
        requested.check_all_met()?;
        pool.commit()?;

        Ok(AddResult {
            ips,
            routes: ipam.routes(),
            dns,
            ..AddResult::default()
        })
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        open(&request.config, Access::Write)?.release(&request)
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        config::range_sets(&request.config)?;
        let pool = open(&request.config, Access::Read)?;
        // As with the reference plugin, whichever address it is.
        pool.holder(&request)?.check(None)
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        let sets = config::range_sets(&request.config)?;
        // A runtime may treat a node whose STATUS fails as unable to run anything, although all its pods are well.
        if !request.config.ipam.fail_status_when_exhausted {
            return Ok(());
        }
        open(&request.config, Access::Read)?.check_free(&sets)
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        open(&request.config, Access::Write)?.retain(&request)
    }
}

fn open(config: &Config, access: Access) -> Result<Pool, Error> {
    let directory = config.ipam.data_dir();
    let pool = Pool::open(&Location::Directory(directory.to_owned()), access);
    pool.context(format!("ipam.dataDir: `{directory}`"))
}

/// The settings in a resolver configuration file of the host; none without a path.
fn dns(path: &str) -> Result<Dns, Error> {
    if path.is_empty() {
        return Ok(Dns::default());
    }
    let file = store::read_file(path).context(format!("ipam.resolvConf: `{path}`"))?;
    Ok(resolv_conf::parse(&String::from_utf8_lossy(&file)))
}

/// Reserves a requested address.
fn reserve<'s>(
    pool: &Pool,
    holder: &Holder,
    set: &'s RangeSet,
    address: IpAddr,
) -> Result<Lease<'s>, Error> {
    if set.is_gateway(address) {
        let msg = format!("requested address {address} is the subnet's gateway");
        return Err(Error::new(codes::REQUEST_UNMET, msg));
    }
    let lease = pool.claim_if_free(holder, set, [address].into_iter())?;
    lease.ok_or_else(|| {
        let msg = format!("requested address {address} is not available in range set {set}");
        Error::new(codes::REQUEST_UNMET, msg)
    })
}

/// Reserves the next free address after that which was reserved last.
fn allocate<'s>(
    pool: &Pool,
    holder: &Holder,
    set: &'s RangeSet,
    index: usize,
) -> Result<Lease<'s>, Error> {
    pool.claim(holder, set, rotation::candidates(pool, index, set)?)
}

weir_sdk::export!(HostLocal);
