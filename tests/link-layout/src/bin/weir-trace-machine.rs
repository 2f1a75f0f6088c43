//! Runs the calls of weir whose links this machine's kernel may lack in a virtual machine with Debian's kernel, and prints which
//! code they ran, as a trace (what they read is not known).
//!
//! usage: `weir-trace-machine MACHINE WEIR CALLS`: what `tests/vm/prepare` made, the binary, and `tests/profile-calls`.

use std::env;
use std::fs::File;
use std::io::{BufReader, Write, stdout};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use weir_kit::vm::{LINKS, Vm};
use weir_link_layout::Touched;

/// Where the binary's code is: it has a fixed address. So has busybox, which is smaller, and lies below.
const ADDRESSES: Range<u64> = 0x100_0000..0x1000_0000;

/// One call of each kind.
const SCRIPT: &str = "IP=/usr/sbin/ip /lab/profile-calls /lab/weir 1 vlan ipvlan dummy";

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [machine, weir, calls] = &arguments[..] else {
        bail!("usage: weir-trace-machine MACHINE WEIR CALLS");
    };
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("executed");
    let guest = Vm::new(Path::new(machine))
        .modules(&LINKS)
        .log_executed(ADDRESSES, &log)
        .tool("ip")
        .file(weir, "/lab/weir", 0o755)
        .file(calls, "/lab/profile-calls", 0o755);
    let output = guest
        .run(&["sh", "-c", SCRIPT])
        .context("the virtual machine")?;
    ensure!(
        output.status == 0,
        "the calls failed in the virtual machine\n{output}"
    );
    let log = File::open(&log).context("what QEMU wrote down")?;
    let ran = Touched::of_emulator(BufReader::new(log)).context("what QEMU wrote down")?;
    stdout().write_all(ran.trace().as_bytes())?;
    Ok(())
}
