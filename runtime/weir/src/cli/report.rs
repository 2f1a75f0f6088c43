//! `weir report-events`: tells the cluster events about a pod, in the background of an ADD.

use std::fs;
use std::io;
use std::os::fd::RawFd;

use anyhow::Result;
use nix::unistd::{close, setsid};
use weir_files::Paths;
use weir_pod::report;

use super::output::show;

/// Tells the events that standard input has.
pub fn run() -> Result<()> {
    leave_the_caller()?;
    report::carry_out(io::stdin().lock(), &Paths::from_environment()).map_err(show)
}

/// What ends the caller's processes together leaves this one; and it keeps no directory of the caller's in
/// use, and nothing open of whose end somebody waits.
fn leave_the_caller() -> Result<()> {
    // Who leads a group of processes, as one that a shell started does, has no need of it.
    let _ = setsid();
    std::env::set_current_dir("/")?;
    for file in open_files()? {
        // The list's own is closed by now.
        let _ = close(file);
    }
    Ok(())
}

/// All but the standard ones.
fn open_files() -> io::Result<Vec<RawFd>> {
    let files = fs::read_dir("/proc/self/fd")?;
    let numbers = files.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.filter(|number| *number > 2).collect())
}
