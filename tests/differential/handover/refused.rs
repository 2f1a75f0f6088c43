//! What is refused, with nothing changed: a handover that would lose something, or run what somebody else wrote.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use weir_kit::plugin::REFERENCE;
use weir_kit::{assert_contains, assert_contains_without, binary};

use super::{Switch, put_multus, with_address};
use crate::probe::Server;
use crate::side::Whose::{Reference, Weir};
use crate::side::with_previous;
use crate::stale::{
    CONTAINER_PORT, GOES, OTHER_PORT, PORT, STAYS, Variant, attach, bridged, reached,
};

/// Puts something in the place of a plugin that comes back.
type Put = fn(&PathBuf) -> Result<()>;

/// One of two cannot be handed over: what was made for the other is taken back.
#[test]
fn one_that_fails_leaves_all_as_it_was() -> Result<()> {
    let switch = Switch::used()?;
    switch.attach(STAYS, &bridged(OTHER_PORT))?;
    let mut config = bridged(PORT);
    // Of which Debian's reference plugins know nothing.
    config["cniVersion"] = json!("1.1.0");
    switch.attach(GOES, &config)?;
    let said = switch.refusal()?;
    assert_contains(&said, &["`net differential-2 eth0`, of ", "1.1.0"]);
    let _server = Server::start(&switch.side.containers[GOES], CONTAINER_PORT)?;
    reached(&switch.side, PORT)?.context("not reached any more")?;

    // What can be handed over is, and the rest goes on.
    let said = switch.uninstall("--force")?;
    assert_contains(
        &said,
        &["handed net differential-1 eth0 over", "left table inet"],
    );
    reached(&switch.side, PORT)?.context("not reached any more after --force")?;
    let own = switch.own_tables()?.join("\n");
    assert_contains_without(&own, &["differential-2"], &["differential-1"]);
    Ok(())
}

#[test]
fn nothing_is_handed_over_to_nobody() -> Result<()> {
    let switch = Switch::attached()?;
    fs::remove_file(switch.replaced("portmap"))?;
    let said = switch.refusal()?;
    ensure!(said.contains("no other `portmap` in"), "{said}");
    Ok(())
}

/// What an administrator has said in weir's tables would be said no more.
#[test]
fn an_administrators_rules_do_not_go_unasked() -> Result<()> {
    for line in [
        "add rule inet weir_firewall CNI-ADMIN ip daddr 169.254.169.254 drop",
        "add rule inet weir_firewall forward ip daddr 169.254.169.254 drop",
        "chain inet weir_firewall forward { policy drop ; }",
    ] {
        let switch = Switch::attached()?;
        switch.side.node.tool("nft", line)?;
        let said = switch.refusal()?;
        ensure!(said.contains("the administrator's rules"), "{line}: {said}");
        // A policy to drop would drop what has no element any more.
        switch.uninstall("--force")?;
        let own = switch.own_tables()?.join("\n");
        ensure!(
            own.contains("table inet weir_firewall") && own.contains("differential-2"),
            "{line}: {own}"
        );
        ensure!(!own.contains("weir_portmap"), "{line}: {own}");
    }
    Ok(())
}

/// `macspoofchk` goes with the link, and no call makes it for one that is there.
#[test]
fn the_check_of_source_macs_is_not_dropped() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    let mut config = bridged(PORT);
    config["plugins"][0]["macspoofchk"] = json!(true);
    switch.attach(GOES, &config)?;
    let said = switch.refusal()?;
    ensure!(said.contains("macspoofchk"), "{said}");
    Ok(())
}

/// Hostile: whoever can write the cache would say what is run as root, and for whom.
#[test]
fn a_cache_that_others_can_write_is_not_used() -> Result<()> {
    let switch = Switch::attached()?;
    fs::set_permissions(switch.cached(GOES), Permissions::from_mode(0o666))?;
    let said = switch.refusal()?;
    assert_contains(&said, &["is not trusted", "mode 0666"]);
    fs::set_permissions(switch.cached(GOES), Permissions::from_mode(0o600))?;
    fs::set_permissions(switch.results(), Permissions::from_mode(0o777))?;
    let said = switch.refusal()?;
    assert_contains(&said, &["is not trusted", "mode 0777"]);
    Ok(())
}

/// Hostile: a definition that is called as the node's own network. Its configuration is the tenant's, and the reference
/// plugins, which no grant bounds, would be run with it.
#[test]
fn a_definitions_attachment_is_not_handed_over() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    put_multus(&switch)?;
    // A tenant's bridge does not turn forwarding on.
    switch
        .side
        .node
        .inside(|| Ok(fs::write("/proc/sys/net/ipv4/ip_forward", "1")?))?;
    // No file of the node's has it, so that it counts as a tenant's.
    let mut config = bridged(PORT);
    config["plugins"] = json!([{
        "type": "bridge", "bridge": "mine", "isGateway": true, "ipMasq": true,
        "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
    }]);
    switch.attach(GOES, &config)?;
    let said = switch.refusal()?;
    assert_contains(
        &said,
        &["`-/net differential-2 eth0`", "a definition's network"],
    );
    Ok(())
}

/// Hostile: the same before definitions had marks of their own.
#[test]
fn a_configuration_that_root_did_not_write_is_not_run() -> Result<()> {
    let switch = Switch::attached()?;
    put_multus(&switch)?;
    let said = switch.refusal()?;
    ensure!(said.contains("it may be a tenant's"), "{said}");
    // The same text in a file of the node's.
    let node = &switch.side.node;
    node.put_network("10-net.conflist", &bridged(PORT))?;
    switch.uninstall("")?;
    switch.has_no_table()
}

/// Hostile: a plugin that comes back and is weir, or that others can exchange.
#[test]
fn only_a_plugin_that_root_alone_can_have_put_there_is_run() -> Result<()> {
    let switch = Switch::used()?;
    switch.attach(GOES, &bridged(PORT))?;
    let place = switch.replaced("portmap");
    let cases: [(&str, Put); 4] = [
        ("is weir itself", |place| Ok(symlink(binary(), place)?)),
        ("is weir itself", |place| {
            fs::copy(binary(), place)?;
            Ok(())
        }),
        ("mode 0777", |place| {
            fs::copy(format!("{REFERENCE}/portmap"), place)?;
            Ok(fs::set_permissions(place, Permissions::from_mode(0o777))?)
        }),
        ("not an ELF program", |place| {
            Ok(fs::write(place, "the reference")?)
        }),
    ];
    for (expected, put) in cases {
        fs::remove_file(&place)?;
        put(&place)?;
        let said = switch.refusal()?;
        ensure!(said.contains(expected), "{expected}: {said}");
    }
    // One that succeeds and makes nothing.
    fs::remove_file(&place)?;
    symlink(format!("{REFERENCE}/tuning"), &place)?;
    let said = switch.refusal()?;
    ensure!(said.contains("no known rule"), "{said}");
    Ok(())
}

/// Hostile: a container with the address of another, which the reference attached and has accepted. What is taken back
/// is not the other's.
#[test]
fn what_is_taken_back_is_nobody_elses() -> Result<()> {
    let switch = Switch::create(Variant::Nftables)?;
    let victim = attach(&switch.side, Reference, STAYS, &bridged(OTHER_PORT))?;
    let mut forged = with_address(&bridged(PORT), &victim)?;
    forged["plugins"][0]["bridge"] = json!("other");
    forged["plugins"][0]["isGateway"] = json!(false);
    switch.attach(GOES, &forged)?;
    // Its second part fails.
    fs::remove_file(switch.replaced("portmap"))?;
    symlink(format!("{REFERENCE}/tuning"), switch.replaced("portmap"))?;
    let said = switch.refusal()?;
    ensure!(said.contains("no known rule"), "{said}");
    let deleted = switch
        .side
        .call_as(Weir, "DEL", GOES, &with_previous(&forged, None))?;
    ensure!(deleted.succeeded(), "{deleted:?}");
    Ok(())
}
