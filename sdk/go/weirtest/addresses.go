//go:build !wasm

package weirtest

import (
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/address"
)

func addAddress(network *network, device *device, wanted address.NewAddress) (any, error) {
	own := wanted.Address.Addr()
	switch {
	case !wanted.Address.IsValid():
		return nil, invalid("the prefix is too long")
	case wanted.Peer.IsValid() && wanted.Peer.Is4() != own.Is4():
		return nil, invalid("the peer is not of the address's family")
	case wanted.Broadcast.IsValid() && !(own.Is4() && wanted.Broadcast.Is4()):
		return nil, invalid("only an IPv4 address has a broadcast address")
	case own.Is6() && network.isWithoutIPv6(device.Name):
		return nil, noPermission
	}
	added := held{device.Index, address.Address{Address: wanted.Address, Peer: wanted.Peer, Broadcast: wanted.Broadcast}}
	if added.Peer == own {
		added.Peer = netip.Addr{}
	}
	if slices.ContainsFunc(network.addresses, added.isSame) {
		return nil, exists
	}
	network.hold(added, wanted.NoPrefixRoute)
	return nil, nil
}

// hold adds an address, with the routes that it brings.
func (network *network) hold(added held, noPrefixRoute bool) {
	network.addRoutesOfAddress(added, noPrefixRoute)
	network.addresses = append(network.addresses, added)
}

// isSame tells whether the link cannot have both. It has an IPv6 address once, whatever its prefix.
func (added held) isSame(there held) bool {
	if added.link != there.link {
		return false
	}
	if added.Address.Address.Addr().Is6() {
		return added.Address.Address.Addr() == there.Address.Address.Addr()
	}
	return added.Address.Address == there.Address.Address && added.Peer == there.Peer
}

// network returns the network that an address leads to: its own, or its peer's.
func (held held) network() netip.Prefix {
	far := held.Address.Address.Addr()
	if held.Peer.IsValid() {
		far = held.Peer
	}
	return netip.PrefixFrom(far, held.Address.Address.Bits()).Masked()
}

func (network *network) addressesOf(link uint32) (found []held) {
	for _, held := range network.addresses {
		if held.link == link {
			found = append(found, held)
		}
	}
	return found
}

// isSecondary tells whether a link had another IPv4 address of the same network before.
func (network *network) isSecondary(of held) bool {
	for _, other := range network.addressesOf(of.link) {
		if other == of {
			return false
		}
		if of.Address.Address.Addr().Is4() && other.network() == of.network() {
			return true
		}
	}
	return false
}

// deleteAddress removes an address, and with the first IPv4 address of a network the others of it.
func deleteAddress(network *network, device *device, gone netip.Prefix) (any, error) {
	isIt := func(held held) bool { return held.link == device.Index && held.Address.Address == gone }
	at := slices.IndexFunc(network.addresses, isIt)
	if at < 0 {
		return nil, noAddress
	}
	first := network.addresses[at]
	takesOthers := gone.Addr().Is4() && !network.isSecondary(first)
	goes := func(held held) bool {
		return isIt(held) || takesOthers && held.link == device.Index && held.network() == first.network()
	}
	before := slices.Clone(network.addresses)
	network.addresses = slices.DeleteFunc(network.addresses, goes)
	for _, held := range before {
		if goes(held) {
			network.dropRoutesOfAddress(held)
		}
	}
	return nil, nil
}

func listAddresses(network *network, device *device, family *weir.IPFamily) (any, error) {
	var found []address.Address
	for _, held := range network.addressesOf(device.Index) {
		if family == nil || *family == familyOf(held.Address.Address.Addr()) {
			found = append(found, held.Address)
		}
	}
	return found, nil
}

func familyOf(address netip.Addr) weir.IPFamily {
	if address.Is4() {
		return weir.IPv4
	}
	return weir.IPv6
}

func settleAddresses(*network, *device, uint32) (any, error) { return nil, nil }

// addLoopback gives the loopback link the addresses that it lacks, as the kernel does when it is set up.
func (network *network) addLoopback(index uint32) {
	for _, text := range []string{"127.0.0.1/8", "::1/128"} {
		own := held{index, address.Address{Address: netip.MustParsePrefix(text)}}
		if !slices.ContainsFunc(network.addresses, own.isSame) {
			network.hold(own, false)
		}
	}
}

// dropIPv6 removes the IPv6 addresses and routes of a link.
func (network *network) dropIPv6(index uint32) {
	network.addresses = slices.DeleteFunc(network.addresses, func(held held) bool {
		return held.link == index && held.Address.Address.Addr().Is6()
	})
	network.routes = slices.DeleteFunc(network.routes, func(route routeEntry) bool {
		return route.Destination.Addr().Is6() && route.Link.Index == index
	})
}
