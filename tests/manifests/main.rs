//! The manifests in `examples/kubernetes`: that they are what a cluster takes, ask for no more than weir
//! needs, fit each other, and fit the binary.

mod access;
mod daemons;
mod definition;
mod documents;
mod example;
mod guide;
mod image;
mod overlays;
