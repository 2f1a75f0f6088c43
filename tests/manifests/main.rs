//! The manifests in `examples/kubernetes`: that they are what a cluster takes, ask for no more than weir
//! needs, fit each other, and fit the binary; and the Helm chart, which is made of them.

mod access;
mod chart;
mod daemons;
mod definition;
mod documents;
mod example;
mod guide;
mod image;
mod overlays;
mod removal;
mod values;
