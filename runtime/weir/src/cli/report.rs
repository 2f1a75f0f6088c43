//! `weir report-events`: reports events about a pod to the cluster, in the background of an ADD.

use std::fs;
use std::io;
use std::os::fd::RawFd;

use anyhow::Result;
use nix::unistd::{close, setsid};
use weir_files::Paths;
use weir_pod::report;

use super::output::show;

pub fn run() -> Result<()> {
    leave_the_caller()?;
    report::carry_out(io::stdin().lock(), &Paths::from_environment()).map_err(show)
}

/// Leaves the caller's session and directory, and closes all files that it inherited, since their readers may wait for their
/// end.
fn leave_the_caller() -> Result<()> {
    // It fails for the leader of a process group, which a shell started.
    let _ = setsid();
    std::env::set_current_dir("/")?;
    for file in open_files()? {
        // The file of the list itself is closed already.
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
