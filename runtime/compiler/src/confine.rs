//! What the compiler's process gives up before it reads an untrusted component: everything but its open files, memory and
//! exit.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use anyhow::{Context, Result};
use nix::libc;
use nix::sys::resource::{Resource, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// Seconds of processor time. A standard plugin takes less than one.
const TIME: u64 = 60;

/// Bytes of address space.
const MEMORY: u64 = 4 << 30;

/// Bytes of code, the output, which weir keeps in memory.
const CODE: u64 = 256 << 20;

/// The system calls of a program that only computes. None opens or creates anything.
const ALLOWED: [i64; 16] = [
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Allowed unless they make memory executable.
const ALLOWED_WITHOUT_EXEC: [i64; 2] = [libc::SYS_mmap, libc::SYS_mprotect];

/// The index of their argument with the memory's protection.
const PROTECTION: u8 = 2;

/// Confines the calling process for good. The kernel kills it for any other system call, with `SIGSYS`.
///
/// Errors: the kernel has no seccomp filters.
pub fn this_process() -> Result<()> {
    setrlimit(Resource::RLIMIT_CPU, TIME, TIME).context("limit the processor time")?;
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY).context("limit the memory")?;
    setrlimit(Resource::RLIMIT_FSIZE, CODE, CODE).context("limit the size of the code")?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0).context("limit the core file")?;
    apply_filter(&filter()?).context("install the filter of system calls")
}

fn filter() -> Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    for call in ALLOWED_WITHOUT_EXEC {
        rules.insert(call, vec![without_exec()?]);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        ARCH.try_into()?,
    )?;
    Ok(filter.try_into()?)
}

fn without_exec() -> Result<SeccompRule> {
    let exec = u64::try_from(libc::PROT_EXEC)?;
    let not_executable = SeccompCondition::new(
        PROTECTION,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(exec),
        0,
    )?;
    Ok(SeccompRule::new(vec![not_executable])?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::UdpSocket;
    use std::num::NonZeroUsize;
    use std::process::{Command, exit};

    use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    use super::*;
    use crate::Compiler;

    /// How a confined process ends that does this.
    fn end_of(act: impl FnOnce()) -> WaitStatus {
        // SAFETY: the child confines itself, acts and exits; nothing of it returns to the test.
        match unsafe { fork() }.expect("a process") {
            ForkResult::Parent { child } => waitpid(child, None).expect("its end"),
            ForkResult::Child => {
                let Ok(()) = this_process() else { exit(2) };
                act();
                exit(0)
            }
        }
    }

    fn killed(act: impl FnOnce()) -> bool {
        matches!(end_of(act), WaitStatus::Signaled(_, Signal::SIGSYS, _))
    }

    #[test]
    fn it_opens_no_file() {
        assert!(killed(|| drop(File::open("/etc/passwd"))));
    }

    #[test]
    fn it_has_no_network() {
        assert!(killed(|| drop(UdpSocket::bind("127.0.0.1:0"))));
    }

    #[test]
    fn it_starts_no_process() {
        assert!(killed(|| drop(Command::new("/bin/true").status())));
    }

    #[test]
    fn it_makes_no_memory_executable() {
        assert!(killed(|| {
            let all = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE | ProtFlags::PROT_EXEC;
            let page = NonZeroUsize::MIN;
            // SAFETY: new memory, wherever the kernel puts it.
            let _ = unsafe { mmap_anonymous(None, page, all, MapFlags::MAP_PRIVATE) };
        }));
    }

    #[test]
    fn it_compiles() {
        let compiler = Compiler::new().expect("this target has a compiler");
        let end = end_of(|| {
            let empty = b"\0asm\x0d\0\x01\0";
            exit(compiler.compile(empty).is_err().into());
        });
        assert!(matches!(end, WaitStatus::Exited(_, 0)), "{end:?}");
    }
}
