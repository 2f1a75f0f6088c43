//! The heap of the programs, C's functions over it, and how they copy memory.
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

#[cfg(all(target_env = "musl", not(test)))]
mod c;
#[cfg(target_arch = "x86_64")]
mod copy;
mod first_thread;
mod pieces;

use std::alloc::{GlobalAlloc, Layout};
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use talc::DefaultBinning;
use talc::base::binning::Binning;
use talc::base::{CHUNK_UNIT, Talc};
use talc::source::Source;

use first_thread::FirstThread;
use pieces::{Pieces, RUN, Size};

/// By how much the heap grows, at least. The kernel provides a page when it is first touched.
const STEP: usize = 1 << 20;

/// How many bytes of returned pieces the first thread keeps from the others.
const KEPT: usize = 1 << 20;

/// A heap for all threads. The first one has small pieces of its own, and takes no lock for them.
#[derive(Debug)]
pub struct Heap {
    first: FirstThread<Pieces>,
    shared: Mutex<Shared>,
}

#[derive(Debug)]
struct Shared {
    pieces: Pieces,
    large: Large,
}

/// What is not small, and where the runs of small pieces are from.
type Large = Talc<Mappings, DefaultBinning>;

impl Heap {
    /// An empty heap, which gets its first mapping when memory is first requested.
    pub const fn new() -> Self {
        Self {
            first: FirstThread::new(Pieces::new()),
            shared: Mutex::new(Shared {
                pieces: Pieces::new(),
                large: Talc::new(Mappings),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn take(&self, size: Size) -> Option<NonNull<u8>> {
        let Some(mut own) = self.first.get() else {
            return self.lock().take(size);
        };
        // SAFETY: this is the first thread, and nothing else of it uses the pieces now.
        let own = unsafe { own.as_mut() };
        own.take(size).or_else(|| self.supply(own, size))
    }

    /// A piece for the first thread, whose run is too short: one that was returned to the others, or of a new run.
    #[cold]
    fn supply(&self, own: &mut Pieces, size: Size) -> Option<NonNull<u8>> {
        let mut shared = self.lock();
        let returned = shared.pieces.take_returned(size);
        returned.or_else(|| take_of_new_run(&mut shared.large, own, size))
    }

    /// # Safety
    ///
    /// The piece is from [`take`](Self::take) with this size, and no one else's.
    #[inline]
    unsafe fn give(&self, piece: NonNull<u8>, size: Size) {
        // SAFETY: the caller's; if this is the first thread, nothing else of it uses its pieces now.
        unsafe {
            match self.first.get() {
                Some(mut own) if own.as_ref().returned_bytes() < KEPT => {
                    own.as_mut().give(piece, size)
                }
                _ => self.lock().pieces.give(piece, size),
            }
        }
    }
}

impl Shared {
    fn take(&mut self, size: Size) -> Option<NonNull<u8>> {
        self.pieces.take(size).or_else(|| {
            let Self { pieces, large } = self;
            take_of_new_run(large, pieces, size)
        })
    }
}

/// A piece for which the run of `pieces` is too short.
fn take_of_new_run(large: &mut Large, pieces: &mut Pieces, size: Size) -> Option<NonNull<u8>> {
    // SAFETY: the layout is not empty.
    let run = unsafe { large.allocate(RUN) }?;
    // SAFETY: the run is new.
    unsafe { pieces.refill(run) };
    pieces.take(size)
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: a piece is no one else's until it is returned, talc's heap is an allocator, and one thread at a time uses each.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let allocated = match Size::of(layout) {
            Some(size) => self.take(size),
            // SAFETY: the caller's layout is not empty.
            None => unsafe { self.lock().large.allocate(layout) },
        };
        allocated.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's memory is from here, with this layout.
        unsafe {
            match Size::of(layout) {
                Some(size) => self.give(NonNull::new_unchecked(memory), size),
                None => self.lock().large.deallocate(memory, layout),
            }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's memory is from here, with this layout, and the new size is valid for its alignment.
        unsafe {
            let new = Layout::from_size_align_unchecked(size, layout.align());
            let stays = match (Size::of(layout), Size::of(new)) {
                (None, None) => self.lock().large.try_realloc_in_place(memory, layout, size),
                (old, new) => old == new,
            };
            if stays {
                return memory;
            }
            let other = self.alloc(new);
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
    use std::collections::BTreeSet;
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

    const PIECE: Layout = Layout::new::<[u64; 8]>();
    const PIECES: usize = 2000;

    fn some_pieces(heap: &Heap) -> Vec<usize> {
        // SAFETY: the layout is not empty.
        let piece = || unsafe { heap.alloc(PIECE) };
        (0..PIECES).map(|_| piece().expose_provenance()).collect()
    }

    fn give_back(heap: &Heap, pieces: &[usize]) {
        for &piece in pieces {
            // SAFETY: each piece is returned once.
            unsafe { heap.dealloc(ptr::with_exposed_provenance_mut(piece), PIECE) };
        }
    }

    #[test]
    fn what_another_thread_returns_is_used_again() {
        let heap = Heap::new();
        let mut different = BTreeSet::new();
        for _ in 0..50 {
            let pieces = some_pieces(&heap);
            different.extend(pieces.iter().copied());
            thread::scope(|scope| {
                scope.spawn(|| give_back(&heap, &pieces));
            });
        }
        assert!(different.len() < 2 * PIECES, "{}", different.len());
    }

    #[test]
    fn the_first_thread_does_not_keep_all_that_others_took() {
        let heap = Heap::new();
        give_back(&heap, &some_pieces(&heap));
        let mut different = BTreeSet::new();
        for _ in 0..50 {
            let pieces = thread::scope(|scope| {
                let taken = scope.spawn(|| some_pieces(&heap));
                taken.join().expect("no panic")
            });
            different.extend(pieces.iter().copied());
            give_back(&heap, &pieces);
        }
        let most = KEPT / PIECE.size() + 2 * PIECES;
        assert!(different.len() < most, "{}", different.len());
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let heap = Heap::new();
        let layout = Layout::from_size_align(isize::MAX as usize - 7, 8).expect("a layout");
        // SAFETY: the layout is not empty.
        assert!(unsafe { heap.alloc(layout) }.is_null());
    }
}
