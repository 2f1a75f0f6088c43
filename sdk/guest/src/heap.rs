//! The heap of a plugin that is built with the feature `heap`, in place of the standard library's.
//!
//! An instance runs one command and ends. So memory is cut from the linear memory piece by piece, in powers of two, and a piece
//! that is returned is kept for the next request of its size. What the linker leaves behind the plugin's data is used first:
//! most commands need no more.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

/// How many bytes `memory.grow` adds for each page.
const PAGE: usize = 64 << 10;

/// Pieces hold at least a pointer to the next one.
const LEAST: usize = 8;

/// Pieces are aligned at their size, up to this many bytes.
const MOST_ALIGNED: usize = 4096;

/// A linear memory.
trait Memory {
    /// What the linker has left behind the data: its first address, and the first behind it.
    fn rest(&self) -> (usize, usize);

    /// Makes the memory larger. Returns whether it is.
    fn grow(&self, pages: usize) -> bool;
}

/// A heap for one thread.
struct Heap<M> {
    memory: M,
    /// The returned piece of each size that was returned last, which says where the one before is; zero for none.
    returned: [Cell<usize>; usize::BITS as usize],
    /// What is not cut yet.
    next: Cell<usize>,
    end: Cell<usize>,
}

impl<M: Memory> Heap<M> {
    const fn new(memory: M) -> Self {
        Self {
            memory,
            returned: [const { Cell::new(0) }; usize::BITS as usize],
            next: Cell::new(0),
            end: Cell::new(0),
        }
    }

    /// Cuts a piece; none if the memory cannot be made larger.
    fn cut(&self, size: usize) -> Option<usize> {
        let start = self.next.get().next_multiple_of(size.min(MOST_ALIGNED));
        let end = start.checked_add(size)?;
        if end > self.end.get() {
            return self.make_room(size);
        }
        self.next.set(end);
        Some(start)
    }

    #[cold]
    fn make_room(&self, size: usize) -> Option<usize> {
        if self.end.get() == 0 {
            let (next, end) = self.memory.rest();
            self.next.set(next);
            self.end.set(end);
            return self.cut(size);
        }
        let pages = size.div_ceil(PAGE);
        if !self.memory.grow(pages) {
            return None;
        }
        self.end.set(self.end.get() + pages * PAGE);
        self.cut(size)
    }

    /// Makes the piece that was cut last larger, if it is that and there is room.
    fn extend(&self, piece: usize, size: usize, new: usize) -> bool {
        let end = piece + new;
        let extends = piece + size == self.next.get() && end <= self.end.get();
        if extends {
            self.next.set(end);
        }
        extends
    }
}

/// The size of a piece for a layout; none if there is no such piece.
fn size_for(layout: Layout) -> Option<usize> {
    let size = layout.size().max(layout.align()).max(LEAST);
    size.checked_next_power_of_two()
        .filter(|_| layout.align() <= MOST_ALIGNED)
}

// SAFETY: a piece is as long as its layout or longer, aligned at as much, and no one else's until it is returned.
unsafe impl<M: Memory> GlobalAlloc for Heap<M> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(size) = size_for(layout) else {
            return ptr::null_mut();
        };
        let last = &self.returned[size.trailing_zeros() as usize];
        let piece = match last.get() {
            0 => self.cut(size),
            piece => {
                // SAFETY: `dealloc` wrote it, and no one has had the piece since.
                last.set(unsafe { *ptr::with_exposed_provenance::<usize>(piece) });
                Some(piece)
            }
        };
        piece.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let Some(size) = size_for(layout) else {
            return;
        };
        let last = &self.returned[size.trailing_zeros() as usize];
        // SAFETY: the piece is the caller's, from `alloc` with this layout.
        unsafe { *piece.cast::<usize>() = last.get() };
        last.set(piece.expose_provenance());
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let sizes = size_for(layout).zip(size_for(new));
        if sizes.is_some_and(|(old, new)| {
            old == new || new > old && self.extend(piece.expose_provenance(), old, new)
        }) {
            return piece;
        }
        // SAFETY: the piece is the caller's, from `alloc` with its layout, and returned once.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(piece, layout.size().min(size));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod linear {
    use std::arch::wasm32::{memory_grow, memory_size};
    use std::ptr;

    use super::{Heap, Memory, PAGE};

    struct Linear;

    impl Memory for Linear {
        fn rest(&self) -> (usize, usize) {
            unsafe extern "C" {
                static __heap_base: u8;
            }
            // Only its address means something.
            (ptr::addr_of!(__heap_base).addr(), memory_size(0) * PAGE)
        }

        fn grow(&self, pages: usize) -> bool {
            memory_grow(0, pages) != usize::MAX
        }
    }

    // SAFETY: a plugin has one thread.
    unsafe impl Sync for Heap<Linear> {}

    #[global_allocator]
    static HEAP: Heap<Linear> = Heap::new(Linear);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear memory of at most four pages, the first of which has data.
    struct Pages {
        first: usize,
        more: Cell<usize>,
    }

    const DATA: usize = 10_001;

    impl Memory for Pages {
        fn rest(&self) -> (usize, usize) {
            (self.first + DATA, self.first + PAGE)
        }

        fn grow(&self, pages: usize) -> bool {
            let left = self.more.get().checked_sub(pages);
            left.is_some_and(|left| {
                self.more.set(left);
                true
            })
        }
    }

    fn heap() -> Heap<Pages> {
        let layout = Layout::from_size_align(4 * PAGE, PAGE).expect("a layout");
        // SAFETY: the layout is not empty. It stays.
        let memory = unsafe { std::alloc::alloc(layout) };
        Heap::new(Pages {
            first: memory.expose_provenance(),
            more: Cell::new(3),
        })
    }

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a layout")
    }

    fn take(heap: &Heap<Pages>, layout: Layout) -> usize {
        // SAFETY: no layout here is empty.
        let piece = unsafe { heap.alloc(layout) };
        let address = piece.expose_provenance();
        if address != 0 {
            assert!(address.is_multiple_of(layout.align()), "{address}");
            let first = heap.memory.first;
            let memory = first + DATA..heap.end.get() + 1;
            assert!(memory.contains(&address) && memory.contains(&(address + layout.size())));
            // SAFETY: as long as it is.
            unsafe { piece.write_bytes(7, layout.size()) };
        }
        address
    }

    fn give(heap: &Heap<Pages>, piece: usize, layout: Layout) {
        // SAFETY: each piece is returned once, with its layout.
        unsafe { heap.dealloc(ptr::with_exposed_provenance_mut(piece), layout) };
    }

    #[test]
    fn pieces_do_not_overlap() {
        let heap = heap();
        let mut pieces = Vec::new();
        for align in [1, 2, 8, 16, 64, 4096] {
            for size in [1, 7, 8, 9, 100, 1000, 5000] {
                let piece = take(&heap, layout(size, align));
                assert_ne!(piece, 0, "{size} {align}");
                pieces.push(piece..piece + size);
            }
        }
        pieces.sort_by_key(|piece| piece.start);
        assert!(pieces.is_sorted_by(|before, after| before.end <= after.start));
    }

    #[test]
    fn a_returned_piece_is_used_again() {
        let heap = heap();
        let (one, two) = (take(&heap, layout(24, 8)), take(&heap, layout(32, 4)));
        give(&heap, one, layout(24, 8));
        give(&heap, two, layout(32, 4));
        assert_eq!(take(&heap, layout(17, 1)), two);
        assert_eq!(take(&heap, layout(20, 1)), one);
    }

    #[test]
    fn the_memory_grows_as_far_as_it_can() {
        let heap = heap();
        assert_ne!(take(&heap, layout(40_000, 8)), 0);
        assert_eq!(heap.memory.more.get(), 2, "65,536 bytes did not fit");
        assert_eq!(take(&heap, layout(3 * PAGE, 8)), 0);
        assert_ne!(take(&heap, layout(2 * PAGE, 8)), 0);
        assert_eq!(take(&heap, layout(isize::MAX as usize - 7, 8)), 0);
        assert_eq!(take(&heap, layout(8, 2 * MOST_ALIGNED)), 0);
    }

    #[test]
    fn what_grows_stays_where_it_is_if_it_can() {
        let heap = heap();
        let (old, new) = (layout(10, 1), 20_000);
        let piece = take(&heap, old);
        let pointer = ptr::with_exposed_provenance_mut(piece);
        // SAFETY: the piece has its layout.
        unsafe {
            assert_eq!(heap.realloc(pointer, old, new), pointer, "the last one");
            take(&heap, old);
            let moved = heap.realloc(pointer, layout(new, 1), 2 * new);
            assert_ne!(moved, pointer);
            assert_eq!(std::slice::from_raw_parts(moved, 10), [7; 10]);
        }
    }
}
