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
    neighbour { add delete list announce }
    sysctl { read write }
}

/// The functions that a test can name, as `capability.function`.
pub fn functions() -> Vec<String> {
    let own = FUNCTIONS.iter().flat_map(|(capability, functions)| {
        let words = functions
            .iter()
            .map(|function| function.trim_end_matches('_'));
        words.map(move |function| format!("{capability}.{function}").replace('_', "-"))
    });
    own.collect()
}
