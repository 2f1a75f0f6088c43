//! Calls that began before weir's links were removed, and have not ended.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::cli::output::complain;

/// Longer than any call may take.
const PATIENCE: Duration = Duration::from_secs(70);
const PAUSE: Duration = Duration::from_millis(20);

/// Until a process that has opened its program is seen to run it.
const LOADING: Duration = Duration::from_millis(200);

/// The variable that makes a process a plugin's call.
const COMMAND: &[u8] = b"CNI_COMMAND=";

/// Waits for the calls of weir's plugins in this network namespace, which run this program.
pub fn wait(program: &Path) {
    thread::sleep(LOADING);
    let until = Instant::now() + PATIENCE;
    for call in calls(program) {
        while call.exists() {
            if Instant::now() > until {
                complain(&format!(
                    "process {}, a call of a plugin, has not ended: what it makes is not handed over",
                    call.file_name().unwrap_or_default().to_string_lossy()
                ));
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Waits until something `is_over`, for as long as a call may take.
pub fn wait_until(mut is_over: impl FnMut() -> Result<bool>) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while !is_over()? && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    Ok(())
}

fn calls(program: &Path) -> Vec<PathBuf> {
    let Ok(program) = fs::metadata(program).map(identity) else {
        return Vec::new();
    };
    let own = fs::metadata("/proc/self/ns/net").map(identity).ok();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.map(|entry| entry.path());
    processes
        .filter(|process| {
            let of = |file: &str| fs::metadata(process.join(file)).map(identity).ok();
            of("exe") == Some(program) && of("ns/net") == own && is_call(process)
        })
        .collect()
}

fn identity(metadata: Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn is_call(process: &Path) -> bool {
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| variable.starts_with(COMMAND))
}
