//! `weir-compiler`: reads a component on standard input, writes its code to standard output.
//!
//! It is built into the weir binary, which runs it when a plugin is installed or inspected. A compiler is a large program that
//! reads untrusted bytes, so it has its own process, which gives up everything but these two files before it reads the first
//! byte. And weir, which starts for every container, starts without it.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use weir_compiler::{Compiler, confine};

/// As in weir: with musl's, compiling takes a fifth longer.
#[global_allocator]
static HEAP: weir_heap::Heap = weir_heap::Heap::new();

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let compiler = Compiler::new().map_err(|e| anyhow!("{e:#}"))?;
    confine::this_process().context("give up what a compiler does not need")?;
    let mut component = Vec::new();
    io::stdin()
        .read_to_end(&mut component)
        .context("read the component")?;
    let code = compiler.compile(&component).map_err(|e| anyhow!("{e:#}"))?;
    io::stdout().write_all(&code).context("write the code")
}
