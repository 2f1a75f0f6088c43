//! What a plugin says when it panics.

/// Sends the messages of panics into weir's log. With WASI they go to standard error, which ends
/// there, too.
pub(crate) fn log() {
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    std::panic::set_hook(Box::new(|panic| {
        crate::log::error("the plugin panicked", &[("panic", &panic.to_string())]);
    }));
}
