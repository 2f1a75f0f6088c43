//! `weir install --kubernetes --watch`: changes are corrected until SIGTERM.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::Result;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::machine::{DEFAULT, Machine, Running, default_network};

const WATCHING: &str = "all is in place; watching";

fn watching(machine: &Machine) -> Result<Running> {
    let mut running = machine.start("--watch")?;
    running.expect(WATCHING)?;
    Ok(running)
}

/// It writes another kubeconfig, with the second token, and ends.
fn takes_token_2(machine: &Machine, mut running: Running) -> Result<()> {
    running.expect("weir.kubeconfig")?;
    assert_eq!(machine.token()?, "token-2");
    running.ends_cleanly(Signal::SIGTERM)
}

#[test]
fn a_signal_ends_it_and_all_stays_in_its_place() -> Result<()> {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let machine = Machine::with_default_network()?;
        watching(&machine)?.ends_cleanly(signal)?;
        assert!(machine.has_binary()?);
        assert!(machine.configuration().exists() && machine.kubeconfig().exists());
    }
    Ok(())
}

#[test]
fn a_signal_ends_the_wait_for_the_default_network() -> Result<()> {
    let machine = Machine::create()?;
    let running = machine.waiting("--watch")?;
    running.ends_cleanly(Signal::SIGTERM)?;
    // The requested installation was not completed.
    let running = machine.waiting("")?;
    running.signal(Signal::SIGTERM)?;
    let (status, said) = running.end()?;
    assert_eq!(status.code(), Some(1), "{said:?}");
    Ok(())
}

#[test]
fn a_new_token_gets_into_the_kubeconfig() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let running = watching(&machine)?;
    machine.rotate("token-2")?;
    takes_token_2(&machine, running)
}

/// The kubelet swaps a link to the directory of the present files.
#[test]
fn a_mounted_token_is_noticed_as_the_kubelet_changes_it() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let account = machine.account();
    fs::remove_file(account.join("token"))?;
    fs::create_dir(account.join("..1"))?;
    fs::write(account.join("..1/token"), "token-1")?;
    symlink("..1", account.join("..data"))?;
    symlink("..data/token", account.join("token"))?;
    let running = watching(&machine)?;
    fs::create_dir(account.join("..2"))?;
    fs::write(account.join("..2/token"), "token-2")?;
    symlink("..2", account.join("..data_tmp"))?;
    fs::rename(account.join("..data_tmp"), account.join("..data"))?;
    takes_token_2(&machine, running)
}

#[test]
fn a_changed_default_network_gets_into_the_configuration() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let mut running = watching(&machine)?;
    let mut other = default_network();
    other["plugins"][0]["bridge"] = json!("pods1");
    machine.write_conf(DEFAULT, &other)?;
    running.expect("00-weir.conflist")?;
    assert_eq!(machine.plugin()?["delegates"], json!([other]));

    // Another network replaces it. While there is none, weir's configuration stays.
    fs::remove_file(machine.conf_dir().join(DEFAULT))?;
    running.expect("the configuration of a default network")?;
    assert_eq!(machine.plugin()?["delegates"], json!([other]));
    let next = json!({ "cniVersion": "1.1.0", "name": "next", "type": "loopback" });
    machine.write_conf("30-next.conf", &next)?;
    running.expect("00-weir.conflist")?;
    assert_eq!(machine.plugin()?["delegates"][0]["name"], "next");
    running.ends_cleanly(Signal::SIGTERM)
}

#[test]
fn what_somebody_changes_or_removes_is_put_back() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let mut running = watching(&machine)?;

    fs::remove_file(machine.bin_dir().join("weir"))?;
    running.expect("bin/weir")?;
    assert!(machine.has_binary()?);

    fs::remove_file(machine.bin_dir().join("ptp"))?;
    running.expect("bin/ptp")?;
    assert!(machine.is_link("ptp"));

    // As a package of the reference plugins does.
    fs::write(machine.bin_dir().join("new"), "the reference plugin")?;
    fs::rename(
        machine.bin_dir().join("new"),
        machine.bin_dir().join("bridge"),
    )?;
    running.expect("bin/bridge")?;
    assert!(machine.is_link("bridge"));
    let kept = machine.read("opt/cni/bin/bridge.weir-replaced")?;
    assert_eq!(kept, "the reference plugin");

    fs::remove_file(machine.configuration())?;
    running.expect("00-weir.conflist")?;
    assert_eq!(machine.plugin()?["type"], "weir");
    fs::write(machine.configuration(), "{}")?;
    running.expect("00-weir.conflist")?;
    assert_eq!(machine.plugin()?["type"], "weir");

    fs::remove_dir_all(machine.conf_dir().join("weir.d"))?;
    running.expect("weir.kubeconfig")?;
    assert_eq!(machine.token()?, "token-1");
    running.ends_cleanly(Signal::SIGTERM)
}

#[test]
fn an_error_is_reported_and_does_not_end_it() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let mut running = watching(&machine)?;
    machine.write_conf("00-first.conflist", &default_network())?;
    running.expect("comes before")?;
    machine.rotate("token-2")?;
    running.expect("weir.kubeconfig")?;
    assert_eq!(machine.token()?, "token-2", "the rest goes on");
    fs::remove_file(machine.conf_dir().join("00-first.conflist"))?;
    fs::remove_file(machine.configuration())?;
    running.expect("00-weir.conflist")?;
    running.ends_cleanly(Signal::SIGTERM)
}

/// A damaged plugin must not prevent the renewal of the token.
#[test]
fn a_damaged_plugin_is_reported_and_skipped() -> Result<()> {
    let machine = Machine::with_default_network()?;
    machine.put_file("var/lib/weir/plugins/mine/manifest.json", "{")?;
    let said = machine.fail("install")?;
    assert!(said.contains("`mine` is damaged"), "{said}");
    let mut running = machine.start("--watch")?;
    running.expect_all(&["`mine` is damaged", WATCHING])?;
    assert!(machine.has_binary()? && !machine.is_link("mine"));
    running.ends_cleanly(Signal::SIGTERM)
}
