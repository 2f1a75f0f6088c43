//go:build !wasm

package weirtest

import (
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/conntrack"
	"weir.dev/weir/neighbour"
)

func addNeighbour(network *network, device *device, wanted neighbour.Neighbour) (any, error) {
	if wanted.Proxy {
		// A proxy entry has no MAC and does not age.
		wanted.MAC, wanted.State = nil, neighbour.StatePermanent
	}
	network.neighbours = slices.DeleteFunc(network.neighbours, func(there entry) bool {
		return there.link == device.Index && there.Address == wanted.Address && there.Proxy == wanted.Proxy
	})
	network.neighbours = append(network.neighbours, entry{device.Index, wanted})
	return nil, nil
}

// deleteNeighbour removes an entry, and only if there is none, a proxy entry.
func deleteNeighbour(network *network, device *device, address netip.Addr) (any, error) {
	for _, isProxy := range []bool{false, true} {
		at := slices.IndexFunc(network.neighbours, func(there entry) bool {
			return there.link == device.Index && there.Address == address && there.Proxy == isProxy
		})
		if at >= 0 {
			network.neighbours = slices.Delete(network.neighbours, at, at+1)
			return nil, nil
		}
	}
	return nil, noEntry
}

func listNeighbours(network *network, device *device, family *weir.IPFamily) (any, error) {
	var found []neighbour.Neighbour
	for _, there := range network.neighbours {
		if there.link == device.Index && (family == nil || *family == familyOf(there.Address)) {
			found = append(found, there.Neighbour)
		}
	}
	return found, nil
}

func announce(network *network, device *device, addresses []netip.Addr) (any, error) {
	for _, announced := range addresses {
		isIt := func(held held) bool { return held.Address.Address.Addr() == announced }
		if !slices.ContainsFunc(network.addressesOf(device.Index), isIt) {
			return nil, invalid("%v is not an address of the link", announced)
		}
	}
	return nil, nil
}

// forgetConnections only leaves the call: there are no connections.
func forgetConnections(machine *machine, namespace weir.Namespace, _ conntrack.Filter) (any, error) {
	_, err := machine.network(namespace)
	return nil, err
}
