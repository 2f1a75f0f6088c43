//! The messages of panics.

/// Sends the messages of panics to weir's log. With WASI they reach it by standard error.
pub(crate) fn log() {
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    std::panic::set_hook(Box::new(|panic| {
        crate::log::error("the plugin panicked", &[("panic", &panic.to_string())]);
    }));
}
