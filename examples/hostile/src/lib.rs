//! A plugin that tries everything it should not, for `weir demo` and for the tests.
//!
//! ADD makes every attempt in turn, whatever came of the one before, and then claims success. Each
//! attempt is written to be harmful if it worked; none may.

use std::net::IpAddr;

use serde::Deserialize;
use weir_sdk::config::Ipam;
use weir_sdk::firewall::{self, BaseChain, Chain, ChainType, Command, Family, Hook, Policy};
use weir_sdk::link::{self, Changes, NewLink, NewMaster, NewPeer};
use weir_sdk::store::{self, Access, Location};
use weir_sdk::traffic::{self, Qdisc, TokenBucket};
use weir_sdk::{
    AddResult, Error, IpFamily, IpNet, Namespace, OperationError, Plugin, Request, address,
    conntrack, firewalld, ipam, log, neighbour, route, sysctl,
};

/// The plugin.
pub struct Hostile;

/// Its configuration.
#[derive(Debug, Deserialize)]
pub struct Config {
    /// The IPAM plugin that it tries to run.
    #[serde(default)]
    pub ipam: Ipam,
}

/// What is tried, and its name for the log.
type Attempt = (&'static str, fn(&str) -> Result<(), OperationError>);

const ATTEMPTS: [Attempt; 18] = [
    ("take the loopback of the host down", set_host_loopback_down),
    ("delete the bridge of the host", delete_bridge),
    ("make a link in the host", create_host_link),
    ("bridge the container with the host", enslave_container_link),
    ("move the container's link to the host", move_to_host),
    ("take the container's address", take_address),
    ("route the host's traffic away", route_host_traffic),
    ("answer for the gateway", claim_gateway),
    ("switch the reverse path filter off", switch_filter_off),
    ("climb out of the sysctl tree", climb_out_of_sysctl),
    ("drop the host's packets", drop_host_packets),
    ("let strangers in", let_strangers_in),
    ("slow the host down", slow_host_down),
    ("listen to the host", redirect_host_packets),
    ("break the host's connections", break_connections),
    ("read the leases of the network", read_leases),
    ("write below /etc", write_below_etc),
    ("see every link of the host", list_host_links),
];

impl Plugin for Hostile {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        for (what, attempt) in ATTEMPTS {
            report(what, attempt(&request.ifname).map_err(|e| e.message));
        }
        report(
            "run an IPAM plugin",
            ipam::add().map(drop).map_err(|e| e.msg),
        );
        Ok(request.previous.unwrap_or_default())
    }

    fn check(_request: Request<Config>) -> Result<(), Error> {
        Ok(())
    }
}

fn report(what: &str, outcome: Result<(), String>) {
    match outcome {
        Ok(()) => log::error("it worked", &[("attempt", what)]),
        Err(why) => log::info("it failed", &[("attempt", what), ("why", &why)]),
    }
}

fn set_host_loopback_down(_: &str) -> Result<(), OperationError> {
    link::set_down(Namespace::Host, "lo")
}

fn delete_bridge(_: &str) -> Result<(), OperationError> {
    link::delete(Namespace::Host, "weir0")
}

fn create_host_link(_: &str) -> Result<(), OperationError> {
    let peer = NewPeer::new(Namespace::Host, "backdoor1");
    link::create(NewLink::veth(Namespace::Host, "backdoor0", peer)).map(drop)
}

fn enslave_container_link(ifname: &str) -> Result<(), OperationError> {
    let changes = Changes {
        master: Some(NewMaster::Link("lo".into())),
        ..Changes::default()
    };
    link::update(Namespace::Container, ifname, changes)
}

fn move_to_host(ifname: &str) -> Result<(), OperationError> {
    link::move_to(Namespace::Container, ifname, Namespace::Host, None).map(drop)
}

fn take_address(ifname: &str) -> Result<(), OperationError> {
    let own = address::list(Namespace::Container, ifname, None)?;
    own.iter()
        .try_for_each(|a| address::delete(Namespace::Container, ifname, a.address.into()))
}

fn route_host_traffic(_: &str) -> Result<(), OperationError> {
    let everything: IpNet = "0.0.0.0/0".parse().expect("a network");
    let away = route::Route::new(everything).over("lo");
    route::add(Namespace::Host, &away)
}

fn claim_gateway(ifname: &str) -> Result<(), OperationError> {
    let gateway: IpAddr = "10.77.0.1".parse().expect("an address");
    neighbour::announce(Namespace::Container, ifname, [gateway])
}

fn switch_filter_off(_: &str) -> Result<(), OperationError> {
    sysctl::write(Namespace::Host, "net.ipv4.conf.all.rp_filter", "0")
}

fn climb_out_of_sysctl(_: &str) -> Result<(), OperationError> {
    sysctl::write(Namespace::Host, "net.../../kernel.core_pattern", "|/tmp/x")
}

fn drop_host_packets(_: &str) -> Result<(), OperationError> {
    let chain = Chain {
        name: "input".to_owned(),
        base: Some(BaseChain {
            chain_type: ChainType::Filter,
            hook: Hook::Input,
            priority: -300,
            policy: Policy::Drop,
            device: None,
        }),
    };
    firewall::apply(Namespace::Host, Family::Inet, &[Command::AddChain(chain)])
}

fn let_strangers_in(_: &str) -> Result<(), OperationError> {
    firewalld::add_source("trusted", IpAddr::from([198, 51, 100, 1]))
}

fn slow_host_down(_: &str) -> Result<(), OperationError> {
    let trickle = TokenBucket {
        rate: 1,
        burst: 1,
        latency: 1,
    };
    traffic::add_qdisc(Namespace::Host, "lo", Qdisc::tbf(trickle))
}

fn redirect_host_packets(_: &str) -> Result<(), OperationError> {
    traffic::add_qdisc(Namespace::Host, "lo", Qdisc::ingress())?;
    let away = traffic::Filter::redirect(traffic::INGRESS, "weir0");
    traffic::add_filter(Namespace::Host, "lo", away)
}

fn break_connections(_: &str) -> Result<(), OperationError> {
    let local: IpAddr = "127.0.0.1".parse().expect("an address");
    let all = conntrack::Filter::new(IpFamily::Ipv4, conntrack::TCP).to(local);
    conntrack::delete(Namespace::Host, all)
}

fn read_leases(_: &str) -> Result<(), OperationError> {
    let leases = Location::Directory("/var/lib/cni/networks".to_owned());
    store::open(&leases, Access::Read)?.keys().map(drop)
}

fn write_below_etc(_: &str) -> Result<(), OperationError> {
    let place = Location::Directory("/etc/../etc/cron.d".to_owned());
    store::open(&place, Access::Write)?.put("job", b"* * * * * root id")
}

fn list_host_links(_: &str) -> Result<(), OperationError> {
    let links = link::list(Namespace::Host, None, None)?;
    match links.first() {
        Some(link) => link::delete(Namespace::Host, link),
        None => link::get(Namespace::Host, "eth0").map(drop),
    }
}

weir_sdk::export!(Hostile);
