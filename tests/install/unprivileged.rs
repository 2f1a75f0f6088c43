//! Runs weir as the DaemonSet does: as root without capabilities.

mod needs_root {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown};
    use std::process::{Command, Output};

    use anyhow::{Context, Result};
    use serde_json::json;

    use crate::machine::Machine;

    /// The user who often owns the reference plugins: that of their archive.
    const ANOTHER_USER: u32 = 1001;

    /// Runs weir with these words as root without capabilities.
    fn run(machine: &Machine, words: &str) -> Result<Output> {
        let weir = machine.command(words);
        let mut setpriv = Command::new("setpriv");
        setpriv
            .args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"])
            .arg(weir.get_program())
            .args(weir.get_args())
            .envs(
                weir.get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
        setpriv.output().context("run setpriv (util-linux)")
    }

    fn without_capabilities(machine: &Machine, words: &str) -> Result<()> {
        let output = run(machine, words)?;
        assert!(output.status.success(), "weir {words}: {output:?}");
        Ok(())
    }

    /// It is then unknown whether weir's plugins have rules for the containers in the cache.
    #[test]
    fn uninstall_is_refused_while_containers_may_need_a_handover() -> Result<()> {
        let machine = Machine::with_default_network()?;
        without_capabilities(&machine, "install --kubernetes")?;
        let results = machine.root().join("var/lib/cni/results");
        fs::create_dir_all(&results)?;
        let cached = json!({
            "kind": "cniCacheV1", "containerId": "5f3c", "ifName": "eth0", "networkName": "net", "config": "e30=",
        });
        fs::write(results.join("net-5f3c-eth0"), cached.to_string())?;
        let refused = run(&machine, "uninstall")?;
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success()
                && said.contains("CAP_NET_ADMIN")
                && said.contains("1 attachments"),
            "{refused:?}"
        );
        assert!(machine.is_link("bridge") && machine.has_binary()?);
        without_capabilities(&machine, "uninstall --force")
    }

    #[test]
    fn a_plugin_of_another_user_is_kept_and_put_back() -> Result<()> {
        let machine = Machine::with_default_network()?;
        machine.put_foreign("bridge", "the reference plugin")?;
        let bridge = machine.bin_dir().join("bridge");
        chown(&bridge, Some(ANOTHER_USER), Some(ANOTHER_USER))?;
        without_capabilities(&machine, "install --kubernetes")?;
        assert!(machine.is_link("bridge") && machine.has_binary()?);
        assert!(machine.configuration().exists());
        without_capabilities(&machine, "install --kubernetes --check")?;
        without_capabilities(&machine, "uninstall")?;
        assert_eq!(std::fs::metadata(bridge)?.uid(), ANOTHER_USER);
        assert!(!machine.configuration().exists());
        Ok(())
    }
}
