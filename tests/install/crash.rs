//! Kills the installer at every point: each file is either the old or the new one, complete, and the next installation has
//! the same outcome as one without a kill.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use weir_kit::trace::{self, End, kill_at_points};

use crate::machine::{DEFAULT, Machine, default_network};

/// How many points of an installation over another are tried.
const POINTS: usize = 80;
/// How many points of the first installation, and of an uninstallation.
const FEWER_POINTS: usize = 20;
/// How many points of an installation that takes pods over.
const TAKEOVER_POINTS: usize = 50;

const OLD: &str = "what was there before";

/// A node with an older weir, another plugin, and an older configuration and kubeconfig.
fn older() -> Result<Machine> {
    let machine = Machine::with_default_network()?;
    machine.put_foreign("weir", OLD)?;
    machine.put_foreign("bridge", OLD)?;
    fs::write(machine.configuration(), OLD)?;
    fs::create_dir(machine.conf_dir().join("weir.d"))?;
    fs::write(machine.kubeconfig(), OLD)?;
    Ok(machine)
}

fn install(machine: &Machine, kill_at: Option<usize>) -> Result<End> {
    trace::run(&mut machine.command("install --kubernetes"), b"", kill_at)
}

/// The files of a complete installation.
struct Finished {
    configuration: String,
    kubeconfig: String,
}

impl Finished {
    fn of(machine: &Machine) -> Result<Self> {
        Ok(Self {
            configuration: machine.read(machine.configuration())?,
            kubeconfig: machine.read(machine.kubeconfig())?,
        })
    }

    /// Whether a file is new; fails if it is neither old nor new.
    fn is_new(path: &Path, new: &str) -> Result<bool> {
        let content =
            fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        let is_new = content == new;
        ensure!(
            is_new || content == OLD,
            "{} is neither old nor new",
            path.display()
        );
        Ok(is_new)
    }

    fn check_killed(&self, machine: &Machine) -> Result<()> {
        let has_binary = machine.has_binary()?;
        if !has_binary {
            let is_old = fs::read(machine.bin_dir().join("weir"))? == OLD.as_bytes();
            assert!(is_old, "the binary is neither old nor new");
        }
        let has_link = machine.is_link("bridge");
        if !has_link {
            assert_eq!(machine.read("opt/cni/bin/bridge")?, OLD);
        }
        let has_kubeconfig = Self::is_new(&machine.kubeconfig(), &self.kubeconfig)?;
        let configuration = machine.configuration();
        if Self::is_new(&configuration, &self.configuration)? {
            assert!(
                has_binary && has_link && has_kubeconfig,
                "the configuration comes last"
            );
        }
        // A runtime reads nothing else.
        let mut read = machine.names("etc/cni/net.d")?;
        read.retain(|name| name.ends_with(".conflist") || name.ends_with(".conf"));
        assert_eq!(read, ["00-weir.conflist", DEFAULT]);
        Ok(())
    }

    fn check_finished(&self, machine: &Machine) -> Result<()> {
        assert!(machine.has_binary()? && machine.is_link("bridge"));
        assert_eq!(machine.read("opt/cni/bin/bridge.weir-replaced")?, OLD);
        assert_eq!(machine.read(machine.configuration())?, self.configuration);
        assert_eq!(machine.read(machine.kubeconfig())?, self.kubeconfig);
        for directory in ["opt/cni/bin", "etc/cni/net.d", "etc/cni/net.d/weir.d"] {
            let names = machine.names(directory)?;
            let left: Vec<_> = names.iter().filter(|n| n.starts_with('.')).collect();
            assert!(left.is_empty(), "left in {directory}: {left:?}");
        }
        Ok(())
    }
}

#[test]
fn a_kill_at_any_point_leaves_old_or_new_and_never_half() -> Result<()> {
    let whole = older()?;
    whole.install("")?;
    let finished = Finished::of(&whole)?;
    finished.check_finished(&whole)?;
    kill_at_points(POINTS, |point| {
        let machine = older()?;
        let end = install(&machine, point)?;
        finished.check_killed(&machine)?;
        if machine.is_ready("")? {
            finished.check_finished(&machine)?;
        }
        machine.install("")?;
        finished.check_finished(&machine)?;
        Ok(end)
    })
}

/// On a node without weir, a runtime finds either nothing of weir or everything.
#[test]
fn a_kill_in_the_first_installation_leaves_the_default_network_in_force() -> Result<()> {
    let fresh = || -> Result<Machine> {
        let machine = Machine::create()?;
        machine.write_conf(DEFAULT, &default_network())?;
        Ok(machine)
    };
    kill_at_points(FEWER_POINTS, |point| {
        let machine = fresh()?;
        let end = install(&machine, point)?;
        if machine.configuration().exists() {
            assert!(machine.has_binary()? && machine.is_link("bridge"));
            assert_eq!(machine.token()?, "token-1");
            assert_eq!(machine.plugin()?["type"], "weir");
        }
        Ok(end)
    })
}

/// A second one finishes it, and the configuration never outlives the binary.
#[test]
fn a_kill_in_uninstall_can_be_repeated() -> Result<()> {
    let installed = || -> Result<Machine> {
        let machine = older()?;
        fs::remove_file(machine.configuration())?;
        machine.install("")?;
        Ok(machine)
    };
    kill_at_points(FEWER_POINTS, |point| {
        let machine = installed()?;
        let end = trace::run(&mut machine.command("uninstall"), b"", point)?;
        if machine.configuration().exists() {
            assert!(machine.has_binary()? && machine.is_link("bridge"));
        }
        machine.succeed("uninstall")?;
        assert_eq!(machine.names("opt/cni/bin")?, ["bridge"]);
        assert_eq!(machine.read("opt/cni/bin/bridge")?, OLD);
        assert_eq!(machine.names("etc/cni/net.d")?, [DEFAULT]);
        Ok(end)
    })
}

/// The pods that Multus attached, by their containers.
const PODS: [&str; 2] = ["first", "second"];

/// A node with Multus in force, and with the programs of another node on which weir is installed.
fn with_multus(programs: &Machine) -> Result<Machine> {
    let machine = Machine::with_default_network()?;
    fs::remove_dir(machine.bin_dir())?;
    symlink(programs.bin_dir(), machine.bin_dir())?;
    let multus = json!({
        "cniVersion": "0.3.1", "name": "multus-cni-network", "type": "multus",
        "kubeconfig": "/etc/cni/net.d/multus.d/multus.kubeconfig", "delegates": [default_network()],
    });
    machine.write_conf("00-multus.conf", &multus)?;
    let kept = machine.root().join(KEPT);
    fs::create_dir_all(kept.join("results"))?;
    let config = BASE64_STANDARD.encode(default_network().to_string());
    for pod in PODS {
        let delegates = json!([{ "Name": "pods", "Bytes": config }]);
        fs::write(kept.join(pod), delegates.to_string())?;
        let cached = json!({
            "kind": "cniCacheV1", "containerId": pod, "config": config, "ifName": "eth0",
            "networkName": "pods", "cniArgs": [["K8S_POD_NAME", pod]], "result": { "cniVersion": "1.0.0" },
        });
        fs::write(kept.join(result_of(pod)), cached.to_string())?;
    }
    Ok(machine)
}

/// The directory in which Multus keeps its pods.
const KEPT: &str = "var/lib/cni/multus";

fn result_of(pod: &str) -> String {
    format!("results/pods-{pod}-eth0")
}

fn take_over(machine: &Machine, kill_at: Option<usize>) -> Result<End> {
    let mut command = machine.command("install --kubernetes --from-multus");
    trace::run(&mut command, b"", kill_at)
}

/// weir's record of a pod.
fn record(machine: &Machine, pod: &str) -> Result<Value> {
    machine.read_json(format!(
        "var/lib/weir/pods/multus-cni-network/{pod}:eth0.json"
    ))
}

/// Each pod is known, with its result, to the plugin that the runtime would call.
fn check_pods_are_known(machine: &Machine) -> Result<()> {
    let is_multus = machine.conf_dir().join("00-multus.conf").exists();
    let is_weir = machine.conf_dir().join("00-weir.conf").exists();
    assert!(is_multus || is_weir, "one of both is in force");
    for pod in PODS {
        let of_multus = machine.root().join(KEPT);
        if is_weir {
            record(machine, pod).with_context(|| format!("the record of {pod}"))?;
            machine.read(format!("var/lib/cni/{}", result_of(pod)))?;
        }
        if is_multus {
            assert!(of_multus.join(pod).exists() && of_multus.join(result_of(pod)).exists());
        }
    }
    Ok(())
}

fn check_nothing_is_kept(machine: &Machine) -> Result<()> {
    let mut kept = machine.names(KEPT)?;
    kept.extend(machine.names(Path::new(KEPT).join("results"))?);
    ensure!(kept == ["results"], "Multus still keeps {kept:?}");
    Ok(())
}

/// The next installation continues taking over, wherever it was killed, with the same outcome.
#[test]
fn a_kill_while_pods_are_taken_over_from_multus_loses_none() -> Result<()> {
    let programs = Machine::create()?;
    programs.succeed("install")?;
    let whole = with_multus(&programs)?;
    whole.install("--from-multus")?;
    check_pods_are_known(&whole)?;
    kill_at_points(TAKEOVER_POINTS, |point| {
        let machine = with_multus(&programs)?;
        let end = take_over(&machine, point)?;
        check_pods_are_known(&machine)?;
        // A node is ready once nothing is left to take over.
        if machine.is_ready("--from-multus")? {
            check_nothing_is_kept(&machine)?;
        }
        machine.install("--from-multus")?;
        check_pods_are_known(&machine)?;
        for pod in PODS {
            assert_eq!(record(&machine, pod)?, record(&whole, pod)?);
        }
        check_nothing_is_kept(&machine)?;
        for directory in ["var/lib/weir", "etc/cni/net.d"] {
            assert_eq!(machine.names(directory)?, whole.names(directory)?);
        }
        Ok(end)
    })
}
