//! Capability `native`: a native CNI plugin's program, as it was looked at, run to its end.
//!
//! What was hashed is what runs: the file is copied into memory once, sealed, and run from there. The
//! program inherits nothing from weir: no variable, no descriptor, no signal mask.

mod output;
mod sealed;
mod watch;

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, getpid, getppid, setsid};
use weir_files::memory;
use weir_gate::Permit;
use weir_grant::document::Digest;
use weir_grant::native::Execute;

pub use sealed::Sealed;

/// The most that a program may print, in bytes; a CNI result has a few hundred.
pub(crate) const MOST_OUTPUT: usize = 4 << 20;

/// How much of what a program says on standard error is kept, in bytes.
pub const MOST_MESSAGES: usize = 64 << 10;

/// How a program is called.
#[derive(Clone, Debug)]
pub struct Call {
    /// `argv[0]`, which some programs evaluate.
    pub called_as: String,
    /// The other arguments.
    pub arguments: Vec<String>,
    /// All of its environment.
    pub environment: Vec<(&'static str, String)>,
    /// Its standard input.
    pub input: Vec<u8>,
    /// From its start to its end.
    pub time: Duration,
}

/// The outcome of a program that ended by itself.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    /// At most 4 MiB.
    pub output: Vec<u8>,
    /// At most [`MOST_MESSAGES`], from the beginning.
    pub messages: Vec<u8>,
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing has run.
    #[error("{authorised} was authorised, and {here} is here")]
    Other { authorised: Digest, here: Digest },
    /// Nothing has run.
    #[error("it cannot be run: {0}")]
    Start(#[source] io::Error),
    #[error("{excess} and was killed")]
    Killed {
        excess: Excess,
        /// What it had said on standard error by then: at most [`MOST_MESSAGES`], from the beginning.
        messages: Vec<u8>,
    },
    /// It was killed.
    #[error("it cannot be waited for: {0}")]
    Io(#[from] io::Error),
}

/// What a program is killed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    #[error("it did not end within {0:?}")]
    Time(Duration),
    #[error("it printed more than {MOST_OUTPUT} bytes")]
    Output,
}

impl Error {
    /// Whether the program may have run.
    pub fn has_run(&self) -> bool {
        !matches!(self, Self::Other { .. } | Self::Start(_))
    }

    /// Returns what the program wrote to standard error.
    pub fn messages(&self) -> &[u8] {
        match self {
            Self::Killed { messages, .. } => messages,
            _ => &[],
        }
    }
}

/// Runs a program and waits for it to end. If it takes too long or prints too much, its process group is killed.
pub fn run(permit: &Permit<Execute>, program: &Sealed, call: &Call) -> Result<Ended, Error> {
    let authorised = &permit.operation().digest;
    if authorised != program.digest() {
        return Err(Error::Other {
            authorised: authorised.clone(),
            here: program.digest().clone(),
        });
    }
    let mut child = start(program, call).map_err(Error::Start)?;
    let said = watch::until_end(&mut child, call.time);
    if said.is_err() {
        kill(&mut child);
    }
    let status = child.wait();
    let (output, messages) = said?;
    let status = status?;
    Ok(Ended {
        status: status.code(),
        signal: status.signal(),
        output,
        messages,
    })
}

fn start(program: &Sealed, call: &Call) -> io::Result<Child> {
    let variables = call.environment.iter().map(|(name, value)| (name, value));
    let own = getpid();
    let mut command = Command::new(program.path());
    command
        .arg0(&call.called_as)
        .args(&call.arguments)
        .env_clear()
        .envs(variables)
        .current_dir("/")
        .stdin(memory::input(c"stdin", &call.input)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: between fork and exec it only makes system calls: it takes no lock and does not allocate.
    unsafe { command.pre_exec(move || become_alone(own)) };
    command.spawn()
}

/// Gives the child its own session and process group, ends it with weir, closes every descriptor but the three, and
/// resets signal handlers. The standard library clears the signal mask.
///
/// Errors: weir, whose process this is, has ended before.
fn become_alone(weir: Pid) -> io::Result<()> {
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: no handler is installed, only the system's default action; two signals have no other.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    setsid()?;
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != weir {
        return Err(Errno::ESRCH.into());
    }
    umask(Mode::from_bits_truncate(0o022));
    // SAFETY: the call takes three numbers, and descriptors are closed by exec alone.
    let closed = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            CLOSE_RANGE_CLOEXEC,
        )
    };
    match Errno::result(closed) {
        // Linux before 5.11 lacks the flag. weir's own descriptors are close-on-exec in any case.
        Ok(_) | Err(Errno::ENOSYS | Errno::EINVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The last of Linux's real-time signals.
const LAST_SIGNAL: libc::c_int = 64;

/// Closes at exec, not at once: the program itself is reached through a descriptor.
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;

/// Kills a program that has not been waited for, so that its process id is still valid.
fn kill(child: &mut Child) {
    if let Ok(id) = i32::try_from(child.id()) {
        // It leads its group, which is gone if it has ended.
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
    let _ = child.kill();
}

#[cfg(test)]
mod tests;
