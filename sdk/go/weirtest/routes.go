//go:build !wasm

package weirtest

import (
	"net/netip"
	"reflect"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/route"
)

// routeEntry is a route of the kernel: its table, its scope and its protocol are there, and its links are known by their indexes.
type routeEntry = route.Route

const localTable uint32 = 255

// What a route is given by the kernel, or by what makes it.
const (
	protocolKernel   uint8  = 2
	protocolBoot     uint8  = 3
	priorityOfPrefix uint32 = 256
	priorityOfIPv6   uint32 = 1024
)

func addRoute(machine *machine, namespace weir.Namespace, wanted route.Route) (any, error) {
	network, made, err := machine.route(namespace, wanted)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(network.routes, func(there routeEntry) bool { return isLike(there, made) })
	switch {
	case at < 0:
		network.insert(made)
	case namespace == weir.Host || slices.ContainsFunc(network.routes, func(there routeEntry) bool { return isEqual(there, made) }):
		return nil, exists
	case made.Destination.Addr().Is4():
		network.routes = slices.Insert(network.routes, at, made)
	case made.Gateway.IsValid():
		return nil, refuse(weir.Unsupported, "the fake host does not have a second gateway to an IPv6 destination")
	default:
		network.insert(made)
	}
	return nil, nil
}

func replaceRoute(machine *machine, namespace weir.Namespace, wanted route.Route) (any, error) {
	network, made, err := machine.route(namespace, wanted)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(network.routes, func(there routeEntry) bool { return isLike(there, made) })
	if at < 0 {
		network.insert(made)
	} else {
		network.routes[at] = made
	}
	return nil, nil
}

func deleteRoute(network *network, wanted route.Route) (any, error) {
	meant, err := network.withIndexes(wanted)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(network.routes, func(there routeEntry) bool { return isMeant(there, meant) })
	if at < 0 {
		return nil, noProcess
	}
	network.routes = slices.Delete(network.routes, at, at+1)
	return nil, nil
}

func listRoutes(machine *machine, namespace weir.Namespace, filter route.Filter) (any, error) {
	network, err := machine.network(namespace)
	if err != nil {
		return nil, err
	}
	table := filter.Table
	if table == nil && namespace == weir.Host && !filter.Link.IsGiven() {
		table = new(route.MainTable)
	}
	if filter.Link, err = network.byIndex(filter.Link); err != nil {
		return nil, err
	}
	var ipv4, ipv6 []route.Route
	for _, there := range network.routes {
		switch {
		case !matches(there, filter, table):
		case there.Destination.Addr().Is4():
			ipv4 = append(ipv4, there)
		default:
			ipv6 = append(ipv6, there)
		}
	}
	return append(ipv4, ipv6...), nil
}

func matches(there routeEntry, filter route.Filter, table *uint32) bool {
	isBy := !filter.Gateway.IsValid()
	for _, hop := range hops(there) {
		isBy = isBy || hop.Gateway == filter.Gateway
	}
	return isBy &&
		(filter.Family == nil || *filter.Family == familyOf(there.Destination.Addr())) &&
		(!filter.Destination.IsValid() || filter.Destination == there.Destination) &&
		(!filter.Link.IsGiven() || isOver(there, filter.Link.Index)) &&
		(table == nil || *table == *there.Table)
}

// getRoute looks in the table of the own addresses first, then in the main one: for the longest prefix.
func getRoute(network *network, to netip.Addr) (any, error) {
	for _, table := range []uint32{localTable, route.MainTable} {
		best := -1
		for i, there := range network.routes {
			isBetter := best < 0 || there.Destination.Bits() > network.routes[best].Destination.Bits()
			if *there.Table == table && there.Destination.Contains(to) && isBetter {
				best = i
			}
		}
		if best >= 0 {
			return network.answerOf(network.routes[best], to), nil
		}
	}
	return nil, kernel(weir.NotFound, 101, "Network is unreachable (ENETUNREACH)")
}

// answerOf returns a route as a look-up does, with its source address.
func (network *network) answerOf(found routeEntry, to netip.Addr) route.Route {
	found.Destination = netip.PrefixFrom(to, to.BitLen())
	found.Scope = new(route.ScopeUniverse)
	for _, held := range network.addressesOf(found.Link.Index) {
		if own := held.Address.Address.Addr(); !found.Source.IsValid() && own.Is4() == to.Is4() {
			found.Source = own
		}
	}
	return found
}

// hops returns where a route leads next: one hop, or those of a multipath route.
func hops(of routeEntry) []route.NextHop {
	own := route.NextHop{Gateway: of.Gateway, Link: of.Link, OnLink: of.OnLink}
	return append([]route.NextHop{own}, of.NextHops...)
}

func isOver(of routeEntry, index uint32) bool {
	return slices.ContainsFunc(hops(of), func(hop route.NextHop) bool { return hop.Link.Index == index })
}

// isLike tells whether one takes the other's place.
func isLike(one, other routeEntry) bool {
	return one.Destination == other.Destination && *one.Table == *other.Table && priority(one) == priority(other)
}

func priority(of routeEntry) uint32 {
	if of.Priority == nil {
		return 0
	}
	return *of.Priority
}

// isMeant tells whether a route is one to remove: what is left out matches any.
func isMeant(there, wanted routeEntry) bool {
	return there.Destination == wanted.Destination && *there.Table == *wanted.Table && there.Kind == wanted.Kind &&
		isGiven(there.Scope, wanted.Scope) && isGiven(there.Protocol, wanted.Protocol) &&
		(priority(wanted) == 0 || priority(wanted) == priority(there)) &&
		isGiven(there.MTU, wanted.MTU) && isGiven(there.Advmss, wanted.Advmss) &&
		(!wanted.Link.IsGiven() || wanted.Link == there.Link) &&
		(!wanted.Gateway.IsValid() || wanted.Gateway == there.Gateway) &&
		(!wanted.Source.IsValid() || wanted.Source == there.Source) &&
		(len(wanted.NextHops) == 0 || slices.Equal(wanted.NextHops, there.NextHops))
}

func isGiven[T comparable](there, wanted *T) bool {
	return wanted == nil || there != nil && *there == *wanted
}

// insert puts a route before those of its destination that have a larger priority.
func (network *network) insert(made routeEntry) {
	isBehind := func(there routeEntry) bool {
		return there.Destination == made.Destination && *there.Table == *made.Table && priority(there) > priority(made)
	}
	at := slices.IndexFunc(network.routes, isBehind)
	if at < 0 {
		at = len(network.routes)
	}
	network.routes = slices.Insert(network.routes, at, made)
}

// dropRoutesOfLink removes the routes over a link that go when it is set down. Those to its own IPv4 addresses stay.
func (network *network) dropRoutesOfLink(index uint32) {
	network.routes = slices.DeleteFunc(network.routes, func(there routeEntry) bool {
		stays := there.Kind == route.RouteKindLocal && there.Destination.Addr().Is4()
		return isOver(there, index) && !stays
	})
}

// addRoutesOfAddress adds the routes that an address brings: to itself and, on a link that is up, to its network.
func (network *network) addRoutesOfAddress(added held, noPrefixRoute bool) {
	device := network.device(added.link)
	isFirst := true
	for _, other := range network.addressesOf(added.link) {
		isFirst = isFirst && other.network() != added.network()
	}
	network.addOnce(network.localRoute(added))
	isFurther := added.Address.Address.Addr().Is4() && !isFirst
	if device.Up && !isFurther && !noPrefixRoute {
		network.addPrefixRoute(added)
	}
}

// addRoutesOfLink adds the routes to a link's networks, which go when it is set down.
func (network *network) addRoutesOfLink(index uint32) {
	for _, held := range network.addressesOf(index) {
		if !network.isSecondary(held) {
			network.addPrefixRoute(held)
		}
	}
}

func (network *network) addPrefixRoute(of held) {
	own := of.Address.Address.Addr()
	if own.Is6() && !own.IsLoopback() || of.network() != netip.PrefixFrom(own, own.BitLen()) {
		network.addOnce(prefixRoute(of))
	}
}

func (network *network) addOnce(made routeEntry) {
	if !slices.ContainsFunc(network.routes, func(there routeEntry) bool { return isEqual(there, made) }) {
		network.routes = append(network.routes, made)
	}
}

func isEqual(one, other routeEntry) bool {
	return reflect.DeepEqual(one, other)
}

// dropRoutesOfAddress removes the routes that an address brought, and those that had it as their source.
func (network *network) dropRoutesOfAddress(gone held) {
	own := gone.Address.Address.Addr()
	isNetworkLeft := false
	for _, held := range network.addresses {
		if held.Address.Address.Addr() == own {
			return
		}
		isNetworkLeft = isNetworkLeft || own.Is6() && held.link == gone.link && held.network() == gone.network()
	}
	prefix := prefixRoute(gone)
	network.routes = slices.DeleteFunc(network.routes, func(there routeEntry) bool {
		isLocal := there.Kind == route.RouteKindLocal && there.Destination == netip.PrefixFrom(own, own.BitLen())
		return isLocal || isEqual(there, prefix) && !isNetworkLeft || there.Source == own
	})
}

// localRoute is the route to an address itself. Its source is the first address of the network.
func (network *network) localRoute(of held) routeEntry {
	own := of.Address.Address.Addr()
	made := kernelRoute(netip.PrefixFrom(own, own.BitLen()), of.link)
	made.Kind, made.Table, made.Scope = route.RouteKindLocal, new(localTable), new(route.ScopeHost)
	if own.Is6() {
		made.Scope, made.Priority = new(route.ScopeUniverse), new(uint32(0))
		return made
	}
	made.Source = own
	for _, other := range network.addressesOf(of.link) {
		if other.network() == of.network() {
			made.Source = other.Address.Address.Addr()
			break
		}
	}
	return made
}

func prefixRoute(of held) routeEntry {
	own := of.Address.Address.Addr()
	made := kernelRoute(of.network(), of.link)
	if own.Is6() {
		made.Scope, made.Priority = new(route.ScopeUniverse), new(priorityOfPrefix)
		return made
	}
	made.Scope, made.Source = new(route.ScopeLink), own
	if own.IsLoopback() {
		made.Kind, made.Table, made.Scope = route.RouteKindLocal, new(localTable), new(route.ScopeHost)
	}
	return made
}

func kernelRoute(destination netip.Prefix, index uint32) routeEntry {
	return routeEntry{
		Destination: destination,
		Link:        weir.LinkIndex(index),
		Table:       new(route.MainTable),
		Protocol:    new(protocolKernel),
	}
}
