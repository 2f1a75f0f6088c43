//! The wall clock of an invocation: advances the engine's epoch at its deadline.
//!
//! A kernel timer sends a signal, since a thread for each invocation would cost more than the rest of its set-up. All
//! invocations of a process share the signal: each store checks its own deadline in a new epoch.

use std::io;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::time::TimeSpec;
use wasmtime::Engine;

const SIGNAL: Signal = Signal::SIGALRM;

/// The engine whose epoch the signal advances.
static ENGINE: OnceLock<Engine> = OnceLock::new();

/// Watches one invocation until it is dropped.
pub(crate) struct Watchdog {
    timer: libc::timer_t,
}

impl Watchdog {
    /// Advances the engine's epoch at `deadline`.
    ///
    /// Errors: the kernel's; `Unsupported` for a second engine in one process.
    pub(crate) fn start(engine: &Engine, deadline: Instant) -> io::Result<Self> {
        if !Engine::same(listen(engine)?, engine) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let watchdog = Self { timer: create()? };
        let left = deadline.saturating_duration_since(Instant::now());
        // Zero would stop the timer.
        watchdog.set(left.max(Duration::from_nanos(1)))?;
        Ok(watchdog)
    }

    fn set(&self, left: Duration) -> io::Result<()> {
        let setting = libc::itimerspec {
            it_value: *TimeSpec::from_duration(left).as_ref(),
            it_interval: *TimeSpec::from_duration(Duration::ZERO).as_ref(),
        };
        // SAFETY: the timer is this watchdog's, and the setting is initialised.
        check(unsafe { libc::timer_settime(self.timer, 0, &raw const setting, null_mut()) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // SAFETY: the timer is this watchdog's, and is not used after this. It cannot fail then.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// Installs the signal's handler. Returns its engine.
fn listen(engine: &Engine) -> io::Result<&'static Engine> {
    if let Some(engine) = ENGINE.get() {
        return Ok(engine);
    }
    let action = SigAction::new(
        SigHandler::Handler(advance),
        SaFlags::SA_RESTART | SaFlags::SA_ONSTACK,
        SigSet::empty(),
    );
    // SAFETY: the handler only does an atomic addition.
    unsafe { sigaction(SIGNAL, &action) }?;
    // The process may have been started with the signal blocked.
    SigSet::from_iter([SIGNAL]).thread_unblock()?;
    // Last: a caller that finds the engine relies on the handler.
    Ok(ENGINE.get_or_init(|| engine.clone()))
}

extern "C" fn advance(_signal: libc::c_int) {
    if let Some(engine) = ENGINE.get() {
        engine.increment_epoch();
    }
}

fn create() -> io::Result<libc::timer_t> {
    // SAFETY: zero is valid for each field.
    let mut event: libc::sigevent = unsafe { zeroed() };
    event.sigev_notify = libc::SIGEV_SIGNAL;
    event.sigev_signo = SIGNAL as libc::c_int;
    let mut timer: libc::timer_t = null_mut();
    // SAFETY: the event is initialised, and the timer is a valid place to write to.
    check(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) })?;
    Ok(timer)
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
