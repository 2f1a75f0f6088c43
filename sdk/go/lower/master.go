package lower

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"weir.dev/weir"
	"weir.dev/weir/link"
	"weir.dev/weir/route"
)

// Master is which device a configuration names as the master.
type Master struct {
	// The key `master`; empty for the interface of the default route.
	Name string

	// The key `linkInContainer`: it is in the container, not on the host.
	InContainer bool
}

// Validate checks the name. Errors: code 7, with the key.
func (master Master) Validate() error {
	const most = 15
	isForbidden := func(c rune) bool { return c == '/' || c == ':' || unicode.IsSpace(c) }
	name := master.Name
	if len(name) > most || name == "." || name == ".." || strings.ContainsFunc(name, isForbidden) {
		const message = "master: expected the name of an interface, at most %d bytes without blanks, `/` and `:`, found %q"
		return weir.Fail(weir.CodeInvalidConfig, message, most, name)
	}
	return nil
}

// Find finds the master: the named one, or the interface of the default route.
//
// Errors: [weir.CodeNotFound]; [weir.CodeDenied] for one that the network may not use. Grant: `link`, verb `read`; `route`, verb `read`
// where none is named.
func (master Master) Find() (Lower, error) {
	namespace := weir.Host
	if master.InContainer {
		namespace = weir.Container
	}
	if master.Name == "" {
		found, err := ofDefaultRoute(namespace)
		return Lower{found, namespace}, err
	}
	found, err := link.Get(namespace, weir.LinkName(master.Name))
	if weir.IsGone(err) {
		return Lower{}, weir.Error{
			Code:    weir.CodeNotFound,
			Msg:     fmt.Sprintf("master: no interface `%s` %s", master.Name, placeOf(namespace)),
			Details: master.advice(),
		}
	}
	if err != nil {
		return Lower{}, fmt.Errorf("master: cannot use interface `%s`: %w", master.Name, err)
	}
	return Lower{found, namespace}, nil
}

// advice says what to do about a master that is not there.
func (master Master) advice() string {
	other, key := weir.Container, "set `linkInContainer` to true"
	if master.InContainer {
		other, key = weir.Host, "remove `linkInContainer`"
	}
	if _, err := link.Get(other, weir.LinkName(master.Name)); err != nil {
		return "name an interface that exists when the container is attached"
	}
	return fmt.Sprintf("there is one %s: %s to use that", placeOf(other), key)
}

func placeOf(namespace weir.Namespace) string {
	if namespace == weir.Host {
		return "on the host"
	}
	return "in the container"
}

// ofDefaultRoute returns the interface of the main table's first default route, of IPv4 before IPv6.
func ofDefaultRoute(namespace weir.Namespace) (link.Link, error) {
	for _, all := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		routes, err := route.List(namespace, route.Filter{
			Destination: netip.PrefixFrom(all, 0),
			Table:       new(route.MainTable),
		})
		if err != nil {
			return link.Link{}, fmt.Errorf("master: cannot look for the interface of the default route: %w", err)
		}
		for _, leading := range routes {
			for _, over := range linksOf(leading) {
				found, err := link.Get(namespace, over)
				if err != nil {
					return found, fmt.Errorf("master: cannot use the interface of the default route: %w", err)
				}
				return found, nil
			}
		}
	}
	return link.Link{}, weir.Error{
		Code:    weir.CodeNotFound,
		Msg:     fmt.Sprintf("master: missing, and there is no default route %s that would name one", placeOf(namespace)),
		Details: "name the interface in `master`",
	}
}

// linksOf returns the links that a route leads over, itself or by its next hops.
func linksOf(leading route.Route) (links []weir.LinkReference) {
	if leading.Link.IsGiven() {
		links = append(links, leading.Link)
	}
	for _, hop := range leading.NextHops {
		if hop.Link.IsGiven() {
			links = append(links, hop.Link)
		}
	}
	return links
}
