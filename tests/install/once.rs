//! What `weir install --kubernetes` installs, and when.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::assert_contains;

use crate::machine::{DEFAULT, Machine, Running, default_network};

#[test]
fn the_configuration_has_the_default_network_in_it() -> Result<()> {
    let machine = Machine::installed()?;
    assert_eq!(
        machine.read_json(machine.configuration())?,
        json!({
            "cniVersion": "1.0.0",
            "name": "weir",
            "plugins": [{
                "type": "weir",
                "capabilities": { "mac": true, "portMappings": true },
                "delegates": [default_network()],
                "kubeconfig": "/etc/cni/net.d/weir.d/weir.kubeconfig",
            }],
        })
    );
    assert!(machine.has_binary()?);
    for name in ["bridge", "host-local", "loopback"] {
        assert!(machine.is_link(name), "{name}");
    }
    let read = machine.read_json(machine.kubeconfig())?;
    assert_eq!(
        read["clusters"][0]["cluster"],
        json!({
            "server": "https://10.96.0.1:443",
            "certificate-authority-data": "dGhlIGF1dGhvcml0eQ==",
        })
    );
    assert_eq!(machine.token()?, "token-1");
    for file in [machine.configuration(), machine.kubeconfig()] {
        assert_eq!(fs::metadata(&file)?.mode() & 0o7777, 0o600, "{file:?}");
    }
    assert_eq!(
        machine.names("etc/cni/net.d")?,
        ["00-weir.conflist", DEFAULT, "weir.d"]
    );
    assert_eq!(machine.install("")?, "", "there was nothing to do");
    Ok(())
}

#[test]
fn a_single_plugin_and_plugins_in_files_of_their_own_become_whole_lists() -> Result<()> {
    let machine = Machine::create()?;
    let plugin = json!({ "cniVersion": "0.4.0", "name": "one", "type": "loopback" });
    machine.write_conf("20-one.conf", &plugin)?;
    machine.install("")?;
    let one = json!({ "cniVersion": "0.4.0", "name": "one", "plugins": [plugin] });
    assert_eq!(machine.plugin()?["delegates"], json!([one]));
    assert_eq!(
        machine.read_json(machine.configuration())?["cniVersion"],
        "0.4.0"
    );

    let list = json!({ "cniVersion": "1.1.0", "name": "apart" });
    machine.write_conf("10-apart.conflist", &list)?;
    let loopback = json!({ "type": "loopback", "capabilities": { "bandwidth": true } });
    fs::create_dir(machine.conf_dir().join("apart"))?;
    machine.write_conf("apart/1.conf", &loopback)?;
    machine.install("")?;
    let apart = json!({ "cniVersion": "1.1.0", "name": "apart", "plugins": [loopback] });
    assert_eq!(machine.plugin()?["delegates"], json!([apart]));
    assert_eq!(
        machine.plugin()?["capabilities"],
        json!({ "bandwidth": true })
    );
    Ok(())
}

#[test]
fn npwg_6_1_1_the_configuration_waits_for_the_default_network() -> Result<()> {
    let machine = Machine::create()?;
    let mut running = machine.waiting("")?;
    assert!(
        machine.has_binary()?,
        "what no runtime reads is there already"
    );
    assert_eq!(machine.token()?, "token-1");
    assert!(!machine.configuration().exists());

    // It is written in two steps.
    let text = default_network().to_string();
    let file = machine.conf_dir().join(DEFAULT);
    fs::write(&file, &text[..text.len() / 2])?;
    running.expect("not usable")?;
    assert!(!machine.configuration().exists());
    fs::write(&file, text)?;
    let (status, said) = running.end()?;
    assert!(status.success(), "{said:?}");
    assert_eq!(machine.plugin()?["delegates"], json!([default_network()]));
    Ok(())
}

#[test]
fn npwg_6_1_without_a_default_network_no_configuration_is_written() -> Result<()> {
    let machine = Machine::create()?;
    machine.is_not_configured(&["net.d", "20ms (--wait)"])
}

#[test]
fn the_first_valid_configuration_is_the_default_network_unless_one_is_named() -> Result<()> {
    let machine = Machine::with_default_network()?;
    fs::write(machine.conf_dir().join("05-broken.conflist"), "{")?;
    fs::write(machine.conf_dir().join("06-readme.txt"), "{}")?;
    let other = json!({ "cniVersion": "1.0.0", "name": "other", "type": "loopback" });
    machine.write_conf("20-other.json", &other)?;
    machine.install("")?;
    assert_eq!(machine.plugin()?["delegates"][0]["name"], "pods");
    machine.install("--default-network-file 20-other.json")?;
    assert_eq!(machine.plugin()?["delegates"][0]["name"], "other");
    let named = "--default-network-file 05-broken.conflist --wait 20ms";
    let said = machine.fail(&format!("install --kubernetes {named}"))?;
    assert!(said.contains("05-broken.conflist"), "{said}");
    Ok(())
}

/// A file whose type is weir, written by hand, would make weir attach itself.
#[test]
fn weir_is_not_its_own_default_network() -> Result<()> {
    let machine = Machine::create()?;
    let own = json!({ "cniVersion": "1.0.0", "name": "own", "type": "weir", "delegates": [] });
    machine.write_conf("50-own.conf", &own)?;
    let said = machine.fail("install --kubernetes --wait 20ms")?;
    assert_contains(&said, &["50-own.conf", "weir's own"]);
    Ok(())
}

#[test]
fn a_configuration_that_comes_first_is_reported() -> Result<()> {
    let machine = Machine::with_default_network()?;
    machine.write_conf("00-first.conflist", &default_network())?;
    let said = machine.fail("install --kubernetes")?;
    assert_contains(&said, &["00-first.conflist", "--conf-name"]);
    assert!(!machine.configuration().exists());
    machine.install("--conf-name 00-a-weir.conflist")?;
    assert!(machine.conf_dir().join("00-a-weir.conflist").exists());
    Ok(())
}

#[test]
fn what_stood_under_a_plugins_name_is_kept_however_often_weir_is_installed() -> Result<()> {
    let machine = Machine::with_default_network()?;
    machine.put_foreign("bridge", "the reference plugin")?;
    symlink("/usr/lib/cni/ptp", machine.bin_dir().join("ptp"))?;
    for _ in 0..2 {
        machine.install("")?;
        assert!(machine.is_link("bridge") && machine.is_link("ptp"));
        let kept = machine.read("opt/cni/bin/bridge.weir-replaced")?;
        assert_eq!(kept, "the reference plugin");
        let kept = fs::read_link(machine.bin_dir().join("ptp.weir-replaced"))?;
        assert_eq!(kept, Path::new("/usr/lib/cni/ptp"));
    }
    // An update of the reference plugins.
    fs::remove_file(machine.bin_dir().join("bridge"))?;
    machine.put_foreign("bridge", "a newer one")?;
    machine.succeed("install")?;
    assert!(machine.is_link("bridge"));
    assert_eq!(
        machine.read("opt/cni/bin/bridge.weir-replaced")?,
        "a newer one"
    );
    assert!(!machine.bin_dir().join("loopback.weir-replaced").exists());
    Ok(())
}

/// A copy over a running program would fail with "Text file busy".
#[test]
fn a_running_binary_is_replaced() -> Result<()> {
    let machine = Machine::installed()?;
    let own = machine.bin_dir().join("weir");
    let mut follow = Command::new(&own);
    follow
        .args(["audit", "--follow"])
        .env("WEIR_ROOT", machine.root())
        .stdin(Stdio::null());
    let mut following = Running::start(follow)?;
    let inode = fs::metadata(&own)?.ino();
    let busy = fs::OpenOptions::new().write(true).open(&own);
    assert!(busy.is_err(), "the kernel lets nobody write to it");

    machine.succeed("install")?;
    assert_ne!(fs::metadata(&own)?.ino(), inode);
    assert!(machine.has_binary()?);
    assert!(following.is_running()?, "it goes on with its own file");
    let output = Command::new(own).arg("--version").output()?;
    assert!(output.status.success(), "{output:?}");
    Ok(())
}

#[test]
fn the_kubeconfig_may_be_one_that_is_there() -> Result<()> {
    let machine = Machine::with_default_network()?;
    fs::remove_dir_all(machine.account())?;
    let said = machine.fail("install --kubernetes")?;
    assert_contains(&said, &["account/token", "--kubeconfig"]);
    machine.install("--kubeconfig /etc/kubernetes/node.conf")?;
    assert_eq!(machine.plugin()?["kubeconfig"], "/etc/kubernetes/node.conf");
    assert!(!machine.kubeconfig().exists());
    Ok(())
}

#[test]
fn the_api_server_is_where_the_kubelet_says() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let with = |host: &str, port: &str| {
        let mut command = machine.command("install --kubernetes");
        command
            .env("KUBERNETES_SERVICE_HOST", host)
            .env("KUBERNETES_SERVICE_PORT", port);
        command.output().context("run weir")
    };
    let output = with("fd00:96::1", "6443")?;
    assert!(output.status.success(), "{output:?}");
    let server = |machine: &Machine| -> Result<Value> {
        let read = machine.read_json(machine.kubeconfig())?;
        Ok(read["clusters"][0]["cluster"]["server"].clone())
    };
    assert_eq!(server(&machine)?, "https://[fd00:96::1]:6443");
    for (host, port) in [("", "443"), ("10.96.0.1", ""), ("10.96.0.1", "https")] {
        let output = with(host, port)?;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr)?;
        assert!(said.contains("KUBERNETES_SERVICE_"), "{said}");
    }
    fs::write(machine.account().join("token"), " \n")?;
    let said = machine.fail("install --kubernetes")?;
    assert!(said.contains("has no token"), "{said}");
    assert_eq!(server(&machine)?, "https://[fd00:96::1]:6443", "as it was");
    Ok(())
}

#[test]
fn check_tells_what_is_not_as_it_is_to_be() -> Result<()> {
    let machine = Machine::create()?;
    let check = |machine: &Machine| -> Result<(Option<i32>, String)> {
        let output = machine.run("install --kubernetes --check")?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?))
    };
    let (status, said) = check(&machine)?;
    assert_eq!(status, Some(3));
    assert_contains(
        &said,
        &[
            "bin/weir` is not this weir",
            "bin/bridge` is not",
            "weir.kubeconfig",
            "net.d",
        ],
    );
    assert!(
        machine.names("opt/cni/bin")?.is_empty(),
        "nothing is put there"
    );

    machine.write_conf(DEFAULT, &default_network())?;
    machine.install("")?;
    assert_eq!(check(&machine)?, (Some(0), String::new()));

    machine.rotate("token-2")?;
    let (status, said) = check(&machine)?;
    assert_eq!((status, said.lines().count()), (Some(3), 1), "{said}");
    assert!(said.contains("weir.kubeconfig"), "{said}");
    machine.install("")?;
    fs::set_permissions(
        machine.kubeconfig(),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )?;
    assert_eq!(check(&machine)?.0, Some(3), "others may read the token");
    machine.install("")?;
    fs::write(machine.bin_dir().join("new"), "another weir")?;
    fs::rename(
        machine.bin_dir().join("new"),
        machine.bin_dir().join("weir"),
    )?;
    assert_eq!(check(&machine)?.0, Some(3), "another binary");
    Ok(())
}
