//! The program's allocator.
//!
//! musl's gives memory back to the kernel and takes it again hundreds of times in an invocation of a
//! few milliseconds; dlmalloc keeps it. Its own lock is a mutex of the C library's, which in a
//! program of one thread costs as much as the allocation; a spin lock is two instructions.

use std::alloc::{GlobalAlloc, Layout};

use dlmalloc::Dlmalloc;
use spin::Mutex;

/// All memory of the process.
pub struct Heap(Mutex<Dlmalloc>);

impl Heap {
    pub const fn new() -> Self {
        Self(Mutex::new(Dlmalloc::new()))
    }
}

// SAFETY: Dlmalloc keeps the contract of `GlobalAlloc`; the caller keeps that of each function.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { self.0.lock().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { self.0.lock().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { self.0.lock().free(memory, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (old, align) = (layout.size(), layout.align());
        unsafe { self.0.lock().realloc(memory, old, align, size) }
    }
}
