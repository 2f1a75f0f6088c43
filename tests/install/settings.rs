//! The option for weir's own configuration: the interfaces of the node that networks of definitions may use.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::assert_contains;

use crate::machine::Machine;

/// weir's own configuration.
const SETTINGS: &str = "etc/weir/weir.json";

/// What the administrator wrote there by hand.
const BY_HAND: &str = r#"{ "audit": { "forward": "journald" },
  "hostInterfaces": ["eth9"] }"#;

/// A node with this in weir's own configuration.
fn with_settings(text: &str, mode: u32) -> Result<(Machine, PathBuf)> {
    let machine = Machine::with_default_network()?;
    let file = machine.root().join(SETTINGS);
    fs::create_dir_all(file.parent().context("a directory")?)?;
    fs::write(&file, text)?;
    fs::set_permissions(&file, Permissions::from_mode(mode))?;
    Ok((machine, file))
}

/// Whether a definition's network may look at an interface of the host.
fn may_use(machine: &Machine, interface: &str) -> Result<bool> {
    let question =
        "grants explain macvlan link.get namespace=host kind=physical --network team/lan";
    let answer = machine.run(&format!("{question} name={interface}"))?;
    Ok(answer.status.success())
}

#[test]
fn the_interfaces_are_written_and_count() -> Result<()> {
    let machine = Machine::with_default_network()?;
    assert!(!may_use(&machine, "eth1")?);
    let said = machine.install("--host-interfaces eth1,ens*")?;
    assert_contains(&said, &[SETTINGS]);
    let listed = json!({ "hostInterfaces": ["eth1", "ens*"] });
    assert_eq!(machine.read_json(SETTINGS)?, listed);
    let file = fs::metadata(machine.root().join(SETTINGS))?;
    assert_eq!(file.mode() & 0o7777, 0o600);
    for (interface, expected) in [("eth1", true), ("ens3", true), ("eth0", false)] {
        assert_eq!(may_use(&machine, interface)?, expected, "{interface}");
    }
    let again = machine.install("--host-interfaces eth1 --host-interfaces ens*")?;
    assert_eq!(again, "", "there was nothing to do");
    Ok(())
}

/// As in the ConfigMap of the DaemonSet, whose probe compares.
#[test]
fn the_option_is_a_variable_and_the_probe_compares() -> Result<()> {
    let machine = Machine::installed()?;
    let run = |words: &str, names: &str| -> Result<(Option<i32>, String)> {
        let mut command = machine.command(words);
        command.env("WEIR_INSTALL_HOST_INTERFACES", names);
        let output = command.output()?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?))
    };
    let check = "install --kubernetes --check";
    let (code, said) = run(check, "eth1,ens*")?;
    assert_eq!(code, Some(3), "{said}");
    assert_contains(&said, &[SETTINGS, "is missing or different"]);
    assert_eq!(run("install --kubernetes", "eth1,ens*")?.0, Some(0));
    assert_eq!(run(check, "eth1,ens*")?, (Some(0), String::new()));
    assert_eq!(run(check, "eth1")?.0, Some(3));
    // Without the option the file is not read.
    machine.succeed(check)?;
    Ok(())
}

/// The other keys stay in any case, and without the option so does every byte.
#[test]
fn an_upgrade_keeps_what_the_administrator_wrote() -> Result<()> {
    let (machine, file) = with_settings(BY_HAND, 0o640)?;
    for words in ["", "--log-level debug"] {
        machine.install(words)?;
        assert_eq!(fs::read_to_string(&file)?, BY_HAND);
        assert_eq!(fs::metadata(&file)?.mode() & 0o7777, 0o640);
    }
    machine.install("--host-interfaces ens*")?;
    let mut expected: Value = serde_json::from_str(BY_HAND)?;
    expected["hostInterfaces"] = json!(["ens*"]);
    assert_eq!(machine.read_json(SETTINGS)?, expected);
    machine.install("")?;
    assert_eq!(machine.read_json(SETTINGS)?, expected);
    machine.uninstalled("--purge", "etc/cni/net.d/00-weir.conflist")?;
    assert_eq!(machine.read_json(SETTINGS)?, expected);
    Ok(())
}

#[test]
fn what_is_not_an_interface_is_refused() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let wrong = [
        ("eth1,", "``"),
        ("eth1,a/b", "a/b"),
        ("eth[", "eth["),
        ("a-name-of-16-char", "a-name-of-16-char"),
        ("{ifname}", "{ifname}"),
        ("..", ".."),
    ];
    machine.refuses("--kubernetes --host-interfaces", &wrong)?;
    let alone = machine.run("install --host-interfaces eth1")?;
    assert_eq!(alone.status.code(), Some(2), "it is the node's");
    assert!(!machine.root().join(SETTINGS).exists());
    Ok(())
}

/// A file that is not understood is not replaced. Nor is one that others can write: their keys, such as native plugins,
/// would then be in a file of root's.
#[test]
fn a_file_that_is_damaged_or_of_others_stays_as_it_is() -> Result<()> {
    for (text, mode, told) in [
        ("{ \"audit\": ", 0o600, "EOF"),
        ("[]", 0o600, "expected a map"),
        (BY_HAND, 0o666, "chmod go-w"),
    ] {
        let (machine, file) = with_settings(text, mode)?;
        let said = machine.fail("install --kubernetes --host-interfaces eth1")?;
        assert_contains(&said, &["weir.json", told]);
        assert_eq!(fs::read_to_string(&file)?, text);
        assert_eq!(fs::metadata(&file)?.mode() & 0o7777, mode);
        machine.install("").map(drop)?;
    }
    Ok(())
}
