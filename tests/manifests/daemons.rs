//! The DaemonSets: names that exist, mounts of what is needed, no privilege, and command lines that the binary
//! takes.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::binary;

use super::documents::{objects, one};

pub const FILES: [&str; 2] = ["daemonset.yaml", "uninstall/daemonset.yaml"];

/// What of a node is mounted, and nothing else.
const HOST_PATHS: [&str; 3] = ["/etc/cni/net.d", "/opt/cni/bin", "/var/lib/weir"];

/// Where weir's own configuration is, which the installer writes if its options say so.
const CONFIGURATION: &str = "/etc/weir";

/// What a cluster has in each namespace.
const OF_THE_CLUSTER: &str = "kube-root-ca.crt";

pub fn pod_spec(file: &str) -> Result<Value> {
    Ok(one(file, "DaemonSet")?["spec"]["template"]["spec"].take())
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

pub fn containers(spec: &Value) -> Vec<&Value> {
    let containers = list(spec, "initContainers").chain(list(spec, "containers"));
    containers.collect()
}

fn names<'v>(values: impl Iterator<Item = &'v Value>, key: &str) -> BTreeSet<&'v str> {
    values.filter_map(|value| value[key].as_str()).collect()
}

#[test]
fn each_selector_finds_its_own_pods() -> Result<()> {
    let mut seen = BTreeSet::new();
    for file in FILES {
        let daemons = one(file, "DaemonSet")?;
        let labels = &daemons["spec"]["template"]["metadata"]["labels"];
        assert_eq!(
            daemons["spec"]["selector"]["matchLabels"], *labels,
            "{file}"
        );
        assert!(seen.insert(labels.to_string()), "{file}: another's labels");
    }
    Ok(())
}

#[test]
fn each_mount_has_its_volume_and_each_volume_its_mount() -> Result<()> {
    for file in FILES {
        let spec = pod_spec(file)?;
        let volumes = names(list(&spec, "volumes"), "name");
        let mounts = containers(&spec)
            .into_iter()
            .flat_map(|container| list(container, "volumeMounts"));
        assert_eq!(names(mounts, "name"), volumes, "{file}");
        let paths = names(
            list(&spec, "volumes").map(|volume| &volume["hostPath"]),
            "path",
        );
        let mut expected = BTreeSet::from(HOST_PATHS);
        expected.extend((file == "daemonset.yaml").then_some(CONFIGURATION));
        assert_eq!(paths, expected, "{file}");
        // The configuration names places of the node.
        for volume in list(&spec, "volumes").filter(|v| v["hostPath"].is_object()) {
            for container in containers(&spec) {
                let mount = list(container, "volumeMounts").find(|m| m["name"] == volume["name"]);
                if let Some(mount) = mount {
                    assert_eq!(mount["mountPath"], volume["hostPath"]["path"], "{file}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_installer_writes_only_where_it_installs() -> Result<()> {
    let spec = pod_spec("daemonset.yaml")?;
    let container = containers(&spec)[0];
    let written = list(container, "volumeMounts").filter(|mount| mount["readOnly"] != true);
    let written = names(written, "mountPath");
    let expected = ["/etc/cni/net.d", "/opt/cni/bin", CONFIGURATION];
    assert_eq!(written, BTreeSet::from(expected));
    Ok(())
}

#[test]
fn config_maps_exist() -> Result<()> {
    let objects = objects()?;
    let there: BTreeSet<&str> = objects
        .iter()
        .filter(|object| object["kind"] == "ConfigMap")
        .filter_map(|object| object["metadata"]["name"].as_str())
        .collect();
    for file in FILES {
        let spec = pod_spec(file)?;
        let mut named = BTreeSet::new();
        for container in containers(&spec) {
            let sources = list(container, "envFrom").map(|source| &source["configMapRef"]);
            named.extend(names(sources, "name").into_iter().map(str::to_owned));
        }
        for volume in list(&spec, "volumes") {
            let sources = list(&volume["projected"], "sources").map(|source| &source["configMap"]);
            named.extend(names(sources, "name").into_iter().map(str::to_owned));
        }
        assert!(!named.is_empty(), "{file}");
        for name in named {
            assert!(
                there.contains(name.as_str()) || name == OF_THE_CLUSTER,
                "{file}: {name}"
            );
        }
    }
    let options = one("options.yaml", "ConfigMap")?;
    let daemons = one("daemonset.yaml", "DaemonSet")?;
    assert_eq!(
        options["metadata"]["namespace"],
        daemons["metadata"]["namespace"]
    );
    Ok(())
}

#[test]
fn no_container_has_a_privilege() -> Result<()> {
    for file in FILES {
        let spec = pod_spec(file)?;
        for key in ["hostPID", "hostIPC", "shareProcessNamespace"] {
            assert!(spec.get(key).is_none(), "{file}: {key}");
        }
        for container in containers(&spec) {
            let context = &container["securityContext"];
            for (key, expected) in [
                ("privileged", json!(false)),
                ("allowPrivilegeEscalation", json!(false)),
                ("readOnlyRootFilesystem", json!(true)),
                ("capabilities", json!({ "drop": ["ALL"] })),
                ("seccompProfile", json!({ "type": "RuntimeDefault" })),
            ] {
                assert_eq!(context[key], expected, "{file}: {key}");
            }
            assert!(
                container["resources"]["limits"]["memory"].is_string(),
                "{file}"
            );
            assert!(container.get("ports").is_none(), "{file}");
        }
    }
    Ok(())
}

/// What repairs the network must come up without it, on every node, and before what may be evicted.
#[test]
fn they_run_where_nothing_else_does() -> Result<()> {
    for file in FILES {
        let spec = pod_spec(file)?;
        assert_eq!(spec["hostNetwork"], true, "{file}");
        assert_eq!(spec["priorityClassName"], "system-node-critical", "{file}");
        assert_eq!(
            spec["tolerations"],
            json!([{ "operator": "Exists" }]),
            "{file}"
        );
        assert_eq!(
            one(file, "DaemonSet")?["metadata"]["namespace"],
            "kube-system"
        );
    }
    Ok(())
}

/// The words after `/weir`, of containers and their probes.
fn command_lines(spec: &Value) -> Result<Vec<Vec<String>>> {
    let mut lines = Vec::new();
    for container in containers(spec) {
        if container["image"]
            .as_str()
            .is_none_or(|i| !i.starts_with("weir:"))
        {
            continue;
        }
        let words = |value: &Value| -> Result<Vec<String>> {
            serde_json::from_value(value.clone()).context("a command is words")
        };
        let mut line = words(&container["command"])?;
        line.extend(words(&container["args"])?);
        lines.push(line);
        for probe in ["readinessProbe", "livenessProbe"] {
            if container.get(probe).is_some() {
                lines.push(words(&container[probe]["exec"]["command"])?);
            }
        }
    }
    for line in &mut lines {
        ensure!(line.remove(0) == "/weir", "what is run is weir");
    }
    Ok(lines)
}

fn help(command: &str) -> Result<String> {
    let output = Command::new(binary()).args([command, "--help"]).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn the_binary_takes_their_command_lines() -> Result<()> {
    let mut seen = 0;
    for file in FILES {
        for line in command_lines(&pod_spec(file)?)? {
            let (command, flags) = line.split_first().context("a command")?;
            let help = help(command)?;
            for flag in flags {
                let listed = help
                    .lines()
                    .any(|l| l.trim_start().starts_with(flag.as_str()));
                assert!(
                    flag.starts_with("--") && listed,
                    "{file}: {command} {flag}\n{help}"
                );
            }
            // And they go together: the help is asked for last, when all was understood.
            let output = Command::new(binary())
                .args(&line)
                .arg("--no-such")
                .output()?;
            let said = String::from_utf8(output.stderr)?;
            assert!(said.contains("'--no-such'"), "{file}: {said}");
            seen += 1;
        }
    }
    assert_eq!(seen, 4, "install, its two probes, uninstall");
    Ok(())
}

/// Also of those that are there as an example, behind a `#`.
#[test]
fn the_binary_takes_their_options() -> Result<()> {
    let file = super::documents::directory().join("options.yaml");
    let text = std::fs::read_to_string(file)?;
    let help = help("install")?;
    let mut seen = 0;
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches('#');
        if let Some((name, _)) = line
            .split_once(": ")
            .filter(|(n, _)| n.starts_with("WEIR_"))
        {
            assert!(help.contains(&format!("[env: {name}=")), "{name}\n{help}");
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen}");
    Ok(())
}

#[test]
fn all_images_are_of_one_version() -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    for file in FILES {
        let spec = pod_spec(file)?;
        let own: Vec<&str> = containers(&spec)
            .iter()
            .filter_map(|container| container["image"].as_str())
            .filter(|image| image.starts_with("weir"))
            .collect();
        assert_eq!(own, [format!("weir:{version}")], "{file}");
    }
    for file in ["kustomization.yaml", "uninstall/kustomization.yaml"] {
        let kustomization = one(file, "Kustomization")?;
        assert_eq!(kustomization["images"][0]["newTag"], version, "{file}");
    }
    Ok(())
}
