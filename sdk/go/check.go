package weir

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weir.dev/weir/address"
	"weir.dev/weir/link"
	"weir.dev/weir/route"
)

// CheckInterface returns the link of the container's interface, for CHECK. It fails unless the result of ADD lists it, and it has the
// kind and the MAC that it had then and is up.
func CheckInterface[C any](request *Request[C], added *Result, kind string) (link.Link, error) {
	expected := request.ResultInterface(added)
	if expected == nil {
		return link.Link{}, Wrong("prevResult: `%s` in sandbox %s is not in interfaces", request.Ifname, request.Sandbox)
	}
	found, err := link.Get(Container, LinkName(request.Ifname))
	switch {
	case IsGone(err):
		return found, Wrong("interface `%s` does not exist", request.Ifname)
	case err != nil:
		return found, fmt.Errorf("cannot read interface `%s`: %w", request.Ifname, err)
	case found.Kind != kind:
		return found, Wrong("interface `%s`: expected a %s, found a %s", found.Name, kind, found.Kind)
	case expected.MAC != "" && !strings.EqualFold(expected.MAC, found.MAC.String()):
		return found, Wrong("interface `%s`: expected MAC %s, found %v", found.Name, expected.MAC, found.MAC)
	case !found.Up:
		return found, Wrong("interface `%s` is down", found.Name)
	default:
		return found, nil
	}
}

// CheckAttached returns the link of the container's interface, for CHECK of a plugin that makes one. It fails unless the interface is as
// ADD left it: of this kind, with the MAC of the result of ADD, up, and with the result's addresses and routes.
//
// Grant: verb `read` of `link`, `address` and `route`; of all routes in the container.
func CheckAttached[C any](request *Request[C], kind string) (link.Link, error) {
	added, err := request.Added()
	if err != nil {
		return link.Link{}, err
	}
	found, err := CheckInterface(request, &added, kind)
	if err != nil {
		return found, err
	}
	if err := CheckAddresses(request.Ifname, added.IPs); err != nil {
		return found, err
	}
	return found, CheckRoutes(&added)
}

// CheckProperty fails unless a property of an interface, such as its mode, is the expected one.
func CheckProperty[T comparable](of link.Link, property string, expected, found T) error {
	if expected == found {
		return nil
	}
	return Wrong("interface `%s`: expected %s %v, found %v", of.Name, property, expected, found)
}

// CheckAddresses fails unless the container's interface has the addresses of a result.
func CheckAddresses(ifname string, ips []IP) error {
	if len(ips) == 0 {
		return nil
	}
	present, err := address.List(Container, LinkName(ifname), nil)
	if err != nil {
		return fmt.Errorf("cannot list the addresses of `%s`: %w", ifname, err)
	}
	found := make(map[string]bool, len(present))
	for _, one := range present {
		found[one.Address.String()] = true
	}
	for _, ip := range ips {
		if !found[ip.Address.String()] {
			return Wrong("interface `%s`: address %v is missing", ifname, ip.Address)
		}
	}
	return nil
}

// CheckRoute fails unless the container has a route to the destination, by the gateway, over the link and in the table that are
// given.
func CheckRoute(expected route.Route) error {
	exists, err := route.Exists(Container, expected)
	if err != nil {
		return fmt.Errorf("cannot list the container's routes: %w", err)
	}
	if !exists {
		return Wrong("%v is missing", expected)
	}
	return nil
}

// CheckRoutes fails unless the container has every route of a result, a default route by any gateway, and a route to the subnet of each
// address. Grant: `route`, verb `read` of all routes in the container.
func CheckRoutes(added *Result) error {
	if len(added.IPs) == 0 && len(added.Routes) == 0 {
		return nil
	}
	// One list for all of them.
	present, err := route.List(Container, route.Filter{})
	if err != nil {
		return fmt.Errorf("cannot list the container's routes: %w", err)
	}
	var expected []route.Route
	for _, ip := range added.IPs {
		expected = append(expected, route.Route{Destination: ip.Address.Masked()})
	}
	for _, of := range added.Routes {
		expected = append(expected, RouteOf(of, LinkReference{}))
	}
	for _, one := range expected {
		if one.Destination.Bits() == 0 {
			one.Gateway = netip.Addr{}
		}
		if !slices.ContainsFunc(present, func(there route.Route) bool { return leadsAs(there, one) }) {
			return Wrong("%v is missing", one)
		}
	}
	return nil
}

// leadsAs tells whether a route leads to the destination, by the gateway and in the table that another one names.
func leadsAs(there, expected route.Route) bool {
	isBy := func(hop route.NextHop) bool { return hop.Gateway == expected.Gateway }
	hasGateway := !expected.Gateway.IsValid() || there.Gateway == expected.Gateway || slices.ContainsFunc(there.NextHops, isBy)
	return there.Destination.Masked() == expected.Destination && hasGateway &&
		(expected.Table == nil || same(there.Table, expected.Table))
}
