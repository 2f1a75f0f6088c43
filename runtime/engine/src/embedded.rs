//! Code that is a part of the binary and runs where it lies.

use std::collections::HashMap;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::Result;
use wasmtime::component::Component;

use crate::runner;

/// Code built into the binary: page-aligned, so that it runs in place.
#[repr(C, align(4096))]
pub struct Embedded<T: ?Sized>(pub T);

/// Code that was loaded. Whoever asks for it while it is being loaded waits.
type Slot = Arc<Mutex<Option<Component>>>;

/// Loads code that is a part of the binary for the engine of the process, without copying it.
///
/// The engine knows by an address which code it is in, so the code is loaded once for a process, and again only after an error.
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

fn slot(code: &'static Embedded<[u8]>) -> Slot {
    static LOADED: OnceLock<Mutex<HashMap<usize, Slot>>> = OnceLock::new();
    let loaded = LOADED.get_or_init(Mutex::default).lock();
    let address = ptr::from_ref(&code.0).addr();
    let mut loaded = loaded.unwrap_or_else(PoisonError::into_inner);
    Arc::clone(loaded.entry(address).or_default())
}
