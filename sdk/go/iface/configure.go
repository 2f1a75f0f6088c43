package iface

import (
	"fmt"
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/address"
	"weir.dev/weir/link"
	"weir.dev/weir/log"
	"weir.dev/weir/neighbour"
	"weir.dev/weir/route"
	"weir.dev/weir/sysctl"
)

// settleTimeout is how long duplicate address detection may take, in milliseconds.
const settleTimeout uint32 = 10_000

// Configure gives the interface, which is up, the addresses and routes of a result, as [AddAddresses] and [AddRoutes] do.
func Configure(of link.Link, result *weir.Result) error {
	if err := AddAddresses(of, result.IPs); err != nil {
		return err
	}
	return AddRoutes(of, result.Routes, result.IPs)
}

// AddAddresses gives the interface the addresses of a result. IPv6 is enabled for them, and an IPv6 address stays when the interface is
// set down, as when it becomes a port of a VRF.
//
// Grant: `address`, verb `create`; `sysctl` for keep_addr_on_down of the interface, and what [EnableIPv6] needs, where an address is
// IPv6.
func AddAddresses(to link.Link, ips []weir.IP) error {
	if HasIPv6(ips) {
		if err := EnableIPv6(to.Name); err != nil {
			return err
		}
		key := sysctl.OfLink("ipv6.conf", to.Name, "keep_addr_on_down")
		if err := sysctl.Write(weir.Container, key, "1"); err != nil {
			return fmt.Errorf("cannot keep the IPv6 addresses of `%s`: %w", to.Name, err)
		}
	}
	for _, ip := range ips {
		if err := address.Add(weir.Container, weir.LinkIndex(to.Index), address.WithBroadcast(ip.Address)); err != nil {
			return fmt.Errorf("cannot add address %v to `%s`: %w", ip.Address, to.Name, err)
		}
	}
	return nil
}

// AddRoutes adds routes of a result with these addresses over the interface, as [weir.RoutesOf] makes them. Grant: `route`, verb
// `create`.
func AddRoutes(over link.Link, routes []weir.Route, ips []weir.IP) error {
	for _, made := range weir.RoutesOf(routes, ips, weir.LinkIndex(over.Index)) {
		if err := route.Ensure(weir.Container, made); err != nil {
			return err
		}
	}
	return nil
}

// HasIPv6 tells whether an address of a result is IPv6.
func HasIPv6(ips []weir.IP) bool {
	return slices.ContainsFunc(ips, func(ip weir.IP) bool { return ip.Address.Addr().Is6() })
}

// EnableIPv6 enables IPv6 on the interface and the loopback device, in case the container came without. Grant: `sysctl`, verbs `read`
// and `write` for disable_ipv6 of both.
func EnableIPv6(ifname string) error {
	for _, name := range []string{"lo", ifname} {
		if err := sysctl.Ensure(weir.Container, sysctl.OfLink("ipv6.conf", name, "disable_ipv6"), "0"); err != nil {
			return fmt.Errorf("cannot enable IPv6 on `%s`: %w", name, err)
		}
	}
	return nil
}

// Settle waits for duplicate address detection, at most ten seconds. An address that is taken is an error; one that is still being
// checked is used all the same. Grant: `address`, verb `read`.
func Settle(of link.Link) error {
	err := address.Settle(weir.Container, weir.LinkIndex(of.Index), settleTimeout)
	if weir.Is(err, weir.TimedOut) {
		warn("addresses are still being checked for duplicates", "link", of.Name, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("`%s`: an address is in use already: %w", of.Name, err)
	}
	return nil
}

// SetParameter writes a parameter of the interface that the container can do without, such as arp_notify of ipv4.conf. A failure is
// logged and not an error. Grant: `sysctl`, verb `write` for the parameter.
func SetParameter(ifname, group, parameter, value string) {
	key := sysctl.OfLink(group, ifname, parameter)
	if err := sysctl.Set(weir.Container, key, value); err != nil {
		warn("cannot set a parameter of the container's interface", "key", key, err)
	}
}

// Announce announces the addresses to the neighbours. A failure is logged and not an error. Grant: `neighbour`, verb `announce`.
func Announce(of link.Link, ips []weir.IP) {
	if len(ips) == 0 {
		return
	}
	addresses := make([]netip.Addr, len(ips))
	for i, ip := range ips {
		addresses[i] = ip.Address.Addr()
	}
	if err := neighbour.Announce(weir.Container, weir.LinkIndex(of.Index), addresses); err != nil {
		warn("cannot announce the container's addresses", "link", of.Name, err)
	}
}

func warn(message, key, value string, err error) {
	log.Write(log.LevelWarn, message, [][2]string{{key, value}, {"error", err.Error()}})
}
