// Package device is the capability `device`: facts about the hardware behind a link of the host.
package device

// IsInUserspace tells whether the device's driver hands it to a program, such as one of DPDK's, in place of the kernel's network stack.
func (device Device) IsInUserspace() bool {
	switch device.Driver {
	case "vfio-pci", "uio_pci_generic", "igb_uio":
		return true
	default:
		return false
	}
}
