//! `malloc` and its kin for C, over the program's global allocator.
//!
//! musl's ask the kernel for memory four times at their first call, and the standard library calls them in each process that has
//! something to do at the end of a thread, as the engine has. A program of weir's has no other heap then.

use std::alloc::{self, Layout};
use std::ffi::{c_int, c_void};
use std::ptr;

use nix::errno::Errno;

/// The largest alignment of a type of C.
const ALIGNED: usize = 16;

/// Before each piece is the layout of the whole: the piece, and before it as many bytes as it is aligned at.
const _: () = assert!(size_of::<Layout>() <= ALIGNED);

/// The layout of a piece and what is before it.
fn whole(size: usize, align: usize) -> Option<Layout> {
    let align = align.max(ALIGNED);
    Layout::from_size_align(size.checked_add(align)?, align).ok()
}

fn allocate(layout: Option<Layout>, get: unsafe fn(Layout) -> *mut u8) -> *mut c_void {
    // SAFETY: no layout is empty.
    let start = layout.map_or(ptr::null_mut(), |layout| unsafe { get(layout) });
    note(start, layout)
}

/// Writes the layout before the piece, and returns that. Null, with `errno`, for what could not be allocated.
fn note(start: *mut u8, layout: Option<Layout>) -> *mut c_void {
    let Some(layout) = layout.filter(|_| !start.is_null()) else {
        Errno::ENOMEM.set();
        return ptr::null_mut();
    };
    // SAFETY: as many bytes are before the piece, and they have room for a layout.
    unsafe {
        let piece = start.add(layout.align());
        piece.cast::<Layout>().sub(1).write(layout);
        piece.cast()
    }
}

/// Where the whole of a piece begins, and its layout.
///
/// # Safety
///
/// The piece is from here.
unsafe fn whole_of(piece: *mut c_void) -> (*mut u8, Layout) {
    // SAFETY: `note` wrote it.
    unsafe {
        let layout = piece.cast::<Layout>().sub(1).read();
        (piece.cast::<u8>().sub(layout.align()), layout)
    }
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    allocate(whole(size, ALIGNED), alloc::alloc)
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let layout = count
        .checked_mul(size)
        .and_then(|size| whole(size, ALIGNED));
    allocate(layout, alloc::alloc_zeroed)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(piece: *mut c_void, size: usize) -> *mut c_void {
    if piece.is_null() {
        return malloc(size);
    }
    // SAFETY: the caller's piece is from here.
    let (start, layout) = unsafe { whole_of(piece) };
    let new = whole(size, layout.align());
    // SAFETY: the whole has its layout, and the new size is that of one.
    let resize = |new: Layout| unsafe { alloc::realloc(start, layout, new.size()) };
    note(new.map_or(ptr::null_mut(), resize), new)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(piece: *mut c_void) {
    if !piece.is_null() {
        // SAFETY: the caller's piece is from here, and the whole has its layout.
        unsafe {
            let (start, layout) = whole_of(piece);
            alloc::dealloc(start, layout);
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    allocate(whole(size, align), alloc::alloc)
}

#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    aligned_alloc(align, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return Errno::EINVAL as c_int;
    }
    let piece = aligned_alloc(align, size);
    if piece.is_null() {
        return Errno::ENOMEM as c_int;
    }
    // SAFETY: the caller wants it there.
    unsafe { to.write(piece) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(piece: *mut c_void) -> usize {
    if piece.is_null() {
        return 0;
    }
    // SAFETY: the caller's piece is from here.
    let (_, layout) = unsafe { whole_of(piece) };
    layout.size() - layout.align()
}
