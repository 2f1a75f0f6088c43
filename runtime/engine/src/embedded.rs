//! Code that is a part of the binary and runs where it lies.

use std::collections::BTreeMap;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::Result;
use wasmtime::component::Component;

use crate::memory::LARGEST_PAGE;
use crate::runner;

/// Code built into the binary: aligned at a page, however large the kernel's are, so that it runs in place.
#[cfg_attr(target_arch = "aarch64", repr(C, align(65536)))]
#[cfg_attr(not(target_arch = "aarch64"), repr(C, align(4096)))]
pub struct Embedded<T: ?Sized>(pub T);

/// Code that was loaded. Whoever asks for it while it is being loaded waits.
type Slot = Arc<Mutex<Option<Component>>>;

/// Loads code that is a part of the binary for the engine of the process, without copying it.
///
/// The engine looks code up by address and takes each region once, so the code is loaded once for a process, and again only
/// after an error.
///
/// Errors: it is for another version of the engine, or the engine does not run here.
///
/// # Safety
///
/// The bytes must be the output of `weir-compiler`.
pub unsafe fn load_embedded(code: &'static Embedded<[u8]>) -> Result<Component> {
    let slot = slot(code);
    let mut loaded = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(component) = &*loaded {
        return Ok(component.clone());
    }
    // SAFETY: the caller's, and a part of the binary is never changed or freed.
    let component = unsafe { Component::deserialize_raw(&runner()?, NonNull::from(&code.0)) }?;
    Ok(loaded.insert(component).clone())
}

const _: () = assert!(align_of::<Embedded<[u8; 1]>>() == LARGEST_PAGE);

fn slot(code: &'static Embedded<[u8]>) -> Slot {
    static LOADED: Mutex<BTreeMap<usize, Slot>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let address = ptr::from_ref(&code.0).addr();
    Arc::clone(loaded.entry(address).or_default())
}
