//! Writes the part of a linker script that puts side by side what some calls of a binary ran and read
//! (`docs/decisions/0016-speed.md`).
//!
//! usage: `weir-link-layout MAP <TRACE`, the linker's map of the binary, and what `valgrind --tool=lackey --trace-mem=yes`
//! wrote of its calls, one after the other.

use std::env;
use std::fs;
use std::io;

use anyhow::{Context, Result, bail};
use weir_link_layout::{Map, Touched, script};

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [map] = &arguments[..] else {
        bail!("usage: weir-link-layout MAP <TRACE");
    };
    let text = fs::read_to_string(map).context("the linker's map")?;
    let map = Map::read(&text).context("the linker's map")?;
    let touched = Touched::read(io::stdin().lock()).context("the trace")?;
    print!("{}", script(&map, &touched)?);
    Ok(())
}
