//! The code of a built-in plugin, which lies in the binary.

use std::alloc::{Layout, alloc};
use std::env::consts::ARCH;
use std::fs;
use std::ptr;
use std::thread;

use anyhow::{Context, Result, ensure};
use weir_engine::{Embedded, load_embedded};
use weir_kit::house;

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
