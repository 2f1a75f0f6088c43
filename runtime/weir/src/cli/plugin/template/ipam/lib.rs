//! The IPAM plugin `{{name}}`: assigns a container the first free address of each range set.
//!
//! A main plugin, such as `ptp`, runs it. The leases are in a store of the plugin's own, one for each network.
//!
//! | key of `ipam` | what |
//! |---|---|
//! | `ranges` | range sets, as those of `host-local`: the container gets one address of each |
//! | `routes` | passed on in the result |

use weir_sdk::config::IpamConfig;
use weir_sdk::ipam::{Pool, RangeKeys, RangeSets};
use weir_sdk::store::{Access, Location};
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, Route, StatusRequest, World, check};

pub struct {{type}};

/// The plugin's keys of the network configuration, in `ipam`.
#[weir_sdk::config(default)]
#[derive(Default)]
pub struct Keys {
    pub ranges: Vec<Vec<RangeKeys>>,
    pub routes: Vec<Route>,
}

type Config = IpamConfig<Keys>;

impl Plugin for {{type}} {
    type Config = Config;
    const WORLD: World = World::IpamPlugin;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let sets = RangeSets::of("ipam.ranges", &request.config.ipam.ranges)?;
        let pool = Pool::open(&Location::Private, Access::Write)?;
        let holder = pool.holder(&request)?;
        let mut result = AddResult::default();
        for set in sets.iter() {
            // Which addresses to try, in which order.
            let candidates = set.after(None);
            let lease = pool.claim(&holder, set, candidates)?;
            result.ips.push(lease.into());
        }
        pool.commit()?;
        result.routes = request.config.ipam.routes;
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

weir_sdk::export!({{type}});

#[cfg(test)]
mod tests {
    use weir_sdk::Attachment;
    use weir_sdk::testing::{FakeHost, Invocation};

    use super::*;

    /// An invocation for a container, on a network with three IPv4 addresses and two of IPv6.
    fn of(container_id: &str) -> Invocation {
        let config = r#"{"type": "ptp", "ipam": {"type": "{{name}}",
            "ranges": [[{"subnet": "10.91.0.0/29", "rangeEnd": "10.91.0.4"}], [{"subnet": "fd91::/126"}]]}}"#;
        Invocation::new(config).with_container_id(container_id)
    }

    fn addresses(result: &AddResult) -> Vec<String> {
        let ips = result.ips.iter();
        ips.map(|ip| ip.address.to_string()).collect()
    }

    #[test]
    fn each_container_gets_the_first_free_address_of_each_family() {
        let host = FakeHost::new();
        let first = host.add::<{{type}}>(&of("a")).unwrap();
        assert_eq!(addresses(&first), ["10.91.0.2/29", "fd91::2/126"]);
        let second = host.add::<{{type}}>(&of("b")).unwrap();
        assert_eq!(addresses(&second), ["10.91.0.3/29", "fd91::3/126"]);
        let attached = of("b").with_previous(second);
        host.check::<{{type}}>(&attached).unwrap();

        // Of IPv6 none is left, and IPv4 alone is not assigned.
        host.status::<{{type}}>(&of("c")).unwrap_err();
        host.add::<{{type}}>(&of("c")).unwrap_err();
        for _ in 0..2 {
            host.del::<{{type}}>(&of("a")).unwrap();
        }
        let third = host.add::<{{type}}>(&of("c")).unwrap();
        assert_eq!(addresses(&third), addresses(&first));
    }

    #[test]
    fn gc_releases_what_belongs_to_no_valid_attachment() {
        let host = FakeHost::new();
        let kept = host.add::<{{type}}>(&of("a")).unwrap();
        let gone = host.add::<{{type}}>(&of("b")).unwrap();
        let valid = Attachment {
            container_id: "a".to_owned(),
            ifname: "eth0".to_owned(),
        };
        host.gc::<{{type}}>(&of("a"), &[valid]).unwrap();
        let (kept, gone) = (of("a").with_previous(kept), of("b").with_previous(gone));
        host.check::<{{type}}>(&kept).unwrap();
        host.check::<{{type}}>(&gone).unwrap_err();
    }
}
