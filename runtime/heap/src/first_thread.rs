//! What only one thread uses, without a lock.

use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A value of the first thread that asks for it.
#[derive(Debug)]
pub(crate) struct FirstThread<T> {
    /// The [`here`] of that thread; zero before there is one.
    thread: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: only one thread gets the value, and it may be moved to that.
unsafe impl<T: Send> Sync for FirstThread<T> {}

impl<T> FirstThread<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            thread: AtomicUsize::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, for the first thread: no other gets it while that one runs.
    #[inline]
    pub(crate) fn get(&self) -> Option<NonNull<T>> {
        let (here, first) = (here(), self.thread.load(Relaxed));
        if first == here || first == 0 && self.claim(here) {
            NonNull::new(self.value.get())
        } else {
            None
        }
    }

    #[cold]
    fn claim(&self, here: usize) -> bool {
        let claimed = self.thread.compare_exchange(0, here, Relaxed, Relaxed);
        claimed.is_ok()
    }
}

/// An address that no two threads have at once. If the first thread ends, a later one may have it, and is the first one then.
#[inline]
fn here() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| ptr::from_ref(here).addr())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn one_thread_gets_the_value() {
        let value = FirstThread::new(7);
        assert!(value.get().is_some());
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(value.get(), None));
        });
        // SAFETY: no other thread has it.
        assert_eq!(value.get().map(|value| unsafe { value.read() }), Some(7));
    }
}
