//go:build !wasm

package weirtest

import (
	"fmt"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/link"
)

func getLink(_ *network, found *device) (any, error) {
	return found.Link, nil
}

func listLinks(network *network, kind *string, master *uint32) (any, error) {
	var found []link.Link
	for _, device := range network.links {
		isOf := master == nil || device.Master != nil && *device.Master == *master
		if isOf && (kind == nil || device.Kind == *kind) {
			found = append(found, device.Link)
		}
	}
	return found, nil
}

func getPeer(machine *machine, namespace weir.Namespace, of weir.LinkReference) (any, error) {
	_, found, err := machine.on(namespace, of)
	if err != nil {
		return nil, err
	}
	if found.peer == nil {
		return nil, invalid("it is not a veth")
	}
	return link.Peer{Index: found.peer.index, Namespace: &found.peer.namespace}, nil
}

// waitUp does not wait: nothing changes meanwhile.
func waitUp(_ *network, found *device, _ uint32) (any, error) {
	if found.OperState != link.OperStateUp {
		return nil, refuse(weir.TimedOut, "its operational state is %v", found.OperState)
	}
	return nil, nil
}

func createLink(machine *machine, wanted link.NewLink) (any, error) {
	if err := checkNewLink(wanted); err != nil {
		return nil, err
	}
	made, err := makeDevice(machine, wanted)
	if err != nil {
		return nil, err
	}
	index, err := machine.put(wanted.Namespace, made)
	if err != nil {
		return nil, err
	}
	if peer, is := wanted.Kind.(link.NewKindVeth); is {
		if err := machine.pair(place{wanted.Namespace, index}, link.NewPeer(peer)); err != nil {
			return nil, err
		}
	}
	network, _ := machine.network(wanted.Namespace)
	if wanted.Master.IsGiven() {
		if err := network.enslave(index, wanted.Master); err != nil {
			return nil, err
		}
	}
	if wanted.Up {
		network.setUp(index, true)
	}
	machine.settle()
	return network.device(index).Link, nil
}

func checkNewLink(wanted link.NewLink) error {
	peer, isPair := wanted.Kind.(link.NewKindVeth)
	ends := []link.NewPeer{{Name: wanted.Name, MAC: wanted.MAC, MTU: wanted.MTU}}
	if isPair {
		ends = append(ends, link.NewPeer(peer))
	}
	for _, end := range ends {
		if err := checkEnd(end, isPair); err != nil {
			return err
		}
	}
	if vlan, is := wanted.Kind.(link.NewKindVLAN); is && (vlan.ID < 1 || vlan.ID > 4094) {
		return invalid("VLAN id %d: expected 1 to 4094", vlan.ID)
	}
	return checkAlias(wanted.Namespace, wanted.Alias)
}

func checkEnd(end link.NewPeer, mayHaveNoName bool) error {
	if end.Name != "" || !mayHaveNoName {
		if err := checkName(end.Name); err != nil {
			return err
		}
	}
	if err := checkMAC(end.MAC); err != nil {
		return err
	}
	return checkMTU(end.MTU)
}

func checkAlias(namespace weir.Namespace, alias *string) error {
	switch {
	case alias == nil:
		return nil
	case namespace == weir.Host:
		return invalid("the alias of a link in `host` names its owner, and only weir sets it")
	case len(*alias) > 255:
		return invalid("an alias has at most 255 bytes")
	default:
		return nil
	}
}

// checkMAC fails for what is not the address of one interface.
func checkMAC(mac weir.MAC) error {
	isZero := !slices.ContainsFunc(mac, func(octet byte) bool { return octet != 0 })
	switch {
	case mac == nil:
		return nil
	case len(mac) != 6:
		return badArgument
	case mac[0]&1 != 0 || isZero:
		return kernel(weir.Invalid, 99, "Cannot assign requested address (EADDRNOTAVAIL)")
	default:
		return nil
	}
}

func checkMTU(mtu *uint32) error {
	if mtu != nil && (*mtu < 68 || *mtu > 65535) {
		return badArgument
	}
	return nil
}

// makeDevice makes a link as it is asked for, over its lower device if it has one.
func makeDevice(machine *machine, wanted link.NewLink) (device, error) {
	made := newDevice(wanted.Name, kindOf(wanted.Kind))
	made.Details = detailsOf(wanted.Kind)
	if under, namespace, is := lowerOf(wanted.Kind); is {
		_, lower, err := machine.on(namespace, under)
		if err != nil {
			return made, err
		}
		at := place{namespace, lower.Index}
		if err := machine.checkBeside(wanted.Kind, at); err != nil {
			return made, err
		}
		made.under, made.Lower = &at, &at.index
		made.MTU = lower.MTU
		if made.Kind != "macvlan" {
			made.MAC = lower.MAC
		}
	}
	if wanted.MTU != nil {
		made.MTU, made.hasOwnMTU = *wanted.MTU, made.Kind == "bridge"
	}
	if wanted.Txqlen != nil {
		made.Txqlen = *wanted.Txqlen
	}
	if wanted.MAC != nil {
		made.MAC = wanted.MAC
	}
	if wanted.Alias != nil {
		made.Alias = *wanted.Alias
	}
	if wanted.Namespace == weir.Host {
		made.Alias = machine.markOf(wanted)
	}
	return made, nil
}

// markOf returns what weir marks a link of the host with. A bridge, and a pair with both ends on the host, are the network's.
func (machine *machine) markOf(wanted link.NewLink) string {
	peer, isPair := wanted.Kind.(link.NewKindVeth)
	_, isBridge := wanted.Kind.(link.NewKindBridge)
	if isBridge || isPair && peer.Namespace == weir.Host {
		return machine.marks.network
	}
	return machine.marks.attachment
}

// checkBeside fails for a second VLAN of one id on a lower device, and for an ipvlan of another mode than those that are there.
func (machine *machine) checkBeside(kind link.NewKind, lower place) error {
	for _, device := range machine.each {
		if device.under == nil || *device.under != lower {
			continue
		}
		if vlan, is := kind.(link.NewKindVLAN); is && device.Details == link.DetailsVLAN(vlan.ID) {
			return refuse(weir.Exists, "VLAN device already exists")
		}
		if ipvlan, is := kind.(link.NewKindIPVLAN); is && device.Kind == "ipvlan" && device.Details != link.DetailsIPVLAN(ipvlan.Mode) {
			return refuse(weir.Busy, "the device has ipvlan links in another mode")
		}
	}
	return nil
}

// put adds a link to a namespace, with an index, a MAC and parameters of its own.
func (machine *machine) put(namespace weir.Namespace, made device) (uint32, error) {
	network, err := machine.network(namespace)
	if err != nil {
		return 0, err
	}
	if made.Name == "" {
		made.Name = network.freeName()
	}
	if err := network.checkFree(made.Name); err != nil {
		return 0, err
	}
	machine.lastIndex++
	made.Index = machine.lastIndex
	if made.MAC == nil {
		made.MAC = weir.MAC{2, 0, 0, 0, byte(made.Index >> 8), byte(made.Index)}
	}
	network.links = append(network.links, made)
	network.addParameters(made.Name)
	return made.Index, nil
}

// freeName returns the first name vethN that no link has.
func (network *network) freeName() string {
	for number := 0; ; number++ {
		if name := fmt.Sprintf("veth%d", number); network.checkFree(name) == nil {
			return name
		}
	}
}

func (network *network) checkFree(name string) error {
	if slices.ContainsFunc(network.links, func(device device) bool { return device.Name == name }) {
		return exists
	}
	return nil
}

// pair makes the other end of a veth.
func (machine *machine) pair(first place, peer link.NewPeer) error {
	wanted := link.NewLink{Namespace: peer.Namespace, Name: peer.Name, Kind: link.NewKindVeth{Namespace: first.namespace}, MAC: peer.MAC, MTU: peer.MTU}
	made, err := makeDevice(machine, wanted)
	if err != nil {
		return err
	}
	index, err := machine.put(peer.Namespace, made)
	if err != nil {
		return err
	}
	second := place{peer.Namespace, index}
	one, other := machine.at(first), machine.at(second)
	one.peer, one.Lower = &second, &second.index
	other.peer, other.Lower = &first, &first.index
	if peer.Up {
		network, _ := machine.network(peer.Namespace)
		network.setUp(index, true)
	}
	return nil
}

func deleteLink(machine *machine, namespace weir.Namespace, of weir.LinkReference) (any, error) {
	_, found, err := machine.on(namespace, of)
	if err != nil {
		return nil, err
	}
	if found.Kind == "loopback" {
		return nil, notSupported
	}
	machine.remove(place{namespace, found.Index})
	machine.settle()
	return nil, nil
}

func deleteLinks(machine *machine, namespace weir.Namespace, links []weir.LinkReference) (any, error) {
	const most = 256
	if len(links) > most {
		return nil, invalid("expected at most %d links", most)
	}
	for _, one := range links {
		if _, err := deleteLink(machine, namespace, one); err != nil && !weir.Is(err, weir.NotFound) {
			return nil, err
		}
	}
	return nil, nil
}

// remove removes a link with its peer and the links over it, where it is still there.
func (machine *machine) remove(at place) {
	found := machine.at(at)
	if found == nil {
		return
	}
	peer, name := found.peer, found.Name
	network, _ := machine.network(at.namespace)
	for i := range network.links {
		if port := &network.links[i]; port.Master != nil && *port.Master == at.index {
			port.Master, port.Port = nil, nil
		}
	}
	network.forget(at.index, name)
	if peer != nil {
		machine.remove(*peer)
	}
	for _, over := range machine.over(at) {
		machine.remove(over)
	}
}

// over returns the links over a link.
func (machine *machine) over(lower place) (found []place) {
	for namespace, device := range machine.each {
		if device.under != nil && *device.under == lower {
			found = append(found, place{namespace, device.Index})
		}
	}
	return found
}

// forget takes a link out of a namespace, with what it has there.
func (network *network) forget(index uint32, name string) {
	network.links = slices.DeleteFunc(network.links, func(device device) bool { return device.Index == index })
	network.addresses = slices.DeleteFunc(network.addresses, func(held held) bool { return held.link == index })
	network.neighbours = slices.DeleteFunc(network.neighbours, func(entry entry) bool { return entry.link == index })
	network.routes = slices.DeleteFunc(network.routes, func(route routeEntry) bool { return isOver(route, index) })
	network.removeParameters(name)
	network.forgetTarget(index)
}

// RemoveContainer removes the container's namespace and its links, as when a container is gone before DEL.
func (host *Host) RemoveContainer() {
	machine := host.fake()
	if machine.container == nil {
		return
	}
	for _, device := range slices.Clone(machine.container.links) {
		machine.remove(place{weir.Container, device.Index})
	}
	machine.container = nil
	machine.settle()
}

func lowerOf(kind link.NewKind) (weir.LinkReference, weir.Namespace, bool) {
	switch over := kind.(type) {
	case link.NewKindMacvlan:
		return over.Lower, over.LowerNamespace, true
	case link.NewKindIPVLAN:
		return over.Lower, over.LowerNamespace, true
	case link.NewKindVLAN:
		return over.Lower, over.LowerNamespace, true
	default:
		return weir.LinkReference{}, weir.Host, false
	}
}

func detailsOf(kind link.NewKind) link.Details {
	switch asked := kind.(type) {
	case link.NewKindBridge:
		bridge := link.DetailsBridge{DefaultPVID: 1}
		if asked.VLANFiltering != nil {
			bridge.VLANFiltering = *asked.VLANFiltering
		}
		if asked.DefaultPVID != nil {
			bridge.DefaultPVID = *asked.DefaultPVID
		}
		return bridge
	case link.NewKindMacvlan:
		return link.DetailsMacvlan(asked.Mode)
	case link.NewKindIPVLAN:
		return link.DetailsIPVLAN(asked.Mode)
	case link.NewKindVLAN:
		return link.DetailsVLAN(asked.ID)
	case link.NewKindVRF:
		return link.DetailsVRF(asked)
	default:
		return link.DetailsNone{}
	}
}

// kindOf returns the kind as the kernel reports it.
func kindOf(kind link.NewKind) string {
	switch kind.(type) {
	case link.NewKindVeth:
		return "veth"
	case link.NewKindBridge:
		return "bridge"
	case link.NewKindMacvlan:
		return "macvlan"
	case link.NewKindIPVLAN:
		return "ipvlan"
	case link.NewKindVLAN:
		return "vlan"
	case link.NewKindDummy:
		return "dummy"
	case link.NewKindTap:
		return "tun"
	case link.NewKindVRF:
		return "vrf"
	case link.NewKindIFB:
		return "ifb"
	default:
		panic(fmt.Sprintf("link.create: a link of the kind %T", kind))
	}
}
