//! The heap of the programs, and how they copy memory.
//!
//! An invocation takes and returns memory ten thousand times, ends after a few milliseconds, and has a few hundred kilobytes
//! in use at the most. Each page that is touched for the first time costs a microsecond. So this heap has nothing to set up,
//! keeps what is in use close together, and uses again what was returned; the kernel gets it back when the process ends.
//!
//! This crate must not know anything of weir: the program and the compiler of plugins use it as their global allocator, and so do
//! the tests. It is optimised also in a quick build, since every call goes through it.
//!
//! # Example
//!
//! ```
//! #[global_allocator]
//! static HEAP: weir_heap::Heap = weir_heap::Heap::new();
//!
//! assert_eq!(vec![7; 3].len(), 3);
//! ```

#[cfg(target_arch = "x86_64")]
mod copy;

use std::alloc::{GlobalAlloc, Layout};
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use talc::DefaultBinning;
use talc::base::binning::Binning;
use talc::base::{CHUNK_UNIT, Talc};
use talc::source::Source;

/// By how much the heap grows, at least. The kernel provides a page when it is first touched.
const STEP: usize = 1 << 20;

/// A heap for all threads.
#[derive(Debug)]
pub struct Heap(Mutex<Talc<Mappings, DefaultBinning>>);

impl Heap {
    /// An empty heap, which gets its first mapping when memory is first requested.
    pub const fn new() -> Self {
        Self(Mutex::new(Talc::new(Mappings)))
    }

    fn lock(&self) -> MutexGuard<'_, Talc<Mappings, DefaultBinning>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: talc's heap is an allocator, and one thread at a time uses it.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is not empty.
        let allocated = unsafe { self.lock().allocate(layout) };
        allocated.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's memory is from here, with this layout.
        unsafe { self.lock().deallocate(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's memory is from here, with this layout, and the new size is valid for its alignment.
        unsafe {
            if self.lock().try_realloc_in_place(memory, layout, size) {
                return memory;
            }
            let other = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !other.is_null() {
                other.copy_from_nonoverlapping(memory, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            other
        }
    }
}

/// Where the heap's memory is from: private mappings.
#[derive(Debug)]
struct Mappings;

// SAFETY: a mapping is requested from the kernel, not from an allocator.
unsafe impl Source for Mappings {
    fn acquire<B: Binning>(heap: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        // The heap's own tables, and what lies around one piece of memory.
        let overhead = talc::min_first_heap_size::<B>() + 2 * CHUNK_UNIT + layout.align();
        let needed = layout.size().checked_add(overhead).ok_or(())?;
        let size = needed.checked_next_multiple_of(STEP).ok_or(())?;
        let size = NonZeroUsize::new(size).ok_or(())?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping touches no other memory.
        let mapping = unsafe { mmap_anonymous(None, size, protection, MapFlags::MAP_PRIVATE) };
        let mapping = mapping.map_err(drop)?;
        // SAFETY: the mapping is new, and stays.
        unsafe { heap.claim(mapping.as_ptr().cast(), size.get()) }
            .map(drop)
            .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Every size around a mapping's, and every alignment: one mapping is enough for one piece.
    #[test]
    fn a_piece_of_any_size_is_found_and_can_be_written() {
        let heap = Heap::new();
        for align in [1, 16, 4096, 2 * STEP] {
            for size in (STEP - 2048..STEP + 64).step_by(8).chain([1, 8, 5 * STEP]) {
                let layout = Layout::from_size_align(size, align).expect("a layout");
                // SAFETY: the layout is not empty, and the piece is returned once.
                unsafe {
                    let piece = heap.alloc(layout);
                    assert!(!piece.is_null() && piece.addr().is_multiple_of(align));
                    piece.add(size - 1).write(1);
                    heap.dealloc(piece, layout);
                }
            }
        }
    }

    #[test]
    fn what_is_moved_keeps_its_bytes() {
        let heap = Heap::new();
        let layout = |size| Layout::from_size_align(size, 8).expect("a layout");
        // SAFETY: the layouts are not empty, and each piece is returned once.
        unsafe {
            let (mut piece, mut size) = (heap.alloc(layout(64)), 64);
            piece.write_bytes(7, size);
            let between = heap.alloc(layout(64));
            for larger in [65, 5000, 3 * STEP, 40] {
                piece = heap.realloc(piece, layout(size), larger);
                size = larger;
                let bytes = std::slice::from_raw_parts(piece, 40);
                assert_eq!(bytes, [7; 40], "after {larger} bytes");
            }
            heap.dealloc(between, layout(64));
            heap.dealloc(piece, layout(size));
        }
    }

    #[test]
    fn threads_share_it() {
        let heap = Heap::new();
        thread::scope(|scope| {
            for byte in 0..4u8 {
                let heap = &heap;
                scope.spawn(move || {
                    let layout = Layout::array::<u8>(100).expect("a layout");
                    for _ in 0..10_000 {
                        // SAFETY: the layout is not empty, and the piece is returned once.
                        unsafe {
                            let piece = heap.alloc(layout);
                            piece.write_bytes(byte, 100);
                            assert_eq!(*std::slice::from_raw_parts(piece, 100), [byte; 100]);
                            heap.dealloc(piece, layout);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let heap = Heap::new();
        let layout = Layout::from_size_align(isize::MAX as usize - 7, 8).expect("a layout");
        // SAFETY: the layout is not empty.
        assert!(unsafe { heap.alloc(layout) }.is_null());
    }
}
