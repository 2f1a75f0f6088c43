//! The contract as a native target has it: the types that wit-bindgen generates, and in place of its functions those of
//! the fake host, which must have the same signatures.

use crate::bindings::generated::weir::cni as generated;

/// Puts the functions of a capability's module in place of those that are generated.
macro_rules! contract {
    ($($capability:ident { $($function:ident)+ $(; $own:ident with $type:ident)? })+) => {
        #[allow(missing_docs)]
        pub mod cni {
            pub use crate::bindings::generated::weir::cni::*;

            $(pub mod $capability {
                pub use crate::bindings::fake::$capability::{$($function),+ $(, $own, $type)?};
                pub use crate::bindings::generated::weir::cni::$capability::*;
            })+
        }

        // Compiles only where both have the same signature. A function that returns a resource cannot.
        const _: fn() = || {
            $($(let _ = [generated::$capability::$function, super::$capability::$function];)+)+
        };

        /// The capabilities with the names that their functions have in Rust.
        const FUNCTIONS: &[(&str, &[&str])] = &[
            $((stringify!($capability), &[$(stringify!($function)),+ $(, stringify!($own))?])),+
        ];
    };
}

contract! {
    link { create get list delete delete_all update update_port update_bridge add_vlans delete_vlans list_vlans move_ get_peer wait_up }
    address { add delete list settle }
    route { add replace delete list get }
    policy_rule { add delete list }
    neighbour { add delete list announce }
    traffic { add_qdisc delete_qdisc list_qdiscs add_class list_classes add_filter list_filters }
    firewall { apply list_chains list_rules list_sets get_element list_elements remove_reference_rules }
    firewalld { is_running zone_of_source add_source remove_source }
    conntrack { delete }
    sysctl { read write }
    store { read_file; open with Transaction }
    device { by_link by_pci_address by_auxiliary_name by_kernel_path }
    packet { open_udp open_raw }
    ipam { add del check status gc }
    log { write }
}

/// The functions of an open store, which are those of a type.
const OF_TRANSACTION: &[&str] = &[
    "store.get",
    "store.put",
    "store.claim",
    "store.delete",
    "store.keys",
    "store.find",
    "store.commit",
];

/// The functions that a test can name, as `capability.function`.
pub fn functions() -> Vec<String> {
    let own = FUNCTIONS.iter().flat_map(|(capability, functions)| {
        let words = functions
            .iter()
            .map(|function| function.trim_end_matches('_'));
        words.map(move |function| format!("{capability}.{function}").replace('_', "-"))
    });
    let of_stores = OF_TRANSACTION.iter();
    own.chain(of_stores.map(|function| (*function).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Functions of the contract's interfaces, by their names in `wit/`.
    fn in_wit() -> BTreeSet<String> {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("wit");
        let mut functions = BTreeSet::new();
        for (capability, _) in FUNCTIONS {
            let capability = capability.replace('_', "-");
            let text = fs::read_to_string(wit.join(format!("{capability}.wit"))).expect("a file");
            // A resource's functions are those of a type, which is replaced whole or cannot be made.
            let own = text
                .lines()
                .filter(|line| line.starts_with("    ") && !line.starts_with("     "));
            let names = own
                .filter_map(|line| line.split_once(": func("))
                .map(|(name, _)| name);
            let names = names.map(|name| name.trim().trim_start_matches('%'));
            functions.extend(names.map(|name| format!("{capability}.{name}")));
        }
        functions
    }

    #[test]
    fn every_function_of_the_contract_is_replaced() {
        let mut own: BTreeSet<String> = functions().into_iter().collect();
        for of_store in OF_TRANSACTION {
            assert!(own.remove(*of_store), "{of_store}");
        }
        assert_eq!(own, in_wit());
        let interfaces =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("wit/world.wit"));
        let interfaces = interfaces.expect("the world");
        let world = interfaces.split("world plugin {").nth(1).expect("a world");
        let world = world.split('}').next().expect("its end");
        let imports = world
            .lines()
            .filter(|line| line.trim().starts_with("import "));
        assert_eq!(imports.count(), FUNCTIONS.len());
    }
}
