//! The types of fields: what their values match, and how two of them compare.

mod globs;
mod links;
mod networks;
mod numbers;
mod paths;
mod words;

pub use globs::{Globs, Keys, LinkNames};
pub use links::{Kinds, Owners};
pub(crate) use networks::every_address;
pub(crate) use numbers::every_port;
pub use numbers::{Numbers, Ranges};
pub use paths::{Directories, Files, StorePath};
pub use words::{AllOf, Exact, InNamespace, KernelWords, Words};

use super::Texts;

/// What a wildcard or a range that matches everything includes.
const EVERY_ONE: &str = "every one";

/// The code of a value without effect.
const NO_EFFECT: &str = "no-effect";

fn one(text: impl ToString) -> Texts {
    Texts::from([text.to_string()])
}
