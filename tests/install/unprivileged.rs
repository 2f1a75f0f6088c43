//! As the DaemonSet runs it: root without a capability.

mod needs_root {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::process::Command;

    use anyhow::{Context, Result};

    use crate::machine::Machine;

    /// Whose the reference plugins often are: their archive's.
    const ANOTHER_USER: u32 = 1001;

    /// Runs weir with these words as root without a capability.
    fn without_capabilities(machine: &Machine, words: &str) -> Result<()> {
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
        let output = setpriv.output().context("run setpriv (util-linux)")?;
        assert!(output.status.success(), "weir {words}: {output:?}");
        Ok(())
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
