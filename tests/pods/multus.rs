//! Pods that Multus attached, deleted after the switch to weir.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use weir_kit::{State, assert_contains};

use crate::world::{Pod, World, bridge, list, names};

/// Text as Multus keeps it.
fn base64(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// A list with those keys of its plugins alone that libcni knows.
fn known_keys(list: &Value) -> Value {
    let mut known = list.clone();
    for plugin in known["plugins"].as_array_mut().into_iter().flatten() {
        let ipam = plugin["ipam"]["type"].clone();
        let keys = plugin.as_object_mut().expect("a plugin");
        keys.retain(|key, _| ["type", "name", "capabilities"].contains(&key.as_str()));
        keys.insert("ipam".to_owned(), json!({ "type": ipam }));
    }
    known
}

/// A delegate whose list Multus 4.3.0 had as text, as its `saveDelegates` writes it.
fn of_text(name: &str, list: &Value) -> Value {
    json!({
        "Conf": { "cniVersion": list["cniVersion"], "name": list["name"] },
        "ConfList": known_keys(list),
        "CNINetworkConfigList": {
            "Name": "", "CNIVersion": "", "DisableCheck": false, "DisableGC": false,
            "LoadOnlyInlinedPlugins": false, "Plugins": null, "Bytes": null,
        },
        "Name": name,
        "IsFilterV4Gateway": false,
        "IsFilterV6Gateway": false,
        "Bytes": base64(&list.to_string()),
    })
}

/// A delegate whose list libcni read from a file, as the same writes it.
fn of_file(list: &Value) -> Value {
    let plugins = list["plugins"].as_array().into_iter().flatten();
    let plugins: Vec<Value> = plugins
        .zip(known_keys(list)["plugins"].as_array().expect("a list"))
        .map(|(plugin, known)| json!({ "Network": known, "Bytes": base64(&plugin.to_string()) }))
        .collect();
    let mut delegate = of_text("", list);
    delegate["Conf"] = json!({});
    delegate["CNINetworkConfigList"] = json!({
        "Name": list["name"], "CNIVersion": list["cniVersion"], "DisableCheck": false,
        "DisableGC": false, "LoadOnlyInlinedPlugins": false, "Plugins": plugins,
        "Bytes": base64(&list.to_string()),
    });
    delegate["Name"] = list["name"].clone();
    delegate["Bytes"] = json!(base64(&known_keys(list).to_string()));
    delegate
}

/// A node on which Multus is in force, with pods that it attached.
struct Taking {
    world: World,
    /// One that weir attached before.
    _warm: Pod,
    pod: Pod,
    /// What Multus keeps of the pod.
    file: PathBuf,
    before: State,
}

const NETWORKS: [(&str, &str); 2] = [("default-net", "eth0"), ("second", "data0")];

impl Taking {
    /// With one pod in two networks. weir attaches it, and what it keeps is put where and as Multus keeps it.
    fn create() -> Result<Self> {
        let world = World::create()?;
        let second = list("second", &[bridge("bsecond", "10.48.0.0/24")]);
        world.define("second", &second)?;
        let warm = world.plain("warm")?;
        let before = State::of(&world.node)?;
        let pod = world.attached("switch", "second@data0")?;
        let taking = Self {
            file: world
                .node
                .root()
                .join("var/lib/cni/multus")
                .join(&pod.container.id),
            world,
            _warm: warm,
            pod,
            before,
        };
        taking.hand_to_multus()?;
        Ok(taking)
    }

    fn kept(&self) -> &Path {
        self.file.parent().expect("it is below a directory")
    }

    fn hand_to_multus(&self) -> Result<()> {
        let root = self.world.node.root();
        fs::create_dir_all(self.kept().join("results"))?;
        let leases = |network| self.world.node.leases(network);
        let second = format!("{}/second", self.world.namespace);
        fs::rename(leases(&second), leases("second"))?;
        for (name, ifname) in NETWORKS {
            let result = format!("{name}-{}-{ifname}", self.pod.container.id);
            let own = match name {
                "second" => format!("{}@{result}", self.world.namespace),
                _ => result.clone(),
            };
            let own = root.join("var/lib/cni/results").join(own);
            fs::rename(own, self.kept().join("results").join(&result))?;
        }
        for record in self.world.records() {
            if record.to_string_lossy().contains(&self.pod.container.id) {
                fs::remove_file(record)?;
            }
        }
        let config = self.world.config();
        let second = list("second", &[bridge("bsecond", "10.48.0.0/24")]);
        let definition = format!("{}/second", self.world.namespace);
        let mut of_definition = of_text("", &second);
        of_definition["Name"] = json!(definition);
        of_definition["ifnameRequest"] = json!("data0");
        self.keep(&json!([
            of_text("default-net", &config["delegates"][0]),
            of_definition,
        ]))?;
        let mut multus = config;
        multus["type"] = json!("multus");
        fs::create_dir_all(self.conf_dir())?;
        fs::write(self.conf_dir().join("00-multus.conf"), multus.to_string())?;
        Ok(())
    }

    fn keep(&self, delegates: &Value) -> Result<()> {
        fs::write(&self.file, delegates.to_string()).context("what Multus keeps")
    }

    fn conf_dir(&self) -> PathBuf {
        self.world.node.root().join("etc/cni/net.d")
    }

    fn install(&self) -> Result<Output> {
        let bin_dir = self.world.node.root().join("installed");
        fs::create_dir_all(&bin_dir)?;
        let bin_dir = bin_dir.to_str().context("text")?;
        let words = [
            "install",
            "--kubernetes",
            "--from-multus",
            "--bin-dir",
            bin_dir,
        ];
        self.world.node.command(&words)
    }

    fn installed(&self) -> Result<String> {
        let output = self.install()?;
        assert!(output.status.success(), "{output:?}");
        Ok(String::from_utf8([output.stdout, output.stderr].concat())?)
    }

    /// The installation fails with these words, and Multus stays in force.
    #[track_caller]
    fn refused(&self, words: &[&str]) {
        let output = self.install().expect("weir runs");
        assert!(!output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_contains(&said, words);
        assert!(self.conf_dir().join("00-multus.conf").exists());
        assert!(self.file.exists());
    }

    /// DEL takes the pod from both networks.
    #[track_caller]
    fn expect_detached(&self) {
        self.world.del(&self.pod).expect("weir runs");
        assert_eq!(
            names(&self.pod.container).expect("its links"),
            Vec::<String>::new()
        );
        assert!(self.world.taken("second").is_empty());
        assert!(self.world.node.taken("second").is_empty());
        assert_eq!(
            self.world.node.taken("default-net").len(),
            1,
            "the other pod's"
        );
    }
}

#[test]
fn a_pod_that_multus_attached_is_taken_over_and_deleted() -> Result<()> {
    let taking = Taking::create()?;
    let said = taking.installed()?;
    let id = &taking.pod.container.id;
    let namespace = &taking.world.namespace;
    let shown = format!("took over container {id}: default-net (eth0), {namespace}/second (data0)");
    assert!(said.contains(&shown), "{said}");
    assert!(!taking.file.exists());
    assert_eq!(fs::read_dir(taking.kept().join("results"))?.count(), 0);
    let state = taking.world.node.root().join("var/lib/weir");
    assert!(!state.join("from-multus.json").exists());
    assert!(
        !taking.installed()?.contains("took over"),
        "it is done once"
    );

    taking.expect_detached();
    let mut expected = taking.before.links.clone();
    expected.push("bsecond".to_owned());
    expected.sort();
    assert_eq!(State::of(&taking.world.node)?.links, expected);
    Ok(())
}

/// Of a list from a file of the node's, `Bytes` lacks what only the plugins know; what libcni read beside it does not.
#[test]
fn a_list_that_multus_had_from_a_file_keeps_all_its_keys() -> Result<()> {
    let taking = Taking::create()?;
    let default = &taking.world.config()["delegates"][0];
    let mut of_definition = of_file(&list("second", &[bridge("bsecond", "10.48.0.0/24")]));
    of_definition["Name"] = json!(format!("{}/second", taking.world.namespace));
    of_definition["ifnameRequest"] = json!("data0");
    taking.keep(&json!([of_file(default), of_definition]))?;
    // What would make up for it.
    fs::remove_dir_all(taking.kept().join("results"))?;
    taking.installed()?;
    let own = |path: &PathBuf| path.to_string_lossy().contains(&taking.pod.container.id);
    let path = taking.world.records().into_iter().find(own);
    let record: Value = serde_json::from_slice(&fs::read(path.context("a record")?)?)?;
    let configs: Vec<&Value> = (0..2)
        .map(|at| &record["attachments"][at]["config"])
        .collect();
    assert_eq!(configs[0]["plugins"], default["plugins"]);
    assert_eq!(configs[1]["plugins"][0]["bridge"], "bsecond");
    assert_eq!(
        configs[1]["plugins"][0]["ipam"]["ranges"][0][0]["subnet"],
        "10.48.0.0/24"
    );
    taking.expect_detached();
    Ok(())
}

/// The record has what libcni remembered: the pod's arguments, and the namespace.
#[test]
fn a_record_that_was_taken_over_is_as_weirs_own() -> Result<()> {
    let taking = Taking::create()?;
    taking.installed()?;
    let own = |path: &PathBuf| path.to_string_lossy().contains(&taking.pod.container.id);
    let path = taking
        .world
        .records()
        .into_iter()
        .find(own)
        .context("a record")?;
    let record: Value = serde_json::from_slice(&fs::read(path)?)?;
    assert_eq!(record["pod"]["uid"], taking.pod.uid.as_str());
    assert_eq!(record["ifname"], "eth0");
    assert!(record["namespace"]["inode"].is_u64(), "{record}");
    let second = &record["attachments"][1];
    let definition = second["definition"].as_str().unwrap_or_default();
    assert!(definition.ends_with("/second"), "{record}");
    assert_eq!(second["isDefault"], false);
    Ok(())
}

/// Property: no DEL reads what Multus kept, whoever wrote it: it would run what it says, as the network it names.
#[test]
fn what_is_planted_in_multus_directory_is_not_run() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("victim", &[])?;
    let kept = world.node.root().join("var/lib/cni/multus");
    fs::create_dir_all(&kept)?;
    let forwarding = world.node.root().join("forwarding");
    let planted = list(
        "cbr0",
        &[json!({
            "type": "tuning", "sysctl": { "net.ipv4.ip_forward": "1" }, "dataDir": forwarding,
        })],
    );
    let file = kept.join(&pod.container.id);
    let delegates = json!([{ "Name": "cbr0", "Bytes": base64(&planted.to_string()) }]);
    fs::write(&file, delegates.to_string())?;
    let before =
        fs::read_to_string(world.node.root().join("var/log/weir/audit.jsonl")).unwrap_or_default();
    world.del(&pod)?;
    assert!(file.exists(), "nobody has touched it");
    let audit = fs::read_to_string(world.node.root().join("var/log/weir/audit.jsonl"))?;
    let new = audit.strip_prefix(&before).context("a log grows")?;
    assert!(!new.contains("cbr0") && !new.contains("tuning"), "{new}");
    Ok(())
}

#[test]
fn what_others_can_write_is_not_taken_over() -> Result<()> {
    let taking = Taking::create()?;
    let results = taking.kept().join("results");
    let result = results.join(format!("second-{}-data0", taking.pod.container.id));
    for path in [&taking.file, &taking.kept().to_owned(), &results, &result] {
        let mode = path.metadata()?.permissions().mode();
        fs::set_permissions(path, Permissions::from_mode(0o777))?;
        let remedy = format!("chmod go-w {}", path.display());
        taking.refused(&["is not trusted", &remedy]);
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    taking.installed()?;
    taking.expect_detached();
    Ok(())
}

mod needs_root {
    use super::*;

    #[test]
    fn what_another_user_wrote_is_not_taken_over() -> Result<()> {
        let taking = Taking::create()?;
        chown(&taking.file, Some(1000), None)?;
        taking.refused(&["belongs to user 1000", "chown 0"]);
        Ok(())
    }
}

/// The file stays where people find it.
fn assert_set_aside(taking: &Taking, said: &str) {
    let aside = format!("{}.damaged", taking.file.display());
    assert!(!taking.file.exists() && Path::new(&aside).exists());
    assert!(said.contains(".damaged"), "{said}");
}

#[test]
fn what_multus_kept_and_nobody_understands_keeps_no_pod_from_being_deleted() -> Result<()> {
    let taking = Taking::create()?;
    fs::write(&taking.file, "[{ \"Name\": \"default-n")?;
    let said = taking.installed()?;
    assert_set_aside(&taking, &said);
    taking.world.del(&taking.pod)
}

#[test]
fn one_network_that_nobody_understands_keeps_no_other_attached() -> Result<()> {
    let taking = Taking::create()?;
    let default = taking.world.config()["delegates"][0].to_string();
    taking.keep(&json!([
        { "Name": "default-net", "Bytes": base64(&default) },
        { "Name": "other", "Bytes": "?" },
        { "Name": "another", "ifnameRequest": "../../a", "Bytes": base64(&default) },
    ]))?;
    let said = taking.installed()?;
    assert_contains(&said, &["network 1", "network 2"]);
    assert_set_aside(&taking, &said);
    taking.world.del(&taking.pod)?;
    assert_eq!(
        names(&taking.pod.container)?,
        ["data0"],
        "what is not understood stays"
    );
    Ok(())
}
