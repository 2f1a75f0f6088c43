//! Debian's containerd as the caller, on networks whose plugins are links to weir.
//!
//! | file | subject |
//! |---|---|
//! | `ctr` | containers of `ctr run --cni` |
//! | `sandbox` | a pod sandbox of the CRI: its network, its host ports, its end |
//! | `many` | fifty of them, eight at a time, on a list of all that a node has |
//! | `pods` | a node whose pods are asked for as a kubelet does |
//! | `probe` | connections that are really made |
//! | `residue` | what pods leave behind |
//!
//! Needs root: containerd mounts and runs real containers. It is a containerd of each test's own.

mod ctr;
mod many;
mod pods;
mod probe;
mod residue;
mod sandbox;
