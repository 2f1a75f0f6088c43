//! Capability `device`: facts about the hardware behind a link of the host.

pub use crate::bindings::weir::cni::device::{Device, by_kernel_path, by_link, by_pci_address};
