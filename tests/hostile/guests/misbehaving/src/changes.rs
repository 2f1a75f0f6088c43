//! Changes of what was there before, in the container and on the host.

use weir_sdk::link::{self, Changes, NewLink, NewMaster, NewPeer, PortChanges};
use weir_sdk::{Error, Namespace, OperationError, sysctl};

const HERE: Namespace = Namespace::Container;

/// Changes the container's link of that name, the ports `port0` and `port1` of its bridges, and
/// parameters; a pair of its own; and the host's link `shared0` and one of its parameters.
pub fn change(target: &str) -> Result<(), Error> {
    refused_half_way(target)?;
    change_links(target)?;
    change_ports(target)?;
    change_parameters(target)?;
    change_own()?;
    Ok(change_host()?)
}

/// Some attributes twice, and the rest after the link has another name.
fn change_links(target: &str) -> Result<(), OperationError> {
    let changes = Changes {
        up: Some(false),
        mtu: Some(1400),
        txqlen: Some(7),
        promiscuous: Some(true),
        ..Changes::default()
    };
    link::update(HERE, target, changes)?;
    let renamed = Changes {
        name: Some("renamed".to_owned()),
        mtu: Some(1300),
        ..Changes::default()
    };
    link::update(HERE, target, renamed)?;
    let link = link::get(HERE, "renamed")?;
    let changes = Changes {
        mac: Some(vec![2, 0, 0, 0, 0, 0xaa]),
        all_multicast: Some(true),
        alias: Some("changed".to_owned()),
        up: Some(true),
        ..Changes::default()
    };
    link::update(HERE, &link, changes)?;
    sysctl::write(HERE, "net.ipv4.conf.renamed.rp_filter", "2")?;
    let name = Changes {
        name: Some(target.to_owned()),
        up: Some(false),
        txqlen: Some(8),
        ..Changes::default()
    };
    link::set_down(HERE, &link)?;
    link::update(HERE, &link, name)
}

/// One port gets other flags, one another master, and the target becomes one.
fn change_ports(target: &str) -> Result<(), OperationError> {
    let flags = PortChanges {
        hairpin: Some(true),
        isolated: Some(true),
    };
    link::update_port(HERE, "port0", flags)?;
    let into = |bridge: &str| Changes {
        master: Some(NewMaster::Link(bridge.into())),
        ..Changes::default()
    };
    link::update(HERE, "port1", into("br0"))?;
    link::update(HERE, target, into("br0"))?;
    link::update_port(HERE, target, flags)
}

fn change_parameters(target: &str) -> Result<(), OperationError> {
    let of_link = sysctl::interface_key("ipv4.conf", target, "arp_filter");
    sysctl::write(HERE, &of_link, "1")?;
    for value in ["70", "80"] {
        sysctl::write(HERE, "net.ipv4.ip_default_ttl", value)?;
    }
    // This one can only be written.
    sysctl::write(HERE, "net.ipv4.route.flush", "1")
}

/// The kernel does what comes before the value that it refuses.
fn refused_half_way(target: &str) -> Result<(), OperationError> {
    let too_large = Changes {
        mac: Some(vec![2, 0, 0, 0, 0, 0xbb]),
        mtu: Some(70000),
        ..Changes::default()
    };
    let link = link::update(HERE, target, too_large);
    link.expect_err("no link has such an MTU");
    let numbers = sysctl::write(HERE, "net.ipv4.tcp_rmem", "4097 90001 many");
    numbers.expect_err("it is not a number");
    Ok(())
}

/// Of links that go themselves nothing has to come back.
fn change_own() -> Result<(), OperationError> {
    let peer = NewPeer::new(HERE, "own1");
    link::create(NewLink::veth(Namespace::Host, "own0", peer))?;
    link::get(HERE, "own1")?;
    let changes = Changes {
        mtu: Some(1400),
        up: Some(true),
        ..Changes::default()
    };
    link::update(HERE, "own1", changes)?;
    sysctl::write(HERE, "net.ipv4.conf.own1.arp_filter", "1")
}

fn change_host() -> Result<(), OperationError> {
    let changes = Changes {
        mtu: Some(1400),
        txqlen: Some(7),
        ..Changes::default()
    };
    link::update(Namespace::Host, "shared0", changes)?;
    sysctl::write(Namespace::Host, "net.ipv4.ip_default_ttl", "70")
}

/// Changes the container's link of that name and moves it to the host, where it has another index.
pub fn change_and_move(target: &str) -> Result<(), Error> {
    let changes = Changes {
        mtu: Some(1400),
        ..Changes::default()
    };
    let before = link::get(HERE, target)?;
    link::update(HERE, &before, changes)?;
    let moved = link::move_to(HERE, &before, Namespace::Host, Some("moved0"))?;
    assert_ne!(moved.index, before.index, "the test needs another index");
    Ok(())
}
