package veth

import (
	"fmt"
	"net/netip"

	"weir.dev/weir"
	"weir.dev/weir/address"
	"weir.dev/weir/iface"
	"weir.dev/weir/route"
)

// Configure makes the pair a point-to-point link: the container reaches everything, its own subnet too, through the gateway, whose
// address is that of the host's end.
//
//	container  eth0   10.1.0.5/24                     10.1.0.1 dev eth0, 10.1.0.0/24 via 10.1.0.1
//	host       vethX  10.1.0.1/32 for each gateway    10.1.0.5 dev vethX for each address
//
// It enables IPv6 in the container where the result has an IPv6 address.
//
// Errors: [weir.CodeNoGateway] for an address without a gateway. Grant: verb `create` of `address` and `route` for both ends, and what
// [iface.EnableIPv6] needs.
func (pair *Pair) Configure(result *weir.Result) error {
	if err := RequireGateways(result.IPs); err != nil {
		return err
	}
	if iface.HasIPv6(result.IPs) {
		if err := iface.EnableIPv6(pair.Container.Name); err != nil {
			return err
		}
	}
	for _, ip := range result.IPs {
		if err := pair.configureContainer(ip); err != nil {
			return err
		}
		if err := pair.configureHost(ip); err != nil {
			return err
		}
	}
	for _, leading := range weir.RoutesOf(result.Routes, result.IPs, weir.LinkIndex(pair.Container.Index)) {
		// Whatever the next hop, it is at the other end.
		leading.OnLink = leading.Gateway.IsValid()
		for i := range leading.NextHops {
			leading.NextHops[i].OnLink = true
		}
		if err := route.Ensure(weir.Container, leading); err != nil {
			return err
		}
	}
	return nil
}

// RequireGateways checks that each address has a gateway, before anything is made. Errors: [weir.CodeNoGateway].
func RequireGateways(ips []weir.IP) error {
	for _, ip := range ips {
		if !ip.Gateway.IsValid() {
			return weir.Error{
				Code:    weir.CodeNoGateway,
				Msg:     fmt.Sprintf("the IPAM plugin returned address %v without a gateway", ip.Address),
				Details: "the host's end of a point-to-point link has the gateway's address",
			}
		}
	}
	return nil
}

// configureContainer adds an address and its routes, and not the kernel's own route to the subnet: only the gateway is on the link.
func (pair *Pair) configureContainer(ip weir.IP) error {
	end := weir.LinkReference{Name: pair.Container.Name}
	added := address.WithBroadcast(ip.Address)
	added.NoDuplicateDetection, added.NoPrefixRoute = true, true
	if err := address.Add(weir.Container, end, added); err != nil {
		return fmt.Errorf("cannot add address %v to `%s`: %w", ip.Address, end.Name, err)
	}
	gateway := route.Route{Destination: single(ip.Gateway), Link: end, Source: ip.Address.Addr(), Scope: new(route.ScopeLink)}
	if err := route.Ensure(weir.Container, gateway); err != nil {
		return err
	}
	return route.Ensure(weir.Container, route.Route{
		Destination: ip.Address.Masked(),
		Gateway:     ip.Gateway,
		Link:        end,
		Source:      ip.Address.Addr(),
		Scope:       new(route.ScopeUniverse),
	})
}

// configureHost adds the gateway's address, and a route to the container's.
func (pair *Pair) configureHost(ip weir.IP) error {
	end := weir.LinkName(pair.Host.Name)
	added := address.NewAddress{Address: single(ip.Gateway), NoDuplicateDetection: true}
	// Addresses of one subnet have one gateway.
	if err := address.Add(weir.Host, end, added); err != nil && !weir.Is(err, weir.Exists) {
		return fmt.Errorf("cannot add address %v to `%s`: %w", ip.Gateway, end.Name, err)
	}
	return route.Ensure(weir.Host, route.Route{
		Destination: single(ip.Address.Addr()),
		Link:        end,
		Scope:       new(route.ScopeHost),
	})
}

// single returns the network of one address.
func single(of netip.Addr) netip.Prefix {
	return netip.PrefixFrom(of, of.BitLen())
}
