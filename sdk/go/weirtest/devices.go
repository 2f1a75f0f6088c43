//go:build !wasm

package weirtest

import (
	"maps"
	"slices"
	"strings"

	"weir.dev/weir"
	hardware "weir.dev/weir/device"
)

// PutDevice gives the host a network device, at a path below /sys/devices. Its links are made beside.
func (host *Host) PutDevice(kernelPath string, device hardware.Device) {
	host.fake().devices[kernelPath] = device
}

func deviceByLink(machine *machine, name string) (any, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(machine.devices)) {
		if found, has := withLink(machine.devices[path], name); has {
			return found, nil
		}
	}
	return nil, noSuchDevice()
}

func noSuchDevice() error {
	return refuse(weir.NotFound, "no such device")
}

// withLink returns a device that has a link, with that as its own.
func withLink(device hardware.Device, name string) (hardware.Device, bool) {
	links := append([]string{device.Link}, device.Siblings...)
	isOther := func(link string) bool { return link != name && link != "" }
	device.Siblings = slices.DeleteFunc(slices.Clone(links), func(link string) bool { return !isOther(link) })
	slices.Sort(device.Siblings)
	device.Link = name
	return device, slices.Contains(links, name)
}

func deviceByPCIAddress(machine *machine, address string) (any, error) {
	if len(address) < 12 || strings.Contains(address, "/") {
		return nil, invalid("not a PCI address such as `0000:00:1f.6`")
	}
	return machine.deviceThat(func(device hardware.Device) bool { return device.PCIAddress == address })
}

func deviceByAuxiliaryName(machine *machine, name string) (any, error) {
	if strings.Count(name, ".") < 2 || strings.Contains(name, "/") {
		return nil, invalid("not a name such as `mlx5_core.sf.4`")
	}
	return machine.deviceThat(func(device hardware.Device) bool { return device.AuxiliaryName == name })
}

func (machine *machine) deviceThat(is func(hardware.Device) bool) (any, error) {
	for _, path := range slices.Sorted(maps.Keys(machine.devices)) {
		if device := machine.devices[path]; is(device) {
			return device, nil
		}
	}
	return nil, noSuchDevice()
}

// deviceByKernelPath finds a device by its own path, or by that of one of its links.
func deviceByKernelPath(machine *machine, path string) (any, error) {
	if !strings.HasPrefix(path, "/sys/devices/") || slices.Contains(strings.Split(path, "/"), "..") {
		return nil, invalid("not a path below `/sys/devices`")
	}
	if found, is := machine.devices[path]; is {
		return found, nil
	}
	if of, link, is := strings.Cut(path, "/net/"); is {
		if device, is := machine.devices[of]; is {
			if found, has := withLink(device, link); has {
				return found, nil
			}
		}
	}
	return nil, noSuchDevice()
}
