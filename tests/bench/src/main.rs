//! `weir-bench`: measures weir, the reference plugins and the floor in turn and prints the figures.
//!
//! Everything happens in network namespaces and a directory that it makes and takes away again. It
//! runs as root, or without privileges inside `unshare -Urnm`.

mod backend;
mod bandwidth;
mod call;
mod contender;
mod crowd;
mod figures;
mod gate;
mod interfaces;
mod interrupt;
mod large_pages;
mod list;
mod machine;
mod node;
mod outside;
mod plan;
mod pods;
mod ports;
mod samples;
mod scratch;
mod statistics;
mod surroundings;
mod table;
mod turns;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use weir_kit::plugin::ANOTHER_REFERENCE;

use contender::Contenders;
use figures::Figures;
use machine::Machine;
use plan::{Measured, Plan};
use scratch::Scratch;
use surroundings::Surroundings;

/// Measures weir, the reference plugins and the floor in turn: `bridge` with `host-local`, alone and
/// with `portmap` after it, what `bandwidth` leaves to a container, `macvlan`, and in a virtual machine `vlan`, `ipvlan`
/// and `dummy`.
#[derive(Parser)]
#[command(name = "weir-bench", version)]
struct Options {
    /// Directory with weir's links, as `weir install` makes it
    #[arg(long, value_name = "DIR")]
    weir_bin_dir: PathBuf,

    /// Directory with the reference plugins
    #[arg(long, value_name = "DIR", default_value = "/usr/lib/cni")]
    reference_dir: PathBuf,

    /// Directory with reference plugins of a later version, for those that the other lacks: `dummy`
    #[arg(long, value_name = "DIR", env = ANOTHER_REFERENCE)]
    another_reference_dir: Option<PathBuf>,

    /// Directory with the virtual machine's kernel, as `tests/vm/prepare` makes it
    #[arg(long, value_name = "DIR", default_value = "target/vm")]
    machine: PathBuf,

    /// Measure what the virtual machine is for, on this kernel, and print the samples as JSON
    #[arg(long, hide = true)]
    in_machine: bool,

    /// The `weir-floor` program
    #[arg(long, value_name = "FILE")]
    floor: PathBuf,

    /// How often each thing is measured
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u16).range(30..=1000))]
    runs: u16,

    /// Where the leases are while measuring; another file system gives other figures
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    work_dir: PathBuf,

    /// Where all figures and samples are written as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench.json")]
    output: PathBuf,

    /// Fail when a figure misses its "must"
    #[arg(long)]
    enforce: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("weir-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<ExitCode> {
    interrupt::listen()?;
    if options.in_machine {
        return measure_in_machine(options);
    }
    let contenders = Contenders::find(
        &options.floor,
        &options.reference_dir,
        &options.weir_bin_dir,
    )?;
    let scratch = Scratch::create(&options.work_dir)?;
    let surroundings = Surroundings::look(scratch.path())?;
    let machine = Machine {
        contenders: &contenders,
        directory: &options.machine,
        another_reference: options.another_reference_dir.as_deref(),
    };
    let measured = Plan::new(&contenders, &scratch, options.runs.into()).carry_out(&machine)?;
    let figures = Figures::from_measured(&measured, &contenders)?;
    print!("{}", table::render(&surroundings, &measured, &figures));
    write_json(&options.output, &surroundings, &measured, &figures)?;
    Ok(verdict(options.enforce, &figures))
}

fn measure_in_machine(options: &Options) -> Result<ExitCode> {
    let Options {
        floor,
        reference_dir,
        weir_bin_dir,
        ..
    } = options;
    let small = Contenders::in_directories(floor, reference_dir, weir_bin_dir)?;
    let large = large_pages::copy(&small)?;
    let scratch = Scratch::create(&options.work_dir)?;
    let runs = options.runs.into();
    let samples = interfaces::measure_in_machine(&large, &small, &scratch, runs)?;
    println!("{}", serde_json::to_string(&samples)?);
    Ok(ExitCode::SUCCESS)
}

fn write_json(
    path: &Path,
    surroundings: &Surroundings,
    measured: &Measured,
    figures: &Figures,
) -> Result<()> {
    let json = serde_json::json!({
        "surroundings": surroundings,
        "backendOfReference": measured.backend,
        "machineFailed": measured.machine_failed,
        "figures": figures.headlines,
        "programBytes": figures.sizes,
        "milliseconds": measured.samples.times(),
        "peakMemoryBytes": measured.samples.memories(),
        "gateMilliseconds": measured.gate.summary(),
        "bitsPerSecond": measured.throughput,
        "pods": {
            "addMilliseconds": measured.pods.add.summary(),
            "delMilliseconds": measured.pods.del.summary(),
            "peakMemoryBytes": measured.pods.memory.summary(),
            "requests": [measured.pods.requests_of_add, measured.pods.requests_of_del],
        },
    });
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, format!("{json:#}\n")));
    written.with_context(|| format!("--output: write `{}`", path.display()))
}

fn verdict(enforce: bool, figures: &Figures) -> ExitCode {
    let missed: Vec<_> = figures.missed().collect();
    if !enforce || missed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("weir-bench: missed: {}", missed.join("; "));
    ExitCode::FAILURE
}
