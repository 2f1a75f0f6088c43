//! What the tests of the capabilities share, and the published schema.

mod acts;
pub(crate) mod decisions;
mod schema;
