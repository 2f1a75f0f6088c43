// The plugin `route-override-go`, the example `route-override` in Go: replaces the routes that other plugins gave the container's
// interface, IPv4 and IPv6. Its keys are those of the community's plugin route-override.
//
//	flushroutes   removes all routes that lead beyond the interface's own subnets and link-local addresses
//	flushgateway  removes the default routes, and the gateways of the result's addresses
//	delroutes     removes the routes to each dst of the list
//	addroutes     adds a list of routes: dst, and gw, without which an address's gateway is taken, if there is one
//	skipcheck     CHECK succeeds whatever routes there are
package main

import (
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/route"
)

// Config is what the network configuration says.
type Config struct {
	FlushRoutes  bool         `json:"flushroutes"`
	FlushGateway bool         `json:"flushgateway"`
	DelRoutes    []weir.Route `json:"delroutes"`
	AddRoutes    []weir.Route `json:"addroutes"`
	SkipCheck    bool         `json:"skipcheck"`
}

func add(request *weir.Request[Config]) (weir.Result, error) {
	config := &request.Config
	result, err := request.Chained()
	if err != nil {
		return result, err
	}
	routes, err := unwanted(request, result.IPs)
	if err != nil {
		return result, err
	}
	for _, one := range routes {
		if err := route.Delete(weir.Container, one); err != nil {
			return result, err
		}
	}
	result.Routes = slices.DeleteFunc(result.Routes, func(one weir.Route) bool {
		return config.FlushRoutes || config.removes(weir.RouteOf(one, weir.LinkReference{}), result.IPs)
	})
	if config.FlushGateway {
		for i := range result.IPs {
			result.IPs[i].Gateway = netip.Addr{}
		}
	}
	for _, one := range weir.RoutesOf(config.AddRoutes, result.IPs, weir.LinkName(request.Ifname)) {
		if err := route.Ensure(weir.Container, one); err != nil {
			return result, err
		}
	}
	result.Routes = append(result.Routes, config.AddRoutes...)
	return result, nil
}

func check(request *weir.Request[Config]) error {
	added, err := request.Added()
	if err != nil || request.Config.SkipCheck {
		return err
	}
	for _, one := range added.Routes {
		if err := weir.CheckRoute(weir.RouteOf(one, weir.LinkName(request.Ifname))); err != nil {
			return err
		}
	}
	routes, err := unwanted(request, added.IPs)
	if err != nil {
		return err
	}
	for _, one := range routes {
		isKnown := func(known weir.Route) bool { return known.Dst.Masked() == one.Destination }
		if !slices.ContainsFunc(added.Routes, isKnown) {
			return weir.Wrong("%v is there again", one)
		}
	}
	return nil
}

// unwanted returns the interface's routes that are to be removed.
func unwanted(request *weir.Request[Config], ips []weir.IP) ([]route.Route, error) {
	container, err := request.ContainerInterface()
	if err != nil {
		return nil, err
	}
	routes, err := route.PartsOver(weir.Container, container.Index)
	return slices.DeleteFunc(routes, func(one route.Route) bool { return !request.Config.removes(one, ips) }), err
}

// removes tells whether a route of an interface with these addresses is to be removed.
func (config *Config) removes(one route.Route, ips []weir.IP) bool {
	to := one.Destination
	isDefault := to.Bits() == 0
	isOwn := to.Addr().IsLinkLocalUnicast() || slices.ContainsFunc(ips, func(ip weir.IP) bool { return ip.Address.Masked() == to })
	leadsOn := isDefault || one.Gateway.IsValid() || len(one.NextHops) > 0
	return config.FlushRoutes && leadsOn && !isOwn ||
		config.FlushGateway && isDefault ||
		slices.ContainsFunc(config.DelRoutes, func(named weir.Route) bool { return named.Dst.Masked() == to })
}

func init() {
	weir.Export(weir.Plugin[Config]{
		Name:        "route-override-go",
		Version:     "0.1.0",
		Description: "Replaces the routes of the container's interface",
		Add:         add,
		Check:       check,
	})
}

func main() {}
