//! What the fake host answers, beyond what the tests of the kernel's model compare.

use super::{FakeHost, Invocation};
use crate::address::{self, NewAddress};
use crate::bindings::fake::contract;
use crate::bindings::weir::cni::types::IpNetwork;
use crate::config::NoKeys;
use crate::link::{self, Changes, NewKind, NewLink};
use crate::route::{self, Route};
use crate::store::{self, Access, Location};
use crate::{
    AddResult, Code, Error, ErrorCode, IpNet, Namespace, Package, Plugin, Request, log, packet,
    sysctl,
};

fn code<T>(answer: crate::Result<T>) -> Option<ErrorCode> {
    answer.err().map(|error| error.code)
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn connected() -> FakeHost {
    let host = FakeHost::new();
    host.create_pair("veth0", "eth0").unwrap();
    host
}

#[test]
fn without_a_host_a_call_fails_and_says_what_is_missing() {
    let error = link::get(Namespace::Host, "lo").unwrap_err();
    assert_eq!(error.code, ErrorCode::Unsupported);
    assert!(error.message.starts_with("link.get: "), "{error}");
    assert!(error.message.contains("FakeHost"), "{error}");
    log::info("goes to standard error", &[("key", "value")]);
}

#[test]
fn what_the_host_does_not_have_names_the_function() {
    let _host = FakeHost::new();
    for (function, answer) in [
        (
            "packet.open-udp",
            packet::open_udp("lo", 68, true).map(drop),
        ),
        ("packet.open-raw", packet::open_raw("lo", 0x800).map(drop)),
    ] {
        let error = answer.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unsupported, "{error}");
        assert!(error.message.starts_with(function), "{error}");
    }
}

#[test]
fn each_function_can_be_made_to_fail() {
    let host = FakeHost::new();
    let all = contract::functions();
    assert!(all.contains(&"link.delete-all".to_owned()) && all.contains(&"store.claim".to_owned()));
    // What `arrange` has asked for is forgotten with it.
    host.arrange(|| {
        all.iter()
            .for_each(|function| host.fail_next(function, ErrorCode::Busy))
    });
    host.fail_next("link.get", ErrorCode::Denied);
    assert_eq!(
        code(link::get(Namespace::Host, "lo")),
        Some(ErrorCode::Denied)
    );
    assert_eq!(code(link::get(Namespace::Host, "lo")), None);
}

#[test]
#[should_panic(expected = "not a function of the contract")]
fn a_failure_of_no_function_is_refused() {
    FakeHost::new().fail_next("link.rename", ErrorCode::Busy);
}

#[test]
#[should_panic(expected = "were not called")]
fn a_failure_that_is_not_met_fails_the_test() {
    FakeHost::new().fail_next("link.get", ErrorCode::Busy);
}

#[test]
#[should_panic(expected = "has a fake host already")]
fn a_thread_has_one_host() {
    let _host = FakeHost::new();
    FakeHost::new();
}

/// Changes a bit of everything, and fails.
struct Half;

impl Plugin for Half {
    type Config = NoKeys;

    fn add(_: Request<NoKeys>) -> Result<AddResult, Error> {
        let bridge = NewLink::new(Namespace::Host, "br0", NewKind::Bridge(Default::default()));
        link::create(bridge)?;
        let changes = Changes {
            mtu: Some(1300),
            master: Some(link::NewMaster::Link("br0".into())),
            ..Changes::default()
        };
        link::update(Namespace::Host, "veth0", changes)?;
        link::set_down(Namespace::Container, "eth0")?;
        sysctl::write(Namespace::Host, "net.ipv4.ip_forward", "1")?;
        address::delete(Namespace::Container, "eth0", net("10.1.0.3/24"))?;
        address::add(
            Namespace::Container,
            "eth0",
            NewAddress::new(net("10.2.0.2/24")),
        )?;
        let store = store::open(&Location::Private, Access::Write)?;
        store.put("key", b"value")?;
        store.commit()?;
        Err(Error::internal("halfway"))
    }

    fn del(_: Request<NoKeys>) -> Result<(), Error> {
        Ok(())
    }

    fn check(_: Request<NoKeys>) -> Result<(), Error> {
        Ok(())
    }
}

impl Package for Half {
    const NAME: &'static str = "half";
    const VERSION: &'static str = "0.1.0";
    const DESCRIPTION: &'static str = "fails halfway";
}

#[test]
fn a_failed_add_is_undone_as_weir_does() {
    let host = connected();
    for address in ["10.1.0.2/24", "10.1.0.3/24"] {
        address::add(Namespace::Container, "eth0", NewAddress::new(net(address))).unwrap();
    }
    host.add::<Half>(&Invocation::new("{}")).unwrap_err();

    let host_end = link::get(Namespace::Host, "veth0").unwrap();
    assert_eq!(
        code(link::get(Namespace::Host, "br0")),
        Some(ErrorCode::NotFound)
    );
    assert_eq!(
        (host_end.mtu, host_end.master),
        (1300, None),
        "what ADD changed on the host stays"
    );
    assert!(link::get(Namespace::Container, "eth0").unwrap().up);
    assert_eq!(
        sysctl::read(Namespace::Host, "net.ipv4.ip_forward").unwrap(),
        "0"
    );
    let addresses = address::list(Namespace::Container, "eth0", None).unwrap();
    let addresses: Vec<IpNet> = addresses.iter().map(|a| a.address.into()).collect();
    assert_eq!(
        addresses,
        [net("10.1.0.2/24")],
        "what ADD removed stays gone"
    );
    let store = store::open(&Location::Private, Access::Read).unwrap();
    assert!(store.keys().unwrap().is_empty());
}

#[test]
fn a_container_that_is_gone_takes_its_links_with_it() {
    let host = connected();
    host.remove_container();
    assert_eq!(
        code(link::get(Namespace::Host, "veth0")),
        Some(ErrorCode::NotFound)
    );
    assert_eq!(
        code(link::get(Namespace::Container, "eth0")),
        Some(ErrorCode::NoNamespace)
    );
    let error = host.add::<Half>(&Invocation::new("{}")).unwrap_err();
    assert_eq!(error.code, Code::INVALID_NETNS);
    host.del::<Half>(&Invocation::new("{}")).unwrap();
}

#[test]
fn links_of_the_host_are_marked_with_their_owner() {
    let host = connected();
    host.add::<Half>(&Invocation::new("{}")).unwrap_err();
    // From here on the host is that of the last invocation.
    link::create(NewLink::new(Namespace::Host, "dummy0", NewKind::Dummy)).unwrap();
    let alias = link::get(Namespace::Host, "dummy0").unwrap().alias;
    assert_eq!(alias, "test 5f3c eth0");
    let changes = Changes {
        alias: Some("mine".to_owned()),
        ..Changes::default()
    };
    let refused = link::update(Namespace::Host, "dummy0", changes);
    assert_eq!(code(refused), Some(ErrorCode::Invalid));
}

#[test]
fn a_store_is_open_once_and_forgets_what_is_not_committed() {
    let _host = FakeHost::new();
    let store = store::open(&Location::Private, Access::Write).unwrap();
    store.put("key", b"value").unwrap();
    assert_eq!(
        code(store::open(&Location::Private, Access::Read)),
        Some(ErrorCode::Busy)
    );
    drop(store);
    let store = store::open(&Location::Private, Access::Read).unwrap();
    assert_eq!(code(store.get("key")), Some(ErrorCode::NotFound));
    let relative = Location::Directory("leases".to_owned());
    assert_eq!(
        code(store::open(&relative, Access::Read)),
        Some(ErrorCode::Invalid)
    );
}

#[test]
fn what_is_malformed_is_invalid() {
    let _host = connected();
    let too_long = IpNetwork {
        prefix_length: 33,
        ..net("10.1.0.2/32").into()
    };
    let address = NewAddress {
        address: too_long,
        ..NewAddress::new(net("10.1.0.2/32"))
    };
    let host_bits = Route {
        link: Some("eth0".into()),
        ..Route::new(net("10.1.0.2/24"))
    };
    for answer in [
        link::get(Namespace::Host, "a b").map(drop),
        link::get(Namespace::Host, "").map(drop),
        sysctl::read(Namespace::Host, "kernel.pid_max").map(drop),
        sysctl::write(Namespace::Host, "net.ipv4.ip_forward", "1\n"),
        address::add(Namespace::Container, "eth0", address),
        route::add(Namespace::Container, &host_bits),
        store::read_file("etc/resolv.conf").map(drop),
    ] {
        assert_eq!(code(answer), Some(ErrorCode::Invalid));
    }
    let absent = sysctl::read(Namespace::Host, "net.ipv4.conf.eth9.rp_filter");
    assert_eq!(code(absent), Some(ErrorCode::NotFound));
}
