//! The contract as Rust types, generated from `wit/`.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "plugin",
    imports: { default: trappable },
    trappable_error_type: {
        "weir:cni/types.error" => weir_kernel::Error,
        "weir:cni/cni.failure" => weir_cni::Error,
    },
    with: {
        "weir:cni/store.transaction": crate::resource::Transaction,
        "weir:cni/packet.udp-socket": crate::resource::Socket,
        "weir:cni/packet.raw-socket": crate::resource::Socket,
    },
});
