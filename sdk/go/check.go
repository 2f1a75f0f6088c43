package weir

import (
	"fmt"

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
	case expected.MAC != "" && expected.MAC != found.MAC.String():
		return found, Wrong("interface `%s`: expected MAC %s, found %v", found.Name, expected.MAC, found.MAC)
	case !found.Up:
		return found, Wrong("interface `%s` is down", found.Name)
	default:
		return found, nil
	}
}

// CheckAddresses fails unless the container's interface has the addresses of a result.
func CheckAddresses(ifname string, ips []IP) error {
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
