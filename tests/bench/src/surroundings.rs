//! What a reader must know of the machine to judge the figures.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use serde::Serialize;

#[derive(Serialize)]
pub struct Surroundings {
    /// `uname -r`.
    pub kernel: String,
    pub processor: String,
    pub processors: usize,
    /// The file system that the leases are on.
    pub file_system: String,
    /// What runs the virtual machine, such as `QEMU 10.0.2`; empty if there is none.
    pub emulator: String,
    /// Processes that wanted to run before the first measurement, over one minute.
    pub load: f64,
}

impl Surroundings {
    /// Whether others used a processor while this was about to measure: the figures then tell of
    /// them, too.
    pub fn is_busy(&self) -> bool {
        self.load >= 1.0
    }

    pub fn look(work_dir: &Path) -> Result<Self> {
        Ok(Self {
            kernel: read("/proc/sys/kernel/osrelease")?,
            processor: processor(&read("/proc/cpuinfo")?),
            processors: available_parallelism()?.get(),
            file_system: file_system(work_dir)?,
            emulator: emulator().unwrap_or_default(),
            load: load(&read("/proc/loadavg")?)?,
        })
    }
}

fn read(path: &str) -> Result<String> {
    Ok(fs::read_to_string(path)
        .with_context(|| path.to_owned())?
        .trim()
        .to_owned())
}

/// Not every architecture tells a name.
fn processor(cpuinfo: &str) -> String {
    let line = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = line.map_or(std::env::consts::ARCH, |line| {
        line.trim_start_matches([' ', '\t', ':'])
    });
    name.to_owned()
}

fn file_system(path: &Path) -> Result<String> {
    let output = Command::new("findmnt")
        .args(["--noheadings", "--output", "FSTYPE", "--target"])
        .arg(path)
        .output()
        .context("run `findmnt`: install the package util-linux")?;
    // One line for each mount over another; the last is what is seen.
    let types = String::from_utf8_lossy(&output.stdout);
    Ok(types.lines().last().unwrap_or("unknown").trim().to_owned())
}

/// It says `QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)`.
fn emulator() -> Option<String> {
    let mut qemu = Command::new("qemu-system-x86_64");
    let said = qemu.arg("--version").output().ok()?.stdout;
    let said = String::from_utf8_lossy(&said);
    let (_, version) = said.lines().next()?.split_once(" version ")?;
    let version = version.split_ascii_whitespace().next()?;
    Some(format!("QEMU {version}"))
}

fn load(loadavg: &str) -> Result<f64> {
    let first = loadavg.split_whitespace().next();
    first
        .and_then(|number| number.parse().ok())
        .context("/proc/loadavg")
}
