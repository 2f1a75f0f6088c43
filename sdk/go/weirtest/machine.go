//go:build !wasm

package weirtest

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"weir.dev/weir"
	"weir.dev/weir/address"
	hardware "weir.dev/weir/device"
	"weir.dev/weir/firewall"
	"weir.dev/weir/link"
	"weir.dev/weir/neighbour"
	"weir.dev/weir/policyrule"
	"weir.dev/weir/route"
	"weir.dev/weir/traffic"
)

// machine is what a fake host has, as plain data. What a pointer or a slice of an element leads to is replaced and never changed, so
// that a copy of the lists is a copy of it all.
type machine struct {
	host *network

	// nil where it is gone.
	container *network

	// The values of stores, by the store's directory.
	stores map[string]values

	// The store that is open; nil for none.
	open  *openStore
	files map[string][]byte
	marks marks

	// Network devices, by their paths below /sys/devices.
	devices map[string]hardware.Device

	// The zones of firewalld with their sources; nil where it does not run.
	zones map[string][]netip.Addr

	lastIndex  uint32
	lastHandle uint64
}

// network is a network namespace.
type network struct {
	links     []device
	addresses []held

	// Those of one destination in the order in which the kernel looks at them.
	routes     []route.Route
	neighbours []entry

	// Each family's in the order in which the kernel looks at them.
	policyRules []policyrule.Rule
	parameters  map[string]string
	tables      map[firewall.Family]table
}

// device is a link.
type device struct {
	link.Link

	// The other end of a veth.
	peer *place

	// The device that it is over.
	under *place

	// Whether somebody has set a bridge's MTU, which follows its ports otherwise.
	hasOwnMTU bool

	qdiscs  []traffic.Qdisc
	classes []traffic.Class
	filters []traffic.Filter
}

// place is where a link is.
type place struct {
	namespace weir.Namespace
	index     uint32
}

// held is an address of a link.
type held struct {
	link uint32
	address.Address
}

// entry is a neighbour of a link.
type entry struct {
	link uint32
	neighbour.Neighbour
}

// marks are what weir marks links of the host with, in an invocation.
type marks struct {
	attachment, network string

	// The network's name, as a part of the directories of stores.
	name string
}

func newMachine() *machine {
	return &machine{
		host:      newNetwork(),
		container: newNetwork(),
		stores:    make(map[string]values),
		files:     make(map[string][]byte),
		devices:   make(map[string]hardware.Device),
		marks:     marks{name: "test"},
		lastIndex: 1,
	}
}

func newNetwork() *network {
	loopback := newDevice("lo", "loopback")
	loopback.Index, loopback.MTU, loopback.MAC = 1, 65536, make(weir.MAC, 6)
	made := &network{
		links:       []device{loopback},
		parameters:  maps.Clone(parametersOfNamespace),
		policyRules: kernelRules(),
		tables:      make(map[firewall.Family]table),
	}
	for _, name := range []string{"all", "default", "lo"} {
		made.addParameters(name)
	}
	return made
}

// newDevice makes a link that is down, without an index.
func newDevice(name, kind string) device {
	return device{Link: link.Link{
		Name:      name,
		Kind:      kind,
		MTU:       1500,
		Txqlen:    1000,
		OperState: link.OperStateDown,
		Details:   link.DetailsNone{},
	}}
}

func (machine *machine) clone() *machine {
	copied := *machine
	copied.host, copied.container = machine.host.clone(), machine.container.clone()
	copied.stores, copied.files = maps.Clone(machine.stores), maps.Clone(machine.files)
	copied.devices, copied.zones = maps.Clone(machine.devices), maps.Clone(machine.zones)
	copied.open = machine.open.clone()
	return &copied
}

func (network *network) clone() *network {
	if network == nil {
		return nil
	}
	copied := *network
	copied.links, copied.addresses = slices.Clone(network.links), slices.Clone(network.addresses)
	copied.routes, copied.neighbours = slices.Clone(network.routes), slices.Clone(network.neighbours)
	copied.policyRules = slices.Clone(network.policyRules)
	copied.parameters, copied.tables = maps.Clone(network.parameters), maps.Clone(network.tables)
	return &copied
}

// network returns one of the namespaces. Errors: no-namespace.
func (machine *machine) network(namespace weir.Namespace) (*network, error) {
	if namespace == weir.Host {
		return machine.host, nil
	}
	if machine.container == nil {
		return nil, refuse(weir.NoNamespace, "this invocation has no container namespace")
	}
	return machine.container, nil
}

// on returns a namespace and a link there. Errors: no-namespace, not-found.
func (machine *machine) on(namespace weir.Namespace, link weir.LinkReference) (*network, *device, error) {
	network, err := machine.network(namespace)
	if err != nil {
		return nil, nil, err
	}
	found, err := network.find(link)
	return network, found, err
}

// find returns the link that a plugin names. Errors: not-found, invalid.
func (network *network) find(link weir.LinkReference) (*device, error) {
	if link.Name != "" || link.Index == 0 {
		if err := checkName(link.Name); err != nil {
			return nil, err
		}
	}
	for i := range network.links {
		one := &network.links[i]
		if link.Name != "" && one.Name == link.Name || link.Name == "" && one.Index == link.Index {
			return one, nil
		}
	}
	return nil, noDevice
}

// device returns the link with an index; nil for none.
func (network *network) device(index uint32) *device {
	found, _ := network.find(weir.LinkIndex(index))
	return found
}

// at returns the link at a place; nil for none.
func (machine *machine) at(place place) *device {
	network, err := machine.network(place.namespace)
	if err != nil {
		return nil
	}
	return network.device(place.index)
}

// each runs over all links of both namespaces.
func (machine *machine) each(yield func(weir.Namespace, *device) bool) {
	for _, namespace := range []weir.Namespace{weir.Host, weir.Container} {
		network, err := machine.network(namespace)
		if err != nil {
			continue
		}
		for i := range network.links {
			if !yield(namespace, &network.links[i]) {
				return
			}
		}
	}
}

// checkName fails for what cannot be a link's name.
func checkName(name string) error {
	isForbidden := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("/:%", c) }
	if len(name) < 1 || len(name) > 15 || name == "." || name == ".." || strings.ContainsFunc(name, isForbidden) {
		return invalid("%q is not a link's name: expected 1 to 15 bytes without spaces, `/`, `:` and `%%`", name)
	}
	return nil
}
