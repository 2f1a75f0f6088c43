//go:build !wasm

package weirtest

import (
	"net/netip"

	"weir.dev/weir"
	"weir.dev/weir/route"
)

// route returns a namespace, and a route that a plugin names as the kernel has it then. Errors: not-found for a link, invalid, failed
// for a link that is down.
func (machine *machine) route(namespace weir.Namespace, wanted route.Route) (*network, routeEntry, error) {
	network, err := machine.network(namespace)
	if err != nil {
		return nil, wanted, err
	}
	made, err := network.withIndexes(wanted)
	if err == nil {
		made, err = network.resolve(made)
	}
	return network, made, err
}

// withIndexes returns a route with its table and the indexes of its links. Errors: not-found for a link, invalid.
func (network *network) withIndexes(wanted route.Route) (made routeEntry, err error) {
	made = wanted
	if made.Link, err = network.byIndex(wanted.Link); err != nil {
		return made, err
	}
	made.NextHops = nil
	for _, hop := range wanted.NextHops {
		if hop.Link, err = network.byIndex(hop.Link); err != nil {
			return made, err
		}
		made.NextHops = append(made.NextHops, hop)
	}
	if made.Table == nil || *made.Table == 0 {
		made.Table = new(route.MainTable)
	}
	return made, checkRoute(made)
}

func (network *network) byIndex(link weir.LinkReference) (weir.LinkReference, error) {
	if !link.IsGiven() {
		return link, nil
	}
	found, err := network.find(link)
	if err != nil {
		return link, err
	}
	return weir.LinkIndex(found.Index), nil
}

// checkRoute fails for what cannot be a route, whatever the host has.
func checkRoute(made routeEntry) error {
	to := made.Destination
	if !to.IsValid() || to.Masked() != to {
		return invalid("%v has bits beyond its prefix: expected %v", to, to.Masked())
	}
	if len(made.NextHops) > 0 && (made.Gateway.IsValid() || made.Link.IsGiven()) {
		return invalid("a route with next hops has no gateway and no link of its own")
	}
	for _, hop := range made.NextHops {
		if hop.Weight < 1 || hop.Weight > 256 {
			return invalid("next hop weight %d: expected 1 to 256", hop.Weight)
		}
	}
	for _, hop := range hops(made) {
		if to.Addr().Is6() && hop.Gateway.Is4() {
			return invalid("%v cannot be reached over IPv4, by %v", to, hop.Gateway)
		}
	}
	if made.Source.IsValid() && made.Source.Is6() != to.Addr().Is6() {
		return invalid("the source %v is not of the family of %v", made.Source, to)
	}
	return nil
}

// resolve returns the route as the kernel has it then.
func (network *network) resolve(made routeEntry) (routeEntry, error) {
	if made.Kind != route.RouteKindUnicast && made.Kind != route.RouteKindLocal {
		if made.Gateway.IsValid() || made.Link.IsGiven() || len(made.NextHops) > 0 {
			return made, badArgument
		}
		return withDefaults(made), nil
	}
	if made.Source.IsValid() && !network.isOwn(made.Source) {
		return made, badArgument
	}
	for _, hop := range made.NextHops {
		if _, err := network.linkOf(made, hop); err != nil {
			return made, err
		}
	}
	made = withDefaults(made)
	if len(made.NextHops) > 0 {
		return made, nil
	}
	index, err := network.linkOf(made, hops(made)[0])
	made.Link = weir.LinkIndex(index)
	return made, err
}

func withDefaults(made routeEntry) routeEntry {
	made.Scope = new(scopeOf(made))
	if priority(made) == 0 {
		made.Priority = nil
		if made.Destination.Addr().Is6() {
			made.Priority = new(priorityOfIPv6)
		}
	}
	if made.Protocol == nil {
		made.Protocol = new(protocolBoot)
	}
	return made
}

// scopeOf returns the scope that a route is given. IPv6 has none.
func scopeOf(made routeEntry) uint8 {
	isDirect := !made.Gateway.IsValid() && len(made.NextHops) == 0
	switch {
	case made.Destination.Addr().Is6():
		return route.ScopeUniverse
	case made.Scope != nil:
		return *made.Scope
	case made.Kind == route.RouteKindLocal:
		return route.ScopeHost
	case made.Kind == route.RouteKindUnicast && isDirect:
		return route.ScopeLink
	default:
		return route.ScopeUniverse
	}
}

// linkOf returns the link that a hop goes through.
func (network *network) linkOf(made routeEntry, hop route.NextHop) (uint32, error) {
	if hop.Link.IsGiven() && !network.device(hop.Link.Index).Up && made.Kind != route.RouteKindLocal {
		return 0, networkDown
	}
	switch {
	case hop.Gateway.IsValid() && !hop.OnLink:
		return network.reach(hop)
	case hop.Link.IsGiven():
		return hop.Link.Index, nil
	default:
		return 0, noDevice
	}
}

// reach returns the link over which a gateway is a neighbour.
func (network *network) reach(hop route.NextHop) (uint32, error) {
	if hop.Gateway.Is6() && network.isOwn(hop.Gateway) {
		return 0, badArgument
	}
	index, longest := uint32(0), -1
	for _, there := range network.routes {
		isDirect := *there.Table == route.MainTable && there.Kind == route.RouteKindUnicast && !there.Gateway.IsValid()
		isHere := !hop.Link.IsGiven() || hop.Link == there.Link
		if isDirect && isHere && there.Destination.Contains(hop.Gateway) && there.Destination.Bits() >= longest {
			index, longest = there.Link.Index, there.Destination.Bits()
		}
	}
	switch {
	case index != 0:
		return index, nil
	case hop.Gateway.Is4():
		return 0, unreachable
	default:
		return 0, noHost
	}
}

func (network *network) isOwn(address netip.Addr) bool {
	for _, held := range network.addresses {
		if held.Address.Address.Addr() == address {
			return true
		}
	}
	return false
}
