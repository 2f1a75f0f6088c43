//! Short names that follow from long ones.

pub use weir_cni::owner::digest;
