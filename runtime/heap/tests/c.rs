//! C's functions get memory from the program's heap.
#![cfg(target_env = "musl")]

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::slice;

use nix::errno::Errno;
use nix::libc;

#[global_allocator]
static HEAP: weir_heap::Heap = weir_heap::Heap::new();

fn bytes<'a>(piece: *mut c_void, length: usize) -> &'a mut [u8] {
    assert!(!piece.is_null());
    // SAFETY: the piece is as long, and written.
    unsafe { slice::from_raw_parts_mut(piece.cast(), length) }
}

#[test]
fn pieces_are_aligned_and_of_their_own() {
    let mut pieces = Vec::new();
    for size in [0, 1, 16, 500, 5000, 3 << 20] {
        // SAFETY: what is allocated is freed once.
        let piece = unsafe { libc::malloc(size) };
        assert!(piece.addr().is_multiple_of(16));
        // SAFETY: as long as it is.
        unsafe { piece.write_bytes(7, size) };
        // SAFETY: the piece is allocated.
        assert!(unsafe { libc::malloc_usable_size(piece) } >= size);
        pieces.push((piece, size));
    }
    for (piece, size) in pieces {
        assert!(bytes(piece, size).iter().all(|byte| *byte == 7), "{size}");
        // SAFETY: once.
        unsafe { libc::free(piece) };
    }
}

#[test]
fn nothing_can_be_freed() {
    // SAFETY: null is allowed.
    unsafe { libc::free(ptr::null_mut()) };
}

#[test]
fn zeroed_pieces_are_zero_where_others_were() {
    for _ in 0..100 {
        // SAFETY: freed once.
        unsafe {
            let piece = libc::malloc(96);
            piece.write_bytes(7, 96);
            libc::free(piece);
            let piece = libc::calloc(12, 8);
            assert_eq!(bytes(piece, 96), [0; 96]);
            libc::free(piece);
        }
    }
}

#[test]
fn what_is_resized_keeps_its_bytes() {
    // SAFETY: each is resized or freed once.
    unsafe {
        let mut piece = libc::realloc(ptr::null_mut(), 40);
        bytes(piece, 40).fill(7);
        for size in [41, 4000, 2 << 20, 40] {
            piece = libc::realloc(piece, size);
            assert_eq!(bytes(piece, 40), [7; 40], "{size}");
        }
        libc::free(piece);
    }
}

#[test]
fn larger_alignments_are_kept() {
    for align in [8, 16, 64, 4096] {
        let mut piece = ptr::null_mut();
        // SAFETY: freed once.
        unsafe {
            assert_eq!(libc::posix_memalign(&raw mut piece, align, 100), 0);
            assert!(piece.addr().is_multiple_of(align));
            bytes(piece, 100).fill(7);
            libc::free(piece);
            let piece = libc::aligned_alloc(align, 100);
            assert!(piece.addr().is_multiple_of(align));
            libc::free(piece);
        }
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let mut piece = ptr::null_mut();
    // SAFETY: nothing is allocated.
    unsafe {
        for align in [0, 4, 24] {
            let errno = libc::posix_memalign(&raw mut piece, align, 100);
            assert_eq!(Errno::from_raw(errno), Errno::EINVAL);
        }
        for too_large in [
            libc::malloc(usize::MAX),
            libc::calloc(usize::MAX / 2, 3),
            libc::aligned_alloc(4096, usize::MAX - 1),
        ] {
            // Otherwise the compiler may leave the allocation out.
            assert!(black_box(too_large).is_null());
            assert_eq!(Errno::last(), Errno::ENOMEM);
        }
    }
}
