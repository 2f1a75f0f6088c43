//! Whole commands on the fake host.

use weir_sdk::address::{self, NewAddress};
use weir_sdk::link::{self, Changes, Details, NewKind, NewLink};
use weir_sdk::route::{self, Filter, Route};
use weir_sdk::testing::{FakeHost, Invocation, SANDBOX};
use weir_sdk::{AddResult, Code, Error, ErrorCode, Interface, IpNet, Namespace, codes};

use super::Vrf;
use super::codes::TABLE_TAKEN;

const RED: &str = r#"{"type": "vrf", "vrfname": "red"}"#;
const RED_7: &str = r#"{"type": "vrf", "vrfname": "red", "table": 7}"#;
const BLUE: &str = r#"{"type": "vrf", "vrfname": "blue"}"#;
const BLUE_7: &str = r#"{"type": "vrf", "vrfname": "blue", "table": 7}"#;

/// A host whose container has two interfaces, `eth0` and `net1`.
fn host() -> FakeHost {
    let host = FakeHost::new();
    for (outside, inside) in [("veth0", "eth0"), ("veth1", "net1")] {
        host.create_pair(outside, inside).unwrap();
    }
    host
}

/// An invocation for an interface, after the plugin that made it.
fn of(config: &str, ifname: &str) -> Invocation {
    let mac = link::get(Namespace::Container, ifname).map_or(None, |link| link.mac_text());
    let interface = Interface {
        name: ifname.to_owned(),
        mac,
        sandbox: Some(SANDBOX.to_owned()),
        ..Interface::default()
    };
    let previous = AddResult {
        interfaces: vec![interface],
        ..AddResult::default()
    };
    Invocation::new(config)
        .with_ifname(ifname)
        .with_previous(previous)
}

/// The table of a VRF, and the names of its interfaces; none where it does not exist.
fn vrf(name: &str) -> Option<(u32, Vec<String>)> {
    let vrf = link::find(Namespace::Container, name).unwrap()?;
    let Details::Vrf(table) = vrf.details else {
        panic!("{vrf:?}");
    };
    let ports = link::list(Namespace::Container, None, Some(vrf.index)).unwrap();
    Some((table, ports.into_iter().map(|port| port.name).collect()))
}

fn port(table: u32, name: &str) -> Option<(u32, Vec<String>)> {
    Some((table, vec![name.to_owned()]))
}

#[test]
fn a_vrf_comes_with_its_first_interface_and_goes_with_its_last() -> Result<(), Error> {
    let host = host();
    let (first, second) = (of(RED, "eth0"), of(RED, "net1"));
    let result = host.add::<Vrf>(&first)?;
    assert_eq!(result.interfaces.len(), 1, "{result:?}");
    host.add::<Vrf>(&second)?;
    let both = vec!["eth0".to_owned(), "net1".to_owned()];
    assert_eq!(vrf("red"), Some((1, both)));
    assert!(link::get(Namespace::Container, "red")?.up);
    host.check::<Vrf>(&first)?;
    host.del::<Vrf>(&first)?;
    host.del::<Vrf>(&first)?;
    assert_eq!(vrf("red"), port(1, "net1"));
    let error = host.check::<Vrf>(&first).unwrap_err();
    assert_eq!(error.code, codes::NOT_AS_ATTACHED);
    host.del::<Vrf>(&second)?;
    assert_eq!(vrf("red"), None);
    host.del::<Vrf>(&second)
}

#[test]
fn a_free_table_is_one_of_no_vrf_and_no_route() -> Result<(), Error> {
    let host = host();
    host.add::<Vrf>(&of(RED, "eth0"))?;
    host.arrange(|| {
        let route = Route {
            table: Some(2),
            ..Route::new("192.0.2.0/24".parse().unwrap()).over("net1")
        };
        route::add(Namespace::Container, &route)
    })?;
    host.add::<Vrf>(&of(BLUE, "net1"))?;
    assert_eq!(
        (vrf("red"), vrf("blue")),
        (port(1, "eth0"), port(3, "net1"))
    );
    Ok(())
}

#[test]
fn a_table_belongs_to_one_vrf() -> Result<(), Error> {
    let host = host();
    host.add::<Vrf>(&of(RED_7, "eth0"))?;
    assert_eq!(vrf("red"), port(7, "eth0"));
    let error = host.add::<Vrf>(&of(BLUE_7, "net1")).unwrap_err();
    assert_eq!(error.code, TABLE_TAKEN);
    let expected = "table: routing table 7 is that of VRF `red`";
    assert!(error.msg.contains(expected), "{error}");

    let other = r#"{"type": "vrf", "vrfname": "red", "table": 8}"#;
    let error = host.add::<Vrf>(&of(other, "net1")).unwrap_err();
    assert_eq!(error.code, TABLE_TAKEN);
    let expected = "table: VRF `red` has routing table 7, expected 8";
    assert!(error.msg.contains(expected), "{error}");
    host.add::<Vrf>(&of(RED, "net1"))?;
    Ok(())
}

#[test]
fn routes_go_to_the_vrfs_table_and_addresses_stay() -> Result<(), Error> {
    let host = host();
    let net = |text: &str| text.parse::<IpNet>().unwrap();
    host.arrange(|| {
        for address in ["10.1.0.5/24", "fd00::5/64"] {
            let new = NewAddress::new(net(address));
            address::add(Namespace::Container, "eth0", new)?;
        }
        let gateway = "10.1.0.1".parse().unwrap();
        let default = Route::new(net("0.0.0.0/0")).via(gateway).over("eth0");
        let on_link = Route::new(net("10.9.0.0/16")).over("eth0");
        let elsewhere = Route {
            table: Some(100),
            ..Route::new(net("10.8.0.0/16")).over("eth0")
        };
        [default, on_link, elsewhere]
            .iter()
            .try_for_each(|route| route::add(Namespace::Container, route))
    })?;
    host.add::<Vrf>(&of(RED_7, "eth0"))?;
    let destinations = |table: u32| {
        let filter = Filter {
            table: Some(table),
            ..Filter::default()
        };
        let routes = route::list(Namespace::Container, &filter).unwrap();
        routes.iter().map(Route::destination).collect::<Vec<_>>()
    };
    for destination in ["0.0.0.0/0", "10.9.0.0/16"] {
        assert!(destinations(7).contains(&net(destination)), "{destination}");
    }
    assert_eq!(destinations(100), [net("10.8.0.0/16")]);
    let addresses = address::list(Namespace::Container, "eth0", None)?;
    let addresses = addresses.into_iter().map(|one| IpNet::from(one.address));
    let global: Vec<IpNet> = addresses
        .filter(|one| one.prefix_len() != 64 || *one == net("fd00::5/64"))
        .collect();
    assert!(global.contains(&net("10.1.0.5/24")) && global.contains(&net("fd00::5/64")));
    Ok(())
}

#[test]
fn del_takes_a_renamed_interface_out() -> Result<(), Error> {
    let host = host();
    let (first, second) = (of(RED, "eth0"), of(RED, "net1"));
    host.add::<Vrf>(&first)?;
    host.add::<Vrf>(&second)?;
    host.arrange(|| {
        let renamed = Changes {
            name: Some("mine".to_owned()),
            ..Changes::default()
        };
        link::update(Namespace::Container, "eth0", renamed)
    })?;
    host.del::<Vrf>(&first)?;
    assert_eq!(vrf("red"), port(1, "net1"));
    host.remove_container();
    host.forget_calls();
    host.del::<Vrf>(&second)?;
    assert!(host.changes().is_empty(), "{:?}", host.changes());
    Ok(())
}

#[test]
fn what_cannot_be_put_into_a_vrf_is_refused() -> Result<(), Error> {
    let host = host();
    let refused = |invocation: &Invocation, code: Code, expected: &str| {
        let error = host.add::<Vrf>(invocation).unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.msg.contains(expected), "{error}");
    };
    refused(
        &Invocation::new(RED),
        Code::INVALID_CONFIG,
        "prevResult: missing",
    );
    refused(
        &of(r#"{"type": "vrf"}"#, "eth0"),
        Code::INVALID_CONFIG,
        "vrfname: missing",
    );
    refused(
        &of(r#"{"type": "vrf", "vrfname": "a/b"}"#, "eth0"),
        Code::INVALID_CONFIG,
        "vrfname: ",
    );
    refused(
        &of(r#"{"type": "vrf", "vrfname": "lo"}"#, "eth0"),
        Code::INVALID_CONFIG,
        "vrfname: `lo` is a loopback in the container",
    );
    refused(
        &of(RED, "absent"),
        codes::NOT_FOUND,
        "no interface `absent`",
    );
    assert_eq!(vrf("red"), None);
    host.add::<Vrf>(&of(RED, "eth0"))?;
    let expected = "`eth0` is a port of `red` already";
    refused(&of(BLUE, "eth0"), codes::EXISTS, expected);
    assert_eq!(vrf("blue"), None);
    Ok(())
}

#[test]
fn del_after_an_add_that_was_refused_succeeds_and_changes_nothing() -> Result<(), Error> {
    let host = host();
    host.forget_calls();
    for config in [
        r#"{"type": "vrf"}"#,
        r#"{"type": "vrf", "vrfname": "a/b"}"#,
        r#"{"type": "vrf", "vrfname": "net1"}"#,
    ] {
        let refused = of(config, "eth0");
        host.add::<Vrf>(&refused).unwrap_err();
        host.del::<Vrf>(&refused)?;
    }
    let changes = host.changes();
    assert!(
        !changes.iter().any(|change| change.starts_with("link.")),
        "{changes:?}"
    );
    let attached = of(RED, "eth0");
    host.fail_next("link.get", ErrorCode::Failed);
    host.del::<Vrf>(&attached).unwrap_err();
    Ok(())
}

#[test]
fn an_add_that_fails_anywhere_leaves_no_vrf() {
    for function in ["store.open", "link.create", "link.update", "route.list"] {
        let host = host();
        host.fail_next(function, ErrorCode::Failed);
        host.add::<Vrf>(&of(RED, "eth0")).unwrap_err();
        assert_eq!(vrf("red"), None, "{function}");
    }
}

#[test]
fn check_notices_another_vrf_of_the_name() -> Result<(), Error> {
    let host = host();
    let attached = of(RED_7, "eth0");
    let error = host.check::<Vrf>(&attached).unwrap_err();
    assert!(error.msg.contains("VRF `red` does not exist"), "{error}");
    host.add::<Vrf>(&attached)?;
    host.arrange(|| {
        link::delete(Namespace::Container, "red")?;
        link::create(NewLink::new(Namespace::Container, "red", NewKind::Vrf(8)))
    })?;
    let error = host.check::<Vrf>(&attached).unwrap_err();
    assert_eq!(error.code, TABLE_TAKEN);
    Ok(())
}
