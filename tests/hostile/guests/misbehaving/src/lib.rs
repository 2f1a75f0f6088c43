//! A plugin that does what its configuration's `act` says, and nothing that a plugin should.

mod changes;
mod excess;

use std::hint::black_box;
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

use serde::Deserialize;
use weir_sdk::address::{self, NewAddress};
use weir_sdk::config::Ipam;
use weir_sdk::conntrack;
use weir_sdk::link::{self, NewLink, NewPeer};
use weir_sdk::store::{self, Access, Location};
use weir_sdk::traffic::{self, Class, Filter, Qdisc, TokenBucket};
use weir_sdk::{
    AddResult, Error, Interface, IpFamily, Namespace, OperationError, Plugin, Request, ipam, log,
};

/// The plugin.
pub struct Misbehaving;

/// What to do, and to whom.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// In ADD.
    pub act: String,
    /// In DEL.
    pub del_act: String,
    /// A link of the container; of the host, where it is about traffic.
    pub target: String,
    pub ipam: Ipam,
}

impl Plugin for Misbehaving {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let mut result = request.previous.clone().unwrap_or_default();
        act(&request.config.act, &request, &mut result)?;
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        act(&request.config.del_act, &request, &mut AddResult::default())
    }

    fn check(_: Request<Config>) -> Result<(), Error> {
        Ok(())
    }
}

fn act(what: &str, request: &Request<Config>, result: &mut AddResult) -> Result<(), Error> {
    match what {
        "" => Ok(()),
        "loop" => spin(),
        "eat" => eat(),
        "flood" => flood(&request.config.target),
        "hand over" => hand_over(),
        "ask and hand over" => {
            ask(&request.config.target);
            hand_over()
        }
        "ask and return" => {
            ask(&request.config.target);
            result.interfaces.push(named("x".repeat(8 << 20)));
            Ok(())
        }
        "trap" => trap(),
        "panic" => panic!("the dam broke at mark {}", black_box(7)),
        "panic at length" => panic!("\u{1b}[2Jthe dam\nbroke {}", "x".repeat(5000)),
        "speak and panic" => {
            eprintln!("the water rises");
            log::info("the water rises", &[]);
            let marks = [1, 2, 3];
            Err(Error::new(150, format!("{}", marks[black_box(7)])))
        }
        "exit" => exit(0),
        "recurse" => {
            black_box(recurse(black_box(1)));
            Ok(())
        }
        "recurse in memory" => {
            black_box(recurse_in_memory(&[black_box(1); 64]));
            Ok(())
        }
        "say the same" => {
            (0..1000).for_each(|_| log::info("again", &[]));
            Ok(())
        }
        "print the same" => {
            print_the_same();
            Ok(())
        }
        "print the same and trap" => {
            print_the_same();
            trap()
        }
        "look at the same" => {
            (0..1000).for_each(|_| drop(link::get(Namespace::Container, "lo")));
            Ok(())
        }
        "sleep" => {
            sleep(Duration::from_secs(3600));
            Ok(())
        }
        "print" => {
            println!("{{\"cniVersion\": \"1.0.0\", \"ips\": []}}");
            eprintln!("written to standard error");
            Ok(())
        }
        "print many lines" => {
            (0..1000).for_each(|at| println!("line {at}"));
            Ok(())
        }
        "print much" => {
            let line = "y".repeat(1000);
            (0..1000).for_each(|_| println!("{line}"));
            Ok(())
        }
        "log much" => {
            let line = "z".repeat(996);
            (0..1000).for_each(|at| log::info(&format!("{at:04}{line}"), &[]));
            Ok(())
        }
        "drive the terminal" => drive_the_terminal(),
        "read" => link::get(Namespace::Container, request.config.target.as_str())
            .map(drop)
            .map_err(Into::into),
        "half and trap" => half(request).and_then(|()| trap()),
        "half and loop" => half(request).and_then(|()| spin()),
        "half and fail" => half(request).and_then(|()| give_up()),
        "change" => changes::change(&request.config.target),
        "change and trap" => changes::change(&request.config.target).and_then(|()| trap()),
        "change and loop" => changes::change(&request.config.target).and_then(|()| spin()),
        "change and fail" => changes::change(&request.config.target).and_then(|()| give_up()),
        "move and trap" => changes::change_and_move(&request.config.target).and_then(|()| trap()),
        "reach for traffic" => reach_for_traffic(&request.config.target),
        "reach for a redirect" => reach_for_redirect(&request.config.target),
        "half of traffic and trap" => half_of_traffic(&request.config.target).and_then(|()| trap()),
        "pairs without end" => excess::make_pairs(None),
        "some pairs and loop" => excess::make_pairs(Some(20)).and_then(|()| spin()),
        "put without end" => excess::put(),
        "rewrite without end" => excess::rewrite(),
        "open without end" => excess::open_stores(),
        "ipam" => ipam::add().map(drop),
        other => Err(Error::invalid_config(format!(
            "act: \"{other}\" is unknown"
        ))),
    }
}

/// In turn on standard output and standard error, which are one.
fn print_the_same() {
    for _ in 0..500 {
        println!("again");
        eprintln!("again");
    }
}

fn give_up() -> Result<(), Error> {
    Err(Error::new(150, "gave up half-way"))
}

fn spin() -> Result<(), Error> {
    let mut turns = 0u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

fn eat() -> Result<(), Error> {
    loop {
        black_box(Box::leak(vec![1u8; 1 << 20].into_boxed_slice()));
    }
}

fn flood(target: &str) -> Result<(), Error> {
    loop {
        ask(target);
    }
}

/// Asks for a link, whatever the answer.
fn ask(target: &str) {
    let _ = black_box(link::get(Namespace::Container, target));
}

fn hand_over() -> Result<(), Error> {
    log::info(&"x".repeat(2 << 20), &[]);
    Ok(())
}

fn trap() -> Result<(), Error> {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    std::process::abort();
}

/// Without an end, and without the stack in memory: the engine's own ends first.
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    if depth == u64::MAX {
        return 0;
    }
    recurse(depth + 1).wrapping_mul(3) ^ depth
}

/// Without an end, and with the stack in memory, where the compiler keeps what is larger than a number.
#[inline(never)]
fn recurse_in_memory(values: &[u64; 64]) -> u64 {
    if values[0] == u64::MAX {
        return 0;
    }
    let more = black_box(values.map(|value| value.wrapping_add(1)));
    recurse_in_memory(&more).wrapping_mul(3) ^ more[1]
}

fn drive_the_terminal() -> Result<(), Error> {
    log::error("\u{1b}[2Jcleared", &[("key\u{7}", "\u{9b}31mred")]);
    let error = Error::new(150, "\u{1b}]0;owned\u{7}title\nforged line");
    Err(error.with_details("\u{9b}31mred\r\u{1b}[1A"))
}

/// Makes a pair of links, gives one an address, and keeps something in its store.
fn half(request: &Request<Config>) -> Result<(), Error> {
    let peer = NewPeer::new(Namespace::Container, &request.ifname);
    link::create(NewLink::veth(Namespace::Host, "half0", peer))?;
    let address = NewAddress::new("10.99.0.2/24".parse().expect("an address"));
    address::add(Namespace::Container, request.ifname.as_str(), address)?;
    let store = store::open(&Location::Private, Access::Write)?;
    store.put("half", b"done")?;
    store.commit()?;
    Ok(())
}

/// What is slow enough to be a nuisance.
const TRICKLE: TokenBucket = TokenBucket {
    rate: 1,
    burst: 1,
    latency: 1,
};

/// Tries each operation of `traffic` and `conntrack` on a link of the host. Fails if one worked.
fn reach_for_traffic(link: &str) -> Result<(), Error> {
    let host = Namespace::Host;
    let class = traffic::handle(1, 1);
    let connections = conntrack::Filter::new(IpFamily::Ipv4, conntrack::UDP);
    let outcomes: [Result<(), OperationError>; 12] = [
        traffic::add_qdisc(host, link, Qdisc::tbf(TRICKLE)),
        traffic::add_qdisc(host, link, Qdisc::htb(1)),
        traffic::add_qdisc(host, link, Qdisc::ingress()),
        traffic::delete_qdisc(host, link, traffic::ROOT),
        traffic::list_qdiscs(host, link).map(drop),
        traffic::add_class(host, link, Class::new(class, 1, 1)),
        traffic::list_classes(host, link).map(drop),
        traffic::add_filter(host, link, Filter::redirect(traffic::INGRESS, link)),
        traffic::add_filter(host, link, Filter::classify(class)),
        traffic::list_filters(host, link, traffic::INGRESS).map(drop),
        conntrack::delete(host, connections.to_port(5353)),
        conntrack::delete(host, connections.to([127, 0, 0, 1].into())),
    ];
    match outcomes.iter().position(Result::is_ok) {
        None => Ok(()),
        Some(index) => Err(Error::new(150, format!("attempt {index} worked"))),
    }
}

/// Sends what comes in through a link to the host's loopback.
fn reach_for_redirect(link: &str) -> Result<(), Error> {
    traffic::add_qdisc(Namespace::Host, link, Qdisc::ingress())?;
    let filter = Filter::redirect(traffic::INGRESS, "lo");
    traffic::add_filter(Namespace::Host, link, filter)?;
    Ok(())
}

/// Puts a class and a filter into a discipline `1:` that somebody else made, and another discipline
/// beside it.
fn half_of_traffic(link: &str) -> Result<(), Error> {
    let class = traffic::handle(1, 0x77);
    traffic::add_class(Namespace::Host, link, Class::new(class, 1_000_000, 20_000))?;
    traffic::add_filter(Namespace::Host, link, Filter::classify(class))?;
    traffic::add_qdisc(Namespace::Host, link, Qdisc::ingress())?;
    let filter = Filter::redirect(traffic::INGRESS, link);
    traffic::add_filter(Namespace::Host, link, filter)?;
    Ok(())
}

fn named(name: String) -> Interface {
    Interface {
        name,
        ..Interface::default()
    }
}

weir_sdk::export!(Misbehaving);
