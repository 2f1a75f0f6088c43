//! The installer killed at every point: what is found is what was there before or what is there now, whole,
//! and the next installation is as one without a kill.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weir_kit::trace::{self, End};

use crate::machine::{DEFAULT, Machine, default_network};

/// So many points are tried; there may be more, of which every n-th is.
const POINTS: usize = 80;

const OLD: &str = "what was there before";

/// A node with an older weir, a plugin of somebody else's, and a configuration and a kubeconfig of before.
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

/// What a whole installation leaves.
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

    /// Whether a file is new; fails where it is neither old nor new.
    fn is_new(path: &Path, new: &str) -> Result<bool> {
        let content =
            fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        match content == new {
            true => Ok(true),
            false if content == OLD => Ok(false),
            false => bail!("{} is neither old nor new", path.display()),
        }
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
    let End::Exited { status: 0, points } = install(&whole, None)? else {
        bail!("the traced installation failed");
    };
    let finished = Finished::of(&whole)?;
    finished.check_finished(&whole)?;
    assert!(points > POINTS / 2, "only {points} points");
    let step = points.div_ceil(POINTS);
    for point in (0..points).step_by(step) {
        let killed_at = || format!("killed at point {point} of {points}");
        let machine = older()?;
        assert_eq!(
            install(&machine, Some(point))?,
            End::Killed,
            "{}",
            killed_at()
        );
        finished.check_killed(&machine).with_context(killed_at)?;
        machine.install("").with_context(killed_at)?;
        finished.check_finished(&machine).with_context(killed_at)?;
    }
    Ok(())
}

/// On a node without weir, the first thing that a runtime can find of it is all of it.
#[test]
fn a_kill_in_the_first_installation_leaves_the_default_network_in_force() -> Result<()> {
    let fresh = || -> Result<Machine> {
        let machine = Machine::create()?;
        machine.write_conf(DEFAULT, &default_network())?;
        Ok(machine)
    };
    let End::Exited { status: 0, points } = install(&fresh()?, None)? else {
        bail!("the traced installation failed");
    };
    for point in (0..points).step_by(points.div_ceil(POINTS / 4)) {
        let machine = fresh()?;
        assert_eq!(
            install(&machine, Some(point))?,
            End::Killed,
            "point {point}"
        );
        if machine.configuration().exists() {
            assert!(machine.has_binary()? && machine.is_link("bridge"));
            assert_eq!(machine.token()?, "token-1");
            assert_eq!(machine.plugin()?["type"], "weir");
        }
    }
    Ok(())
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
    let uninstall =
        |machine: &Machine, kill_at| trace::run(&mut machine.command("uninstall"), b"", kill_at);
    let End::Exited { status: 0, points } = uninstall(&installed()?, None)? else {
        bail!("the traced uninstallation failed");
    };
    for point in (0..points).step_by(points.div_ceil(POINTS / 4)) {
        let machine = installed()?;
        assert_eq!(
            uninstall(&machine, Some(point))?,
            End::Killed,
            "point {point}"
        );
        if machine.configuration().exists() {
            assert!(machine.has_binary()? && machine.is_link("bridge"));
        }
        machine.succeed("uninstall")?;
        assert_eq!(machine.names("opt/cni/bin")?, ["bridge"]);
        assert_eq!(machine.read("opt/cni/bin/bridge")?, OLD);
        assert_eq!(machine.names("etc/cni/net.d")?, [DEFAULT]);
    }
    Ok(())
}
