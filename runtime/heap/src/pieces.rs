//! Small pieces of memory: cut from a run one after another, and kept in a list of their size once they are returned.

use std::alloc::Layout;
use std::ptr::NonNull;

/// Sizes are multiples of this many bytes, and pieces are aligned at it.
const UNIT: usize = 16;

/// How many sizes there are.
const SIZES: usize = 32;

/// What pieces are cut from.
pub(crate) const RUN: Layout = match Layout::from_size_align(64 << 10, UNIT) {
    Ok(layout) => layout,
    Err(_) => panic!("a unit is a power of two"),
};

/// The size of a small piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    units_less_one: usize,
}

impl Size {
    /// The size of a piece for a layout; none for a layout of no bytes, or one that no small piece is for.
    #[inline]
    pub(crate) const fn of(layout: Layout) -> Option<Self> {
        let units_less_one = layout.size().wrapping_sub(1) / UNIT;
        if units_less_one < SIZES && layout.align() <= UNIT {
            Some(Self { units_less_one })
        } else {
            None
        }
    }

    pub(crate) const fn bytes(self) -> usize {
        (self.units_less_one + 1) * UNIT
    }
}

/// A piece that was returned. Its first bytes say which piece of its size was returned before it.
#[derive(Debug)]
struct Returned(Option<NonNull<Returned>>);

/// Small pieces, for one thread at a time.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The last one of each size.
    returned: [Option<NonNull<Returned>>; SIZES],
    /// The bytes of all of these.
    returned_bytes: usize,
    /// What is left of the run.
    next: NonNull<u8>,
    left: usize,
}

// SAFETY: what it points to is no one else's.
unsafe impl Send for Pieces {}

impl Pieces {
    pub(crate) const fn new() -> Self {
        Self {
            returned: [None; SIZES],
            returned_bytes: 0,
            next: NonNull::dangling(),
            left: 0,
        }
    }

    pub(crate) const fn returned_bytes(&self) -> usize {
        self.returned_bytes
    }

    /// A returned piece, or else one of the run; none if what is left of that is too short.
    #[inline]
    pub(crate) fn take(&mut self, size: Size) -> Option<NonNull<u8>> {
        match self.take_returned(size) {
            None => self.cut(size),
            piece => piece,
        }
    }

    #[inline]
    pub(crate) fn take_returned(&mut self, size: Size) -> Option<NonNull<u8>> {
        let last = &mut self.returned[size.units_less_one];
        let piece = (*last)?;
        // SAFETY: `give` wrote it, and no one has had the piece since.
        *last = unsafe { piece.read() }.0;
        self.returned_bytes -= size.bytes();
        Some(piece.cast())
    }

    #[inline]
    fn cut(&mut self, size: Size) -> Option<NonNull<u8>> {
        self.left = self.left.checked_sub(size.bytes())?;
        let piece = self.next;
        // SAFETY: as many bytes of the run were left.
        self.next = unsafe { piece.add(size.bytes()) };
        Some(piece)
    }

    /// Takes a piece back.
    ///
    /// # Safety
    ///
    /// The piece has this size and alignment, and is no one else's.
    #[inline]
    pub(crate) unsafe fn give(&mut self, piece: NonNull<u8>, size: Size) {
        let piece = piece.cast::<Returned>();
        let last = &mut self.returned[size.units_less_one];
        // SAFETY: the caller's; a unit has room for it.
        unsafe { piece.write(Returned(*last)) };
        *last = Some(piece);
        self.returned_bytes += size.bytes();
    }

    /// Replaces a run that was too short for a piece. What is left of it becomes a returned piece.
    ///
    /// # Safety
    ///
    /// The memory is of [`RUN`], and no one else's.
    pub(crate) unsafe fn refill(&mut self, run: NonNull<u8>) {
        let rest = Layout::from_size_align(self.left, UNIT).ok();
        if let Some(rest) = rest.and_then(Size::of) {
            // SAFETY: it is the old run's, and as long: all pieces are multiples of a unit.
            unsafe { self.give(self.next, rest) };
        }
        self.next = run;
        self.left = RUN.size();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(bytes: usize) -> Option<Size> {
        Size::of(Layout::from_size_align(bytes, 8).expect("a layout"))
    }

    #[test]
    fn a_size_holds_what_it_is_for() {
        for bytes in 1..=512 {
            let piece = size(bytes).expect("small").bytes();
            assert!((bytes..bytes + UNIT).contains(&piece), "{bytes}: {piece}");
        }
        assert_eq!((size(0), size(513)), (None, None));
        let page = Layout::from_size_align(16, 4096).expect("a layout");
        assert_eq!(Size::of(page), None);
    }

    /// The memory of a run.
    type Run = [u128; RUN.size() / UNIT];

    fn start(run: &mut Run) -> NonNull<u8> {
        NonNull::from(run).cast()
    }

    #[test]
    fn pieces_are_cut_one_after_another_and_used_again() {
        let mut run: Run = [0; _];
        let start = start(&mut run);
        let mut pieces = Pieces::new();
        let small = size(20).expect("small");
        assert_eq!(pieces.take(small), None);

        // SAFETY: the run is the test's, and a piece is given once.
        unsafe {
            pieces.refill(start);
            let (one, two) = (pieces.take(small), pieces.take(small));
            assert_eq!((one, two), (Some(start), Some(start.add(32))));

            pieces.give(start, small);
            pieces.give(start.add(32), small);
            assert_eq!(pieces.returned_bytes(), 64);
            assert_eq!(pieces.take(small), two, "the last one first");
            assert_eq!(pieces.take(small), one);
            assert_eq!(pieces.returned_bytes(), 0);
        }
    }

    #[test]
    fn what_is_left_of_a_run_is_used() {
        let mut runs: [Run; 2] = [[0; _]; 2];
        let [first, second] = runs.each_mut().map(start);
        let (most, rest) = (size(480).expect("small"), size(256).expect("small"));
        let mut pieces = Pieces::new();
        // SAFETY: the runs are the test's.
        unsafe {
            pieces.refill(first);
            let all = (0..).map_while(|_| pieces.take(most)).count();
            let left = RUN.size() - all * most.bytes();
            assert!((rest.bytes()..most.bytes()).contains(&left), "{left}");

            pieces.refill(second);
            let left = size(left).expect("small");
            assert_eq!(pieces.take(left), Some(first.add(all * most.bytes())));
            assert_eq!(pieces.take(left), Some(second));
        }
    }
}
