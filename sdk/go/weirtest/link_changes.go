//go:build !wasm

package weirtest

import (
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/link"
)

func updateLink(machine *machine, namespace weir.Namespace, of weir.LinkReference, changes link.Changes) (any, error) {
	if err := checkChanges(namespace, changes); err != nil {
		return nil, err
	}
	network, found, err := machine.on(namespace, of)
	if err != nil {
		return nil, err
	}
	assign(&found.MTU, changes.MTU)
	assign(&found.Txqlen, changes.Txqlen)
	assign(&found.Promiscuous, changes.Promiscuous)
	assign(&found.AllMulticast, changes.AllMulticast)
	assign(&found.Alias, changes.Alias)
	if changes.MAC != nil {
		found.MAC = changes.MAC
	}
	found.hasOwnMTU = found.hasOwnMTU || changes.MTU != nil && found.Kind == "bridge"
	if changes.Name != nil && *changes.Name != found.Name {
		if err := network.rename(found, *changes.Name); err != nil {
			return nil, err
		}
	}
	if changes.Master != nil {
		if err := network.setMaster(found.Index, *changes.Master); err != nil {
			return nil, err
		}
	}
	if changes.Up != nil {
		network.setUp(found.Index, *changes.Up)
	}
	machine.settle()
	return nil, nil
}

func checkChanges(namespace weir.Namespace, changes link.Changes) error {
	if changes.Name != nil {
		if err := checkName(*changes.Name); err != nil {
			return err
		}
	}
	if err := checkMAC(changes.MAC); err != nil {
		return err
	}
	if err := checkMTU(changes.MTU); err != nil {
		return err
	}
	return checkAlias(namespace, changes.Alias)
}

func assign[T any](attribute *T, value *T) {
	if value != nil {
		*attribute = *value
	}
}

// rename gives a link another name, and its parameters with it.
func (network *network) rename(device *device, name string) error {
	if err := network.checkFree(name); err != nil {
		return err
	}
	network.copyParameters(device.Name, name)
	network.removeParameters(device.Name)
	device.Name = name
	return nil
}

func (network *network) setMaster(index uint32, master link.NewMaster) error {
	if named, is := master.(link.NewMasterLink); is {
		return network.enslave(index, weir.LinkReference(named))
	}
	port := network.device(index)
	port.Master, port.Port = nil, nil
	return nil
}

// enslave makes a link the port of a master.
func (network *network) enslave(index uint32, master weir.LinkReference) error {
	of, err := network.find(master)
	if err != nil {
		return err
	}
	port := network.device(index)
	switch {
	case of.Kind == "bridge" && port.Kind == "bridge":
		return loop
	case of.Kind == "bridge" && port.Kind == "loopback":
		return badArgument
	case of.Kind != "bridge" && of.Kind != "vrf":
		return notSupported
	}
	port.Master = new(of.Index)
	if of.Kind == "bridge" {
		port.Port = &link.Port{}
	}
	return nil
}

// setUp sets a link up or down. Down, it loses its routes, its neighbours and its IPv6 addresses.
func (network *network) setUp(index uint32, up bool) {
	device := network.device(index)
	wasUp := device.Up
	device.Up = up
	if up && !wasUp {
		if device.Kind == "loopback" {
			network.addLoopback(index)
		}
		network.addRoutesOfLink(index)
	}
	if wasUp && !up {
		network.dropRoutesOfLink(index)
		network.dropIPv6(index)
		network.neighbours = slices.DeleteFunc(network.neighbours, func(entry entry) bool { return entry.link == index })
	}
}

func updatePort(_ *network, found *device, changes link.PortChanges) (any, error) {
	if found.Port == nil {
		return nil, invalid("it is not a bridge's port")
	}
	port := *found.Port
	assign(&port.Hairpin, changes.Hairpin)
	assign(&port.Isolated, changes.Isolated)
	found.Port = &port
	return nil, nil
}

func updateBridge(_ *network, found *device, changes link.BridgeChanges) (any, error) {
	bridge, is := found.Details.(link.DetailsBridge)
	if !is {
		return nil, invalid("it is not a bridge")
	}
	assign(&bridge.VLANFiltering, changes.VLANFiltering)
	assign(&bridge.DefaultPVID, changes.DefaultPVID)
	found.Details = bridge
	return nil, nil
}

func moveLink(machine *machine, namespace weir.Namespace, of weir.LinkReference, to weir.Namespace, newName *string) (any, error) {
	from, found, err := machine.on(namespace, of)
	if err != nil {
		return nil, err
	}
	moved := *found
	assign(&moved.Name, newName)
	if err := checkName(moved.Name); err != nil {
		return nil, err
	}
	if namespace == to {
		return nil, invalid("it is there already")
	}
	there, err := machine.network(to)
	if err != nil {
		return nil, err
	}
	if err := there.checkFree(moved.Name); err != nil {
		return nil, err
	}
	if slices.Contains([]string{"loopback", "bridge", "vrf"}, moved.Kind) {
		return nil, badArgument
	}
	from.forget(moved.Index, found.Name)
	there.arrive(moved)
	machine.follow(place{namespace, moved.Index}, to)
	machine.settle()
	return there.device(moved.Index).Link, nil
}

// arrive puts a link that comes from the other namespace there: down, as the port of no bridge, and not shaped.
func (network *network) arrive(moved device) {
	moved.Up, moved.Master, moved.Port = false, nil, nil
	moved.qdiscs, moved.classes, moved.filters = nil, nil, nil
	network.links = append(network.links, moved)
	network.addParameters(moved.Name)
}

// follow has the peer of a link, and the links over it, know where it is.
func (machine *machine) follow(from place, to weir.Namespace) {
	moved := place{to, from.index}
	for _, device := range machine.each {
		if device.peer != nil && *device.peer == from {
			device.peer = &moved
		}
		if device.under != nil && *device.under == from {
			device.under = &moved
		}
	}
}

// settle brings what follows from other links up to date: of bridges last, after their ports.
func (machine *machine) settle() {
	for _, isBridge := range []bool{false, true} {
		for namespace, device := range machine.each {
			if (device.Kind == "bridge") == isBridge {
				device.OperState = machine.operState(namespace, device)
				device.MTU = machine.mtu(namespace, device)
			}
		}
	}
}

func (machine *machine) operState(namespace weir.Namespace, of *device) link.OperState {
	under := of.peer
	if under == nil {
		under = of.under
	}
	isLive := func(port *device) bool {
		return port.OperState == link.OperStateUp || port.OperState == link.OperStateUnknown
	}
	switch {
	case !of.Up || of.Kind == "tun":
		return link.OperStateDown
	case of.Kind == "bridge":
		if slices.ContainsFunc(machine.ports(namespace, of), isLive) {
			return link.OperStateUp
		}
		return link.OperStateDown
	case of.Kind == "vrf":
		return link.OperStateUp
	case under == nil:
		return link.OperStateUnknown
	}
	if lower := machine.at(*under); lower != nil && lower.Up {
		return link.OperStateUp
	}
	return link.OperStateLowerLayerDown
}

// mtu returns the MTU of a link. A bridge takes the least of its ports', unless somebody has given it one.
func (machine *machine) mtu(namespace weir.Namespace, of *device) uint32 {
	if of.Kind != "bridge" || of.hasOwnMTU {
		return of.MTU
	}
	least := uint32(1500)
	for i, port := range machine.ports(namespace, of) {
		if i == 0 || port.MTU < least {
			least = port.MTU
		}
	}
	return least
}

func (machine *machine) ports(namespace weir.Namespace, of *device) (found []*device) {
	for there, device := range machine.each {
		if there == namespace && device.Master != nil && *device.Master == of.Index {
			found = append(found, device)
		}
	}
	return found
}
