//! Nothing: only what this crate depends on, and with which features.
//!
//! Cargo gives a library the features that all packages of one build want of it. The plugins are built before the
//! workspace, by builds of their own; with this crate in each, wit-bindgen, serde and syn are compiled once for their
//! procedural macros, and not another time with features that only the workspace wants.
