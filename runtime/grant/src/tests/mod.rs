//! What the tests of the capabilities share, and the published schema.

pub(crate) mod decisions;
mod schema;
