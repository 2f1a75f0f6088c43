//! The attribute macro of `weir-sdk`, which exports it.

use proc_macro::TokenStream;

/// Makes a type one that a plugin's configuration is read into: derives serde's `Deserialize`, by the path that serde has
/// in `weir_sdk`, so that a plugin does not depend on serde itself.
///
/// Takes serde's attributes of a container as its arguments, and those of fields and variants beside them:
///
/// ```ignore
/// #[weir_sdk::config(rename_all = "camelCase", default)]
/// #[derive(Default)]
/// struct Config {
///     #[serde(rename = "vlanTrunk")]
///     trunk: Vec<u16>,
/// }
/// ```
#[proc_macro_attribute]
pub fn config(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let derivation = format!(
        "#[derive(::weir_sdk::serde::Deserialize)] \
         #[serde(crate = \"::weir_sdk::serde\", {arguments})]"
    );
    let mut tokens: TokenStream = derivation.parse().expect("two attributes");
    tokens.extend(item);
    tokens
}
