//! The code of a built-in plugin, which lies in the binary.

use std::alloc::{Layout, alloc};
use std::env::consts::ARCH;
use std::fs;
use std::ptr;
use std::thread;

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSegment, SegmentFlags, elf::PF_X};
use weir_engine::{Embedded, load_embedded};
use weir_kit::{STANDARD, binary, house};

/// Sandboxes of one process each load the plugins that they run. The engine refuses a second code at the same place.
#[test]
fn it_is_loaded_by_several_at_once() -> Result<()> {
    let code = fs::read(house().join(format!("target/plugins/{ARCH}/debug/loopback.cwasm")))?;
    let code = embedded(&code)?;
    // SAFETY: `make` wrote it with `weir-compiler`.
    let load = || unsafe { load_embedded(code) }.map(drop);
    thread::scope(|scope| {
        let loads: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
        loads.into_iter().try_for_each(|load| {
            let loaded = load.join().ok().context("the engine panicked")?;
            loaded.map_err(|error| anyhow::Error::msg(error.to_string()))
        })
    })
}

/// Code lies at the beginning of a page.
const PAGE: usize = 4096;

/// No call has to make it executable, which would split the large pages that it is in.
#[test]
fn it_is_part_of_the_code_of_the_program() -> Result<()> {
    let program = fs::read(binary())?;
    let program = object::File::parse(&*program)?;
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0);
    let segments = program
        .segments()
        .filter(|segment| is_code(segment.flags()));
    let code = segments.map(|segment| {
        let into_page = usize::try_from(segment.address() % PAGE as u64)?;
        Ok((into_page, segment.data()?))
    });
    let code = code.collect::<Result<Vec<_>>>()?;
    for plugin in STANDARD {
        let built = fs::read(house().join(format!("target/plugins/{ARCH}/debug/{plugin}.cwasm")))?;
        let is_there = code.iter().any(|(into_page, bytes)| {
            let mut pages = (PAGE - into_page..bytes.len()).step_by(PAGE);
            pages.any(|page| bytes[page..].starts_with(&built))
        });
        assert!(is_there, "{plugin}");
    }
    Ok(())
}

/// A copy as it lies in a binary, until the process ends.
fn embedded(code: &[u8]) -> Result<&'static Embedded<[u8]>> {
    let place = Layout::from_size_align(code.len().next_multiple_of(4096), 4096)?;
    // SAFETY: there is a byte at least, and all that are read are written.
    unsafe {
        let copy = alloc(place);
        ensure!(!copy.is_null(), "no memory");
        ptr::copy_nonoverlapping(code.as_ptr(), copy, code.len());
        let bytes = ptr::slice_from_raw_parts(copy, code.len());
        Ok(&*(bytes as *const Embedded<[u8]>))
    }
}
