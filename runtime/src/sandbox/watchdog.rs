//! The wall clock of an invocation: advances the engine's epoch when its time is over.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use wasmtime::Engine;

/// Watches one invocation until it is dropped.
pub struct Watchdog {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Advances the engine's epoch at `deadline`. Errors: when no thread can be made.
    pub fn start(engine: &Engine, deadline: Instant) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let (engine, watched) = (engine.clone(), Arc::clone(&over));
        let thread = Builder::new().stack_size(64 << 10).spawn(move || {
            while !watched.load(Ordering::Acquire) {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return engine.increment_epoch();
                }
                std::thread::park_timeout(left);
            }
        })?;
        Ok(Self {
            over,
            thread: Some(thread),
        })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that only waits cannot have panicked.
            let _ = thread.join();
        }
    }
}
