//! Capability `device`: facts about the hardware behind a link of the host.
//!
//! ```no_run
//! # fn find() -> weir_sdk::Result<()> {
//! use weir_sdk::device;
//!
//! let card = device::by_pci_address("0000:03:00.0")?;
//! if card.is_in_userspace() {
//!     // A program such as one of DPDK's drives it: there is no link.
//!     assert!(card.link.is_empty());
//! }
//! # Ok(())
//! # }
//! ```

pub use crate::bindings::weir::cni::device::{
    Device, by_auxiliary_name, by_kernel_path, by_link, by_pci_address,
};

/// The drivers that hand a PCI device to a program.
const OF_USERSPACE: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];

impl Device {
    /// Whether its driver hands it to a program, such as one of DPDK's, in place of the kernel's network stack.
    pub fn is_in_userspace(&self) -> bool {
        OF_USERSPACE.contains(&self.driver.as_str())
    }
}
