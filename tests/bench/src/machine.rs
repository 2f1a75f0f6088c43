//! The plugins whose links this machine's kernel may lack: this same program measures them in a virtual machine with
//! Debian's kernel, and hands its samples out.
//!
//! The machine is emulated. Its clock counts instructions, so that the figures neither depend on what else runs here nor on
//! how long it takes to translate code.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use weir_kit::plugin::REFERENCE;
use weir_kit::vm::{LINKS, Vm};

use crate::contender::{Contender, Contenders};
use crate::interfaces::IN_MACHINE;
use crate::samples::Samples;

/// All of it takes one or two minutes. The times hardly differ from run to run.
const RUNS: usize = 30;
const TIMEOUT: Duration = Duration::from_secs(600);

/// Where the guest has what it runs.
const PROGRAM: &str = "/lab/weir-bench";
const FLOOR: &str = "/lab/weir-floor";
const WEIR: &str = "/lab/bin";

/// What the machine is made of.
pub struct Machine<'a> {
    pub contenders: &'a Contenders,
    /// What `tests/vm/prepare` has made.
    pub directory: &'a Path,
    /// Reference plugins that Debian lacks.
    pub another_reference: Option<&'a Path>,
}

impl Machine<'_> {
    /// An error says what is missing, and how to get it.
    pub fn measure(&self, runs: usize) -> Result<Samples> {
        let runs = runs.min(RUNS);
        eprintln!(
            "weir-bench: ADD of vlan, ipvlan and dummy in a virtual machine, {runs} runs each"
        );
        let runs = runs.to_string();
        let output = self.guest()?.run(&[
            PROGRAM,
            "--in-machine",
            "--runs",
            &runs,
            "--floor",
            FLOOR,
            "--weir-bin-dir",
            WEIR,
        ])?;
        ensure!(output.status == 0, "weir-bench failed there:\n{output}");
        serde_json::from_str(&output.stdout)
            .with_context(|| format!("what weir-bench said there:\n{output}"))
    }

    fn guest(&self) -> Result<Vm> {
        let guest = Vm::new(self.directory)
            .modules(&LINKS)
            .count_instructions()
            .timeout(TIMEOUT)
            .tool("ip")
            .file(std::env::current_exe()?, PROGRAM, 0o755)
            .file(self.contenders.floor(), FLOOR, 0o755);
        let reference = IN_MACHINE.iter().filter_map(|name| self.reference(name));
        let guest = reference.fold(guest, |guest, (name, file)| {
            guest.file(file, &format!("{REFERENCE}/{name}"), 0o755)
        });
        let weir = fs::canonicalize(self.contenders.delegating())?;
        let guest = guest.file(weir, &format!("{WEIR}/weir"), 0o755);
        let links = IN_MACHINE.iter();
        Ok(links.fold(guest, |guest, name| {
            guest.symlink("weir", &format!("{WEIR}/{name}"))
        }))
    }

    /// A reference plugin: Debian's, or the other one. Debian has no `dummy`.
    fn reference<'n>(&self, name: &'n str) -> Option<(&'n str, PathBuf)> {
        let debian = self.contenders.search_path(Contender::Reference);
        let mut files = [Some(debian), self.another_reference]
            .into_iter()
            .flatten()
            .map(|directory| directory.join(name));
        Some((name, files.find(|file| file.is_file())?))
    }
}
