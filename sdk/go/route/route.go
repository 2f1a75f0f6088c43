// Package route is the capability `route`: routes of the kernel.
//
// The kernel's own routes in a result, and those in a configuration, are of the type weir.Route, and weir.RouteOf makes one of
// these of them.
package route

import (
	"errors"
	"fmt"

	"weir.dev/weir/internal/contract"
)

// MainTable is the kernel's main table, which is meant where a route names none.
const MainTable uint32 = 254

// Scopes of routes.
const (
	ScopeUniverse uint8 = 0
	ScopeLink     uint8 = 253
	ScopeHost     uint8 = 254
)

// String returns the route as "route 192.0.2.0/24 via 10.1.0.1 over `eth0`", without what it does not have, and without a link that
// is known by its index.
func (route Route) String() string {
	text := "route " + route.Destination.String()
	if route.Gateway.IsValid() {
		text += " via " + route.Gateway.String()
	}
	if route.Link.Name != "" {
		text += " over " + route.Link.String()
	}
	return text
}

// Over returns a filter for the main table's routes over a link.
func Over(link contract.LinkReference) Filter {
	return Filter{Link: link, Table: new(MainTable)}
}

// PartsOver returns the routes over the link of that index. Of a route with next hops over several links, only those over this link
// are in it, so that it can be deleted and the other links keep theirs. Errors: `not-found` for the link.
func PartsOver(namespace contract.Namespace, index uint32) ([]Route, error) {
	link := contract.LinkReference{Index: index}
	routes, err := List(namespace, Over(link))
	var parts []Route
	for _, route := range routes {
		var hops []NextHop
		for _, hop := range route.NextHops {
			if hop.Link == link {
				hops = append(hops, hop)
			}
		}
		route.NextHops = hops
		if route.Link == link || len(hops) > 0 {
			parts = append(parts, route)
		}
	}
	return parts, err
}

// Ensure adds a route unless it exists: in the container the very same one, on the host one with the same destination, table and
// priority.
func Ensure(namespace contract.Namespace, route Route) error {
	err := Add(namespace, route)
	var failed contract.OperationError
	if err == nil || errors.As(err, &failed) && failed.Code == contract.ErrorCodeExists {
		return nil
	}
	return fmt.Errorf("cannot add %v: %w", route, err)
}

// Exists tells whether there is a route to the destination, by the gateway, over the link and in the table that are given, itself or
// as one of its next hops. Without a table all of the container are searched, and the host's main one. Errors: `not-found` for the
// link.
func Exists(namespace contract.Namespace, route Route) (bool, error) {
	destination := route.Destination.Masked()
	routes, err := List(namespace, Filter{
		Destination: destination,
		Link:        route.Link,
		Gateway:     route.Gateway,
		Table:       route.Table,
	})
	return len(routes) > 0, err
}
