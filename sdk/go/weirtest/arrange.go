//go:build !wasm

package weirtest

import (
	"fmt"
	"net/netip"

	"weir.dev/weir"
	"weir.dev/weir/link"
)

// fake returns what the fake host has.
func (host *Host) fake() *machine {
	if host.machine == nil {
		host.test.Fatal("a host of weirtest.Use has nothing: make one with weirtest.New")
	}
	return host.machine
}

// CreatePair creates a veth pair that is up, as a main plugin would have: one end on the host, the other in the container. It is not
// among the calls.
func (host *Host) CreatePair(onHost, inContainer string) {
	peer := link.NewPeer{Namespace: weir.Container, Name: inContainer, Up: true}
	host.create(link.NewLink{Namespace: weir.Host, Name: onHost, Kind: link.NewKindVeth(peer), Up: true})
}

// CreateInterface creates an interface that is up, as the hardware of a node, or as another network's in the container. It is not among
// the calls.
func (host *Host) CreateInterface(namespace weir.Namespace, name string) {
	host.create(link.NewLink{Namespace: namespace, Name: name, Kind: link.NewKindDummy{}, Up: true})
}

func (host *Host) create(wanted link.NewLink) {
	if _, err := host.act("link.create", []any{wanted}); err != nil {
		host.test.Fatal(err)
	}
}

// RenameLink renames a link, as a container may. It is not among the calls.
func (host *Host) RenameLink(namespace weir.Namespace, name, other string) {
	changes := link.Changes{Name: &other}
	if _, err := host.act("link.update", []any{namespace, weir.LinkName(name), changes}); err != nil {
		host.test.Fatal(err)
	}
}

// LinkNames returns the names of a namespace's links, in the order in which they were made.
func (host *Host) LinkNames(namespace weir.Namespace) (names []string) {
	network, err := host.fake().network(namespace)
	if err != nil {
		host.test.Fatal(err)
	}
	for _, device := range network.links {
		names = append(names, device.Name)
	}
	return names
}

// Assign has the IPAM plugin assign an address with each ADD, beside those of earlier calls of Assign: with its prefix length, with its
// gateway, which is empty for none, and with routes by their destination, over the gateway of their family. It panics for text that is
// not an address.
func (host *Host) Assign(address, gateway string, routes ...string) {
	ip := weir.IP{Address: netip.MustParsePrefix(address)}
	if gateway != "" {
		ip.Gateway = netip.MustParseAddr(gateway)
	}
	earlier := host.ipam
	host.ipam = func() (result weir.Result, err error) {
		if earlier != nil {
			result, err = earlier()
		}
		result.IPs = append(result.IPs, ip)
		for _, to := range routes {
			result.Routes = append(result.Routes, weir.Route{Dst: netip.MustParsePrefix(to)})
		}
		return result, err
	}
}

// AnswerIPAM has the IPAM plugin answer this to each ADD. Its other commands succeed; [Host.FailNext] has one fail.
func (host *Host) AnswerIPAM(result weir.Result, err error) {
	host.ipam = func() (weir.Result, error) { return result, err }
}

func (host *Host) runIPAM(function string) (any, error) {
	if function != "ipam.add" {
		return nil, nil
	}
	if host.ipam == nil {
		return nil, fmt.Errorf("%s: the fake host has no IPAM plugin: give it an answer with Host.Assign or Host.AnswerIPAM", function)
	}
	return host.ipam()
}
