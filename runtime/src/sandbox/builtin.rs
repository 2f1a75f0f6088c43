//! The plugins inside the binary: ahead-of-time code, digest and grant, put there by the build.

use weir_engine::Embedded;

/// A plugin of the binary's own.
pub struct BuiltIn {
    pub name: &'static str,
    /// `sha256:…` of the component.
    pub digest: &'static str,
    /// The component itself, for `weir plugin inspect`.
    pub component: &'static [u8],
    /// Ahead-of-time code for this target.
    pub code: &'static Embedded<[u8]>,
    /// The shipped grant, as JSON.
    pub grant: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// The built-in plugin of that name.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|plugin| plugin.name == name)
}

/// All of them, by name.
pub fn all() -> &'static [BuiltIn] {
    BUILT_IN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Document;
    use crate::paths::Paths;
    use crate::sandbox::{Catalogue, code, imports};

    /// So that they need no check at run time, and no WASI.
    #[test]
    fn they_import_the_contract_and_nothing_else() {
        let engine = weir_engine::runner().expect("the engine starts");
        let catalogue = Catalogue::new(&Paths::below("/"));
        for built_in in all() {
            let plugin = catalogue.find(built_in.name).expect("it is there");
            let component = code::load(&engine, &plugin).expect("its code is of this engine");
            assert_eq!(imports::requested(&engine, &component).refused, []);
            for (import, _) in component.component_type().imports(&engine) {
                assert!(
                    import.starts_with("weir:cni/"),
                    "{}: {import}",
                    built_in.name
                );
            }
        }
    }

    /// So that the grant of a plugin is found without reading the others'.
    #[test]
    fn their_grants_have_their_names() {
        for built_in in all() {
            let grant: Document = serde_json::from_str(built_in.grant).expect("a grant");
            assert_eq!(grant.metadata.name, built_in.name);
            assert_eq!(grant.spec.plugin.name, built_in.name);
        }
    }
}
