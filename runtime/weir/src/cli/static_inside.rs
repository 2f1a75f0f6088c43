//! A binary with one standard plugin inside, for tests of the grants in force.

use std::sync::OnceLock;

use weir_engine::Embedded;
use weir_grant::Document;
use weir_sandbox::{BuiltIn, Inside, put_inside};

/// Puts in the plugin `static` with its shipped grant, and no code.
pub fn put_static_inside() {
    static ONE: OnceLock<BuiltIn> = OnceLock::new();
    let one = ONE.get_or_init(|| {
        let shipped = include_bytes!("../../../../plugins/static/grant.yaml");
        let mut grant = Document::read(shipped).expect("a shipped grant is valid");
        let tenants = grant.spec.tenants.take();
        BuiltIn {
            name: "static",
            digest: "sha256:5555555555555555555555555555555555555555555555555555555555555555",
            component: &[],
            code: &Embedded([]),
            grant: serde_json::to_string(&grant)
                .expect("a grant is JSON")
                .leak(),
            tenants: serde_json::to_string(&tenants)
                .expect("a grant is JSON")
                .leak(),
        }
    });
    let inside = Inside {
        plugins: std::slice::from_ref(one),
        ..Inside::default()
    };
    // SAFETY: there is no code to load.
    unsafe { put_inside(inside) };
}
