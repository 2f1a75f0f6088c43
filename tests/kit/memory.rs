//! The peak memory of one process: its own, without what it had of this program before its exec, which
//! `ru_maxrss` counts.
//!
//! The kernel is asked when the process is about to end and has everything yet: it stops there, as it is
//! traced, and nowhere else on its way.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::libc::{self, c_int, c_long, c_void, pid_t};

use super::plugin::Outcome;

const NULL: *mut c_void = std::ptr::null_mut();

/// How a stop tells that the process is about to end.
const ABOUT_TO_END: c_int = libc::SIGTRAP | (libc::PTRACE_EVENT_EXIT << 8);

/// The outcome of a process, and the most memory that it had at one time.
#[derive(Clone, Debug)]
pub struct Measured {
    pub outcome: Outcome,
    /// Its largest resident set, in bytes (`VmHWM`).
    pub peak: u64,
}

/// Runs `command` with `input` on standard input, in the calling thread's namespace. Processes that it
/// starts are not counted.
pub fn measure(command: &mut Command, input: &[u8]) -> Result<Measured> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: ptrace(2) is a plain system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(|| check(libc::ptrace(libc::PTRACE_TRACEME, 0, NULL, NULL)));
    }
    // A process is traced by one thread, which is the one that starts it: this.
    let mut child = command.spawn().context("start the process")?;
    let measured = follow(&mut child, input);
    // Whatever came of it, nothing of it stays.
    let _ = child.kill();
    let _ = child.wait();
    measured
}

fn follow(child: &mut Child, input: &[u8]) -> Result<Measured> {
    let process = pid_t::try_from(child.id())?;
    let mut stdin = child.stdin.take().context("its standard input")?;
    let mut stdout = child.stdout.take().context("its standard output")?;
    let mut stderr = child.stderr.take().context("its standard error")?;
    let (input, mut printed, mut errors) = (input.to_owned(), Vec::new(), Vec::new());
    thread::scope(|scope| {
        // A program that ends before it reads has a status that says so.
        scope.spawn(move || drop(stdin.write_all(&input)));
        let output = scope.spawn(|| stdout.read_to_end(&mut printed));
        let error = scope.spawn(|| stderr.read_to_end(&mut errors));
        let ended = to_the_end(process);
        if ended.is_err() {
            // Or the readers would wait for it.
            // SAFETY: the process is this one's child and was not waited for.
            let _ = unsafe { libc::kill(process, libc::SIGKILL) };
        }
        for reader in [output, error] {
            let read = reader.join().map_err(|_| anyhow::anyhow!("a reader"))?;
            read.context("read what it writes")?;
        }
        ended
    })
    .map(|(status, peak)| Measured {
        outcome: Outcome {
            status,
            stdout: String::from_utf8_lossy(&printed).into_owned(),
            stderr: String::from_utf8_lossy(&errors).into_owned(),
        },
        peak,
    })
}

/// Returns the exit status, if no signal ended it, and the peak.
fn to_the_end(process: pid_t) -> Result<(Option<i32>, u64)> {
    // It has stopped at its exec(2).
    let status = wait(process)?;
    ensure!(
        libc::WIFSTOPPED(status),
        "the process did not start: {status:#x}"
    );
    let options = libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL;
    // SAFETY: the options are an integer in the place of a pointer, as ptrace(2) wants it.
    check(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, process, NULL, options as usize) })
        .context("set the options of tracing")?;
    let (mut signal, mut peak) = (0, None);
    loop {
        // SAFETY: the signal is an integer in the place of a pointer, as ptrace(2) wants it.
        check(unsafe { libc::ptrace(libc::PTRACE_CONT, process, NULL, signal as usize) })
            .context("let the process go on")?;
        let status = wait(process)?;
        if !libc::WIFSTOPPED(status) {
            let status = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
            let peak = peak.context("the process ended without a stop")?;
            return Ok((status, peak));
        }
        signal = match status >> 8 {
            ABOUT_TO_END => {
                peak = Some(high_water(process)?);
                0
            }
            // The signal on which it stops is delivered to it.
            _ => libc::WSTOPSIG(status),
        };
    }
}

/// `VmHWM`, in bytes.
fn high_water(process: pid_t) -> Result<u64> {
    let file = format!("/proc/{process}/status");
    let status = fs::read_to_string(&file).with_context(|| format!("read `{file}`"))?;
    let kilobytes = status.lines().find_map(|line| {
        let figure = line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?;
        figure.parse::<u64>().ok()
    });
    let kilobytes = kilobytes.with_context(|| format!("`{file}` has no VmHWM:\n{status}"))?;
    Ok(kilobytes * 1024)
}

fn wait(process: pid_t) -> Result<c_int> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live integer.
        match unsafe { libc::waitpid(process, &raw mut status, libc::__WALL) } {
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => bail!("wait for the process: {}", Errno::last()),
            _ => return Ok(status),
        }
    }
}

fn check(answer: c_long) -> std::io::Result<()> {
    match answer {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEBIBYTE: u64 = 1 << 20;

    /// The shell's own, and what one value in it takes besides.
    #[test]
    fn it_is_the_processs_own_memory() -> Result<()> {
        // What this program has is not counted.
        let own = vec![1_u8; 64 << 20];
        let shell = |script: &str| measure(Command::new("sh").args(["-c", script]), b"in");
        let small = shell("cat; echo out; echo err >&2; exit 3")?;
        assert_eq!(small.outcome.status, Some(3));
        assert_eq!(small.outcome.stdout, "inout\n");
        assert_eq!(small.outcome.stderr, "err\n");
        assert!(small.peak > 0 && small.peak < 16 * MEBIBYTE, "{small:?}");
        let large = shell("x=$(head -c 33554432 /dev/zero | tr '\\0' x); unset x; true")?;
        assert!(large.peak > 32 * MEBIBYTE, "{large:?}");
        assert!(own.iter().all(|byte| *byte == 1));
        Ok(())
    }

    #[test]
    fn one_that_a_signal_ends_has_no_status() -> Result<()> {
        let measured = measure(Command::new("sh").args(["-c", "kill -TERM $$"]), b"")?;
        assert_eq!(measured.outcome.status, None);
        assert!(measured.peak > 0, "{measured:?}");
        Ok(())
    }

    #[test]
    fn one_that_cannot_be_run_is_an_error() {
        assert!(measure(&mut Command::new("/no/such/program"), b"").is_err());
    }
}
