// Package weir is the SDK for network plugins in Go.
//
// A plugin is a program whose init function exports what it does. Its main function is not called:
//
//	func init() {
//		weir.Export(weir.Plugin[Config]{
//			Name:        "alias",
//			Version:     "1.0.0",
//			Description: "Names the container's interface in its alias",
//			Add:         add,
//			Check:       check,
//		})
//	}
//
//	func main() {}
//
// Go builds a module of it (GOOS=wasip1 GOARCH=wasm, -buildmode=c-shared), and `weir plugin component` makes that a component.
//
// Each capability is a package with the capability's name: link, address, route, … A component imports the capabilities whose
// functions it calls, and its grant must have each of them. Operations fail with an [OperationError]. A command may return any
// error: [Fail] makes one with a code of CNI, an operation's error has the code that belongs to it, and fmt.Errorf with %w adds
// what was being done.
//
// What plugins share is in packages too: ipam makes a main plugin, iface the container's interface, veth and lower two kinds of it,
// masquerade is the key `ipMasq`, ranges reads the ranges of an IPAM plugin and leases keeps its addresses, owner marks what belongs to an
// attachment, and weirtest runs whole commands on a fake host in unit tests.
//
// There are no files, no sockets and no environment, and a plugin cannot sleep.
package weir

import "weir.dev/weir/internal/contract"

// Namespace is one of the two network namespaces that exist for a plugin.
type Namespace = contract.Namespace

const (
	// Host is the namespace that the container runtime runs weir in.
	Host = contract.NamespaceHost

	// Container is the namespace of this invocation's container.
	Container = contract.NamespaceContainer
)

// IPFamily is IPv4 or IPv6.
type IPFamily = contract.IPFamily

const (
	// IPv4 is the family of IPv4 addresses.
	IPv4 = contract.IPFamilyIPv4

	// IPv6 is the family of IPv6 addresses.
	IPv6 = contract.IPFamilyIPv6
)

// LinkReference names a link by its name or, where that is empty, by its index.
type LinkReference = contract.LinkReference

// LinkName names a link by its name.
func LinkName(name string) LinkReference {
	return LinkReference{Name: name}
}

// LinkIndex names a link by its index.
func LinkIndex(index uint32) LinkReference {
	return LinkReference{Index: index}
}

// MAC is a link-layer address.
type MAC = contract.MAC

// The success result of CNI section 5, always in the shape of the newest version.
type (
	// Result is what ADD returns.
	Result = contract.Result

	// Interface is an interface of a result.
	Interface = contract.Interface

	// IP is an address of a result.
	IP = contract.IP

	// Route is a route of a result. As a value in a configuration it has the keys of CNI: dst, gw, mtu, …
	Route = contract.Route

	// DNS has the DNS settings of a result.
	DNS = contract.DNS
)

// Attachment is one (container id, interface name) on one network.
type Attachment = contract.Attachment
