//! Taking over from Multus.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use nix::sys::signal::Signal;
use serde_json::json;
use weir_kit::assert_contains;

use crate::machine::{DEFAULT, Machine, default_network};

/// As Multus writes it, with its own spaces.
fn of_multus() -> String {
    let delegates = default_network();
    format!(
        "{{\n        \"cniVersion\": \"0.3.1\",\n        \"name\": \"multus-cni-network\",\n        \
         \"type\": \"multus\",\n        \"kubeconfig\": \"/etc/cni/net.d/multus.d/multus.kubeconfig\",\n        \
         \"delegates\": [\n                {delegates}\n        ]\n}}\n"
    )
}

fn machine(configuration: &str) -> Result<Machine> {
    let machine = Machine::with_default_network()?;
    fs::write(machine.conf_dir().join("00-multus.conf"), configuration)?;
    Ok(machine)
}

#[test]
fn one_word_changes_in_one_file() -> Result<()> {
    let machine = machine(&of_multus())?;
    machine.install("--from-multus")?;
    let expected = of_multus().replace("\"type\": \"multus\"", "\"type\": \"weir\"");
    assert_eq!(machine.read("etc/cni/net.d/00-weir.conf")?, expected);
    assert_eq!(
        machine.names("etc/cni/net.d")?,
        ["00-multus.conf.weir-replaced", "00-weir.conf", DEFAULT],
        "the runtime finds weir's first, and the kubeconfig stays Multus'"
    );
    assert_eq!(machine.install("--from-multus")?, "", "it is done");

    machine.succeed("uninstall")?;
    assert_eq!(machine.names("etc/cni/net.d")?, ["00-multus.conf", DEFAULT]);
    assert_eq!(machine.read("etc/cni/net.d/00-multus.conf")?, of_multus());
    Ok(())
}

#[test]
fn without_being_asked_to_weir_tells_that_multus_stands_there() -> Result<()> {
    for name in ["00-multus.conf", "70-multus.conf"] {
        let machine = Machine::create()?;
        fs::write(machine.conf_dir().join(name), of_multus())?;
        let said = machine.fail("install --kubernetes")?;
        assert_contains(&said, &[name, "--from-multus"]);
        assert!(!machine.configuration().exists());
    }
    Ok(())
}

/// The thick plugin has its configuration in its daemon: weir makes one from its options.
#[test]
fn the_thick_plugin_is_set_aside() -> Result<()> {
    let shim = of_multus().replace("\"multus\"", "\"multus-shim\"");
    let machine = machine(&shim)?;
    machine.install("--from-multus --log-level debug")?;
    let plugin = machine.plugin()?;
    assert_eq!(plugin["delegates"], json!([default_network()]));
    assert_eq!(plugin["logLevel"], "debug");
    assert_eq!(machine.token()?, "token-1");
    let names = machine.names("etc/cni/net.d")?;
    let expected = [
        "00-multus.conf.weir-replaced",
        "00-weir.conflist",
        DEFAULT,
        "weir.d",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        machine.install("--from-multus --log-level debug")?,
        "",
        "it is done"
    );

    machine.succeed("uninstall")?;
    assert_eq!(machine.read("etc/cni/net.d/00-multus.conf")?, shim);
    Ok(())
}

/// The shipped options have a log level, which must not prevent taking over.
#[test]
fn options_of_a_configuration_that_is_not_made_are_reported() -> Result<()> {
    let machine = machine(&of_multus())?;
    let output =
        machine.run("install --kubernetes --from-multus --log-level debug --network-name mine")?;
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr)?;
    assert_contains(&said, &["not used", "--network-name, --log-level"]);
    let expected = of_multus().replace("\"type\": \"multus\"", "\"type\": \"weir\"");
    assert_eq!(machine.read("etc/cni/net.d/00-weir.conf")?, expected);
    Ok(())
}

/// Only configurations that only root could have written are installed.
#[test]
fn what_others_can_write_does_not_become_weirs_configuration() -> Result<()> {
    let machine = machine(&of_multus())?;
    let multus = machine.conf_dir().join("00-multus.conf");
    fs::set_permissions(&multus, Permissions::from_mode(0o666))?;
    let said = machine.fail("install --kubernetes --from-multus")?;
    assert_contains(&said, &["is not trusted", "mode 0666"]);
    assert!(multus.exists() && !machine.conf_dir().join("00-weir.conf").exists());
    fs::remove_file(multus)?;
    let default = machine.conf_dir().join(DEFAULT);
    fs::set_permissions(&default, Permissions::from_mode(0o666))?;
    machine.is_not_configured(&["is not trusted", "mode 0666"])
}

#[test]
fn there_must_be_one() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let said = machine.fail("install --kubernetes --from-multus --wait 20ms")?;
    assert!(said.contains("no configuration of Multus"), "{said}");
    Ok(())
}

/// The token of Multus' kubeconfig ends with Multus.
#[test]
fn multus_kubeconfig_can_get_weirs_token() -> Result<()> {
    let machine = machine(&of_multus())?;
    let path = machine.conf_dir().join("multus.d/multus.kubeconfig");
    fs::create_dir(machine.conf_dir().join("multus.d"))?;
    fs::write(&path, "Multus' own")?;
    machine.install(&format!(
        "--from-multus --kubeconfig-path {}",
        path.display()
    ))?;
    let kubeconfig = machine.read_json(&path)?;
    assert_eq!(kubeconfig["users"][0]["user"]["token"], "token-1");
    Ok(())
}

/// From Multus' configuration to a generated one: the file then has another name.
#[test]
fn only_one_configuration_of_weir_is_there() -> Result<()> {
    let machine = machine(&of_multus())?;
    machine.install("--from-multus")?;
    machine.install("")?;
    assert_eq!(
        machine.names("etc/cni/net.d")?,
        [
            "00-multus.conf.weir-replaced",
            "00-weir.conflist",
            DEFAULT,
            "weir.d"
        ]
    );
    assert_eq!(machine.plugin()?["delegates"], json!([default_network()]));
    Ok(())
}

#[test]
fn multus_that_still_runs_is_set_aside_again() -> Result<()> {
    let machine = machine(&of_multus())?;
    let mut running = machine.start("--from-multus --watch")?;
    running.expect("watching")?;
    let newer = of_multus().replace("0.3.1", "0.4.0");
    fs::write(machine.conf_dir().join("00-multus.conf"), &newer)?;
    running.expect("set aside")?;
    let expected = newer.replace("\"type\": \"multus\"", "\"type\": \"weir\"");
    assert_eq!(machine.read("etc/cni/net.d/00-weir.conf")?, expected);
    assert!(!machine.conf_dir().join("00-multus.conf").exists());
    running.signal(Signal::SIGTERM)?;
    assert!(running.end()?.0.success());
    Ok(())
}
