package weir

import (
	"net/netip"
	"slices"

	"weir.dev/weir/route"
)

// RouteOf returns a route of a result or of a configuration as one of the kernel, over a link. MTU, segment size and priority of 0
// are the same as none.
func RouteOf(of Route, over LinkReference) route.Route {
	given := func(value *uint32) *uint32 {
		if value == nil || *value == 0 {
			return nil
		}
		return value
	}
	return route.Route{
		Destination: of.Dst.Masked(),
		Gateway:     of.GW,
		Link:        over,
		Table:       of.Table,
		Scope:       of.Scope,
		Priority:    given(of.Priority),
		MTU:         given(of.MTU),
		Advmss:      given(of.Advmss),
	}
}

// RoutesOf returns routes of a result with these addresses as those of the kernel, over a link. A route without a gateway takes the
// first one of its family. Routes that differ only in the gateway become one with several next hops.
func RoutesOf(routes []Route, ips []IP, over LinkReference) []route.Route {
	var made []route.Route
	for _, of := range routes {
		next := RouteOf(of, over)
		if !next.Gateway.IsValid() {
			next.Gateway = firstGateway(ips, of.Dst.Addr())
		}
		if next.Scope == nil {
			next.Scope = new(route.ScopeUniverse)
		}
		isSame := func(other route.Route) bool {
			return other.Destination == next.Destination && same(other.Table, next.Table) && same(other.Priority, next.Priority)
		}
		if known := slices.IndexFunc(made, isSame); known >= 0 {
			addHop(&made[known], next)
		} else {
			made = append(made, next)
		}
	}
	return made
}

func same(one, other *uint32) bool {
	if one == nil || other == nil {
		return one == other
	}
	return *one == *other
}

func firstGateway(ips []IP, family netip.Addr) netip.Addr {
	for _, ip := range ips {
		if ip.Gateway.IsValid() && ip.Gateway.Is4() == family.Is4() {
			return ip.Gateway
		}
	}
	return netip.Addr{}
}

// addHop adds the next hop of another route that is the same otherwise.
func addHop(to *route.Route, other route.Route) {
	if len(to.NextHops) == 0 {
		if to.Gateway == other.Gateway {
			return
		}
		to.NextHops = []route.NextHop{{Gateway: to.Gateway, Link: to.Link, Weight: 1}}
		to.Gateway, to.Link = netip.Addr{}, LinkReference{}
	}
	isKnown := func(hop route.NextHop) bool { return hop.Gateway == other.Gateway }
	if !slices.ContainsFunc(to.NextHops, isKnown) {
		to.NextHops = append(to.NextHops, route.NextHop{Gateway: other.Gateway, Link: other.Link, Weight: 1})
	}
}

// AddDefaultRoutes adds a default route through the gateway to a result, for each family that has none and for which it has an address.
func AddDefaultRoutes(result *Result) {
	for _, ip := range result.IPs {
		all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if ip.Address.Addr().Is6() {
			all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		if !slices.ContainsFunc(result.Routes, func(of Route) bool { return of.Dst == all }) {
			result.Routes = append(result.Routes, Route{Dst: all, GW: ip.Gateway})
		}
	}
}
