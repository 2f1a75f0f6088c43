//! Writes the part of a linker script that puts side by side what some calls of a binary ran and read
//! (`docs/decisions/0016-speed.md`).
//!
//! usage: `weir-link-layout MAP TRACE...`, the linker's map of the binary, and for each call what `valgrind --tool=lackey
//! --trace-mem=yes` wrote of it. The first call is the one that should touch the fewest pages.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufReader;

use anyhow::{Context, Result, bail};
use weir_link_layout::{Map, Touched, script};

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let Some((map, traces)) = arguments.split_first() else {
        bail!("usage: weir-link-layout MAP TRACE...");
    };
    let text = fs::read_to_string(map).context("the linker's map")?;
    let map = Map::read(&text).context("the linker's map")?;
    let calls = traces.iter().map(touched).collect::<Result<Vec<_>>>()?;
    print!("{}", script(&map, &calls)?);
    Ok(())
}

fn touched(trace: &OsString) -> Result<Touched> {
    let file = File::open(trace).map_err(anyhow::Error::from);
    let touched = file.and_then(|file| Touched::read(BufReader::new(file)));
    touched.with_context(|| format!("the trace `{}`", trace.display()))
}
