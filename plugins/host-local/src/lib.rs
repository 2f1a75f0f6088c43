//! The plugin `host-local`: hands out addresses of configured ranges on this host.
//!
//! From each range set the container gets one address: the next free one after that which was
//! handed out last, or one that was requested. Leases are the files of the reference plugin, see
//! [`lease`]; a host can change from one to the other with containers running.
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
pub mod lease;
pub mod range;
mod requested;
pub mod resolv_conf;
pub mod rotation;

use std::collections::BTreeSet;
use std::net::IpAddr;

use weir_sdk::store::{self, Access, Location};
use weir_sdk::{
    AddResult, Code, Context, Dns, Error, GcRequest, IpConfig, Plugin, Request, StatusRequest,
    World,
};

use config::Config;
use lease::{Leases, Owner};
use range::RangeSet;
use requested::Requested;
use rotation::Rotation;

/// The plugin.
pub struct HostLocal;

impl Plugin for HostLocal {
    type Config = Config;
    const WORLD: World = World::IpamPlugin;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let ipam = &request.config.ipam;
        let sets = request.config.range_sets()?;
        let mut requested = Requested::of(&request.args, &request.config)?;
        let dns = dns(&ipam.resolv_conf)?;

        let leases = open(&request.config, Access::Write)?;
        let owner = Owner::new(&request.container_id, &request.ifname);
        let held = leases.held_by(&owner)?;
        let mut ips = Vec::with_capacity(sets.len());
        for (index, set) in sets.iter().enumerate() {
            check_duplicate(set, &held, &owner)?;
            let address = match requested.take_in(set) {
                Some(address) => reserve(&leases, &owner, set, index, address),
                None => allocate(&leases, &owner, set, index),
            };
            let address = address.context(format!("failed to allocate for range set {index}"))?;
            ips.push(ip_config(set, address));
        }
        requested.check_all_met()?;
        leases.commit()?;

        Ok(AddResult {
            ips,
            routes: ipam.routes.clone(),
            dns,
            ..AddResult::default()
        })
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        let leases = open(&request.config, Access::Write)?;
        let given = request.previous.iter().flat_map(AddResult::addresses);
        let owner = Owner::new(&request.container_id, &request.ifname);
        leases.release(&owner, given)?;
        leases.commit()
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        request.config.range_sets()?;
        let leases = open(&request.config, Access::Read)?;
        let owner = Owner::new(&request.container_id, &request.ifname);
        if leases.held_by(&owner)?.is_empty() {
            let msg = format!("no address is allocated to {owner}");
            return Err(Error::new(codes::NO_LEASE, msg));
        }
        Ok(())
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        let sets = request.config.range_sets()?;
        // A runtime may treat a node whose STATUS fails as unable to run anything, although all its pods are well.
        if !request.config.ipam.fail_status_when_exhausted {
            return Ok(());
        }
        let taken = open(&request.config, Access::Read)?.addresses()?;
        match sets.iter().find(|set| !set.has_free(&taken)) {
            None => Ok(()),
            Some(set) => Err(Error::new(Code::PLUGIN_NOT_AVAILABLE, exhausted(set))),
        }
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        let leases = open(&request.config, Access::Write)?;
        leases.retain(&request.valid_attachments)?;
        leases.commit()
    }
}

fn open(config: &Config, access: Access) -> Result<Leases, Error> {
    let directory = config.ipam.data_dir();
    let store = store::open(&Location::Directory(directory.to_owned()), access);
    let store = store.context(format!("ipam.dataDir: `{directory}`"))?;
    Ok(Leases::new(store))
}

/// The settings in a resolver configuration file of the host; none without a path.
fn dns(path: &str) -> Result<Dns, Error> {
    if path.is_empty() {
        return Ok(Dns::default());
    }
    let file = store::read_file(path).context(format!("ipam.resolvConf: `{path}`"))?;
    Ok(resolv_conf::parse(&String::from_utf8_lossy(&file)))
}

/// One interface gets at most one address of each range set.
fn check_duplicate(set: &RangeSet, held: &[IpAddr], owner: &Owner) -> Result<(), Error> {
    match held
        .iter()
        .find(|address| set.range_of(**address).is_some())
    {
        None => Ok(()),
        Some(address) => {
            let msg = format!("{address} is allocated to {owner} already");
            let details = "an interface gets one address of each range set; DEL releases it";
            Err(Error::new(codes::DUPLICATE, msg).with_details(details))
        }
    }
}

/// Reserves a requested address.
fn reserve(
    leases: &Leases,
    owner: &Owner,
    set: &RangeSet,
    index: usize,
    address: IpAddr,
) -> Result<IpAddr, Error> {
    if set.is_gateway(address) {
        let msg = format!("requested address {address} is the subnet's gateway");
        return Err(Error::new(codes::REQUEST_UNMET, msg));
    }
    leases.claim([address], owner, index)?.ok_or_else(|| {
        let msg = format!("requested address {address} is not available in range set {set}");
        Error::new(codes::REQUEST_UNMET, msg)
    })
}

/// Reserves the next free address after that which was reserved last.
fn allocate(leases: &Leases, owner: &Owner, set: &RangeSet, index: usize) -> Result<IpAddr, Error> {
    let mut candidates = Rotation::after(set, leases.last_reserved(index)?);
    for length in rotation::chunk_lengths() {
        let chunk: Vec<IpAddr> = candidates.by_ref().take(length).collect();
        if chunk.is_empty() {
            break;
        }
        if let Some(address) = leases.claim(chunk, owner, index)? {
            return Ok(address);
        }
    }
    Err(Error::new(codes::NO_ADDRESS, exhausted(set)))
}

fn exhausted(set: &RangeSet) -> String {
    format!("no IP addresses available in range set: {set}")
}

fn ip_config(set: &RangeSet, address: IpAddr) -> IpConfig {
    let range = set.range_of(address);
    let range = range.expect("addresses are taken from the set's ranges");
    IpConfig {
        interface: None,
        address: range.with_prefix(address),
        gateway: Some(range.gateway),
    }
}

/// Addresses that are in use.
pub type Taken = BTreeSet<IpAddr>;

weir_sdk::export!(HostLocal);
