//! A process killed at an exact point: before or after its N-th system call that can have an effect
//! outside it. No clock decides.

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr;

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::libc::{self, c_int, c_long, pid_t};

/// Calls that change nothing but the process itself, and do not count.
const WITHOUT_EFFECT: [c_long; 26] = [
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_futex,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sched_getaffinity,
];

/// Stops at system calls are told from signals by this bit (`PTRACE_O_TRACESYSGOOD`).
const SYSCALL_STOP: c_int = libc::SIGTRAP | 0x80;

/// `struct ptrace_syscall_info`, as far as the number of the call.
#[repr(C)]
#[derive(Default)]
struct SyscallInfo {
    op: u8,
    reserved: u8,
    flags: u16,
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// Of the call, where the process enters one.
    number: u64,
    rest: [u64; 8],
}

/// `PTRACE_GET_SYSCALL_INFO`, which the C library's header does not have.
const GET_SYSCALL_INFO: u16 = 0x420e;

const ENTRY: u8 = 1;
const EXIT: u8 = 2;

/// The outcome of a traced process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ended by itself with this status, after so many points.
    Exited { status: c_int, points: usize },
    /// It was killed at the point.
    Killed,
}

/// Runs `command` with `input` on standard input, and kills it at point `kill_at`, if it comes so
/// far. A point is the entry to a call that counts, or the return from it.
pub fn run(command: &mut Command, input: &[u8], kill_at: Option<usize>) -> Result<End> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    // SAFETY: ptrace(2) is a plain system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(|| check(libc::ptrace(libc::PTRACE_TRACEME, 0, NULL, NULL)).map(drop));
    }
    // A process is traced by one thread, which is the one that starts it: this.
    let mut child = command.spawn().context("start the traced process")?;
    let mut stdin = child.stdin.take().context("its standard input")?;
    stdin.write_all(input).context("write its standard input")?;
    drop(stdin);
    let leader = pid_t::try_from(child.id())?;
    let mut tracer = Tracer {
        leader,
        counted: HashSet::new(),
        points: 0,
    };
    let end = tracer.follow(kill_at);
    // Whatever came of it, nothing of it stays.
    let _ = child.kill();
    let _ = child.wait();
    end
}

/// Calls `run` without a point, and then with each of `kills` points, evenly over the whole. It examines what a kill
/// leaves, and returns how its process ended.
///
/// A process that has to wait for something has more points: where one ends before its point, the points are those of
/// this shorter run from there on.
pub fn kill_at_points(
    kills: usize,
    mut run: impl FnMut(Option<usize>) -> Result<End>,
) -> Result<()> {
    let whole = run(None)?;
    let End::Exited {
        status: 0,
        mut points,
    } = whole
    else {
        bail!("it was not killed, and did not succeed: {whole:?}");
    };
    let mut killed = 0;
    while killed < kills {
        ensure!(
            points >= kills,
            "only {points} points: {kills} kills would fall together"
        );
        let point = killed * points / kills;
        // A failed test shows it, however it failed.
        println!("killed at point {point} of {points}");
        match run(Some(point))? {
            End::Killed => killed += 1,
            End::Exited {
                status: 0,
                points: fewer,
            } => points = fewer,
            failed @ End::Exited { .. } => bail!("{failed:?}"),
        }
    }
    Ok(())
}

const NULL: *mut libc::c_void = ptr::null_mut();

struct Tracer {
    leader: pid_t,
    /// The threads that are inside a call that counts.
    counted: HashSet<pid_t>,
    points: usize,
}

impl Tracer {
    fn follow(&mut self, kill_at: Option<usize>) -> Result<End> {
        self.attach()?;
        loop {
            let (thread, status) = wait_any()?;
            if thread == self.leader && libc::WIFEXITED(status) {
                return Ok(End::Exited {
                    status: libc::WEXITSTATUS(status),
                    points: self.points,
                });
            }
            if !libc::WIFSTOPPED(status) {
                continue;
            }
            let signal = libc::WSTOPSIG(status);
            if signal == SYSCALL_STOP && self.is_point(thread)? {
                if kill_at == Some(self.points) {
                    return self.kill();
                }
                self.points += 1;
            }
            let pass_on = match signal {
                // Stops of the tracing itself: calls, new threads, their first stop.
                SYSCALL_STOP | libc::SIGTRAP | libc::SIGSTOP => 0,
                signal => signal,
            };
            resume(thread, pass_on)?;
        }
    }

    /// The process has stopped at its exec(2).
    fn attach(&self) -> Result<()> {
        let mut status = 0;
        // SAFETY: the pointer is to a live integer.
        check_pid(unsafe { libc::waitpid(self.leader, &raw mut status, libc::__WALL) })?;
        ensure!(
            libc::WIFSTOPPED(status),
            "the traced process did not start: {status:#x}"
        );
        let options =
            libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
        // SAFETY: the options are an integer in the place of a pointer, as ptrace(2) wants it.
        check(unsafe {
            libc::ptrace(libc::PTRACE_SETOPTIONS, self.leader, NULL, options as usize)
        })
        .context("set the options of tracing")?;
        resume(self.leader, 0)
    }

    fn is_point(&mut self, thread: pid_t) -> Result<bool> {
        let mut info = SyscallInfo::default();
        // SAFETY: the size is that of the structure, and the kernel writes no more.
        check(unsafe {
            libc::ptrace(
                GET_SYSCALL_INFO.into(),
                thread,
                size_of::<SyscallInfo>(),
                &raw mut info,
            )
        })
        .context("ask for the system call")?;
        Ok(match info.op {
            ENTRY => {
                let call = c_long::try_from(info.number)?;
                let counts = !WITHOUT_EFFECT.contains(&call);
                counts && self.counted.insert(thread)
            }
            EXIT => self.counted.remove(&thread),
            _ => false,
        })
    }

    fn kill(&self) -> Result<End> {
        // SAFETY: the process is this one's child and was not waited for.
        check(unsafe { libc::kill(self.leader, libc::SIGKILL) }.into())?;
        loop {
            let (thread, status) = wait_any()?;
            if thread == self.leader && (libc::WIFSIGNALED(status) || libc::WIFEXITED(status)) {
                ensure!(
                    libc::WIFSIGNALED(status),
                    "the process ended before it was killed"
                );
                return Ok(End::Killed);
            }
        }
    }
}

fn resume(thread: pid_t, signal: c_int) -> Result<()> {
    // SAFETY: the signal is an integer in the place of a pointer, as ptrace(2) wants it.
    let resumed =
        check(unsafe { libc::ptrace(libc::PTRACE_SYSCALL, thread, NULL, signal as usize) });
    match resumed {
        // The thread has ended meanwhile; waiting tells.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        resumed => resumed.map(drop).context("let the process go on"),
    }
}

/// The next event of this thread's own processes: others of the test have theirs.
fn wait_any() -> Result<(pid_t, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live integer.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) } {
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => bail!("wait for the traced process: {}", Errno::last()),
            thread => return Ok((thread, status)),
        }
    }
}

fn check(answer: c_long) -> std::io::Result<c_long> {
    match answer {
        -1 => Err(std::io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

fn check_pid(answer: pid_t) -> std::io::Result<c_long> {
    check(answer.into())
}
