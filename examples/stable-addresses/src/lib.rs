//! The IPAM plugin `stable-addresses`: assigns a pod the same addresses each time it is created, where they are free.
//!
//! The pod's namespace and name in `CNI_ARGS`, or without them the container id, and the interface's name say where in
//! each range set the search for a free address begins. Another pod may have that address; then the next free one is
//! assigned.
//!
//! | key of `ipam` | what |
//! |---|---|
//! | `ranges` | range sets, as those of `host-local`: the container gets one address of each |
//! | `routes` | passed on in the result |

use std::net::IpAddr;

use weir_sdk::config::{IpamConfig, ip::RouteKeys};
use weir_sdk::ipam::{Pool, RangeKeys, RangeSet, RangeSets};
use weir_sdk::serde::Deserialize;
use weir_sdk::store::{Access, Location};
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, Route, StatusRequest, World};
use weir_sdk::{check, digest};

/// The plugin.
pub struct StableAddresses;

/// The keys of `ipam`.
#[derive(Default, Deserialize)]
#[serde(crate = "weir_sdk::serde", default)]
pub struct Ipam {
    ranges: Vec<Vec<RangeKeys>>,
    routes: Vec<RouteKeys>,
}

type Config = IpamConfig<Ipam>;

impl Plugin for StableAddresses {
    type Config = Config;
    const NAME: &'static str = "stable-addresses";
    const WORLD: World = World::IpamPlugin;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let sets = RangeSets::of("ipam.ranges", &request.config.ipam.ranges)?;
        let pool = Pool::open(&Location::Private, Access::Write)?;
        let holder = pool.holder(&request)?;
        let mut result = AddResult::default();
        for set in sets.iter() {
            let lease = pool.claim(&holder, set, candidates(set, &request))?;
            result.ips.push(lease.into());
        }
        pool.commit()?;
        result.routes = request.config.ipam.routes.iter().map(Route::from).collect();
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        Pool::open(&Location::Private, Access::Write)?.release(&request)
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let pool = Pool::open(&Location::Private, Access::Read)?;
        let previous = check::previous(&request)?;
        pool.holder(&request)?.check(previous.addresses())
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        let sets = RangeSets::of("ipam.ranges", &request.config.ipam.ranges)?;
        Pool::open(&Location::Private, Access::Read)?.check_free(&sets)
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        Pool::open(&Location::Private, Access::Write)?.retain(&request)
    }
}

/// All addresses of a set, beginning after the one that the digest of the container's name says.
fn candidates(set: &RangeSet, request: &Request<Config>) -> impl Iterator<Item = IpAddr> {
    let pod = request.args.pod().full_name();
    let name = pod.as_ref().unwrap_or(&request.container_id);
    let digest = digest::digest(&format!("{name} {}", request.ifname));
    let number = u128::from_str_radix(&digest, 16).expect("32 hexadecimal digits");
    set.after(set.nth(number % set.size()))
}

weir_sdk::export!(StableAddresses);
