//go:build !wasm

package weirtest

import (
	"slices"

	"weir.dev/weir"
)

// function carries a function of the contract out. The machine is put back where it fails.
type function func(machine *machine, arguments []any) (any, error)

// functions are those that the fake host has, except the IPAM plugin's.
var functions = map[string]function{
	"address.add":              onLink1(addAddress),
	"address.delete":           onLink1(deleteAddress),
	"address.list":             onLink1(listAddresses),
	"address.settle":           onLink1(settleAddresses),
	"conntrack.delete":         of2(forgetConnections),
	"device.by-auxiliary-name": of1(deviceByAuxiliaryName),
	"device.by-kernel-path":    of1(deviceByKernelPath),
	"device.by-link":           of1(deviceByLink),
	"device.by-pci-address":    of1(deviceByPCIAddress),
	"firewall.apply":           of3(applyCommands),
	"firewall.get-element":     of4(getElement),
	"firewall.list-chains":     inNetwork1(listChains),
	"firewall.list-elements":   of3(listElements),
	"firewall.list-rules":      inNetwork2(listRules),
	"firewall.list-sets":       inNetwork1(listSets),
	"firewalld.add-source":     of2(addSource),
	"firewalld.is-running":     of0(isRunning),
	"firewalld.remove-source":  of2(removeSource),
	"firewalld.zone-of-source": of1(zoneOfSource),
	"link.create":              of1(createLink),
	"link.delete":              of2(deleteLink),
	"link.delete-all":          of2(deleteLinks),
	"link.get":                 onLink0(getLink),
	"link.get-peer":            of2(getPeer),
	"link.list":                inNetwork2(listLinks),
	"link.move":                of4(moveLink),
	"link.update":              of3(updateLink),
	"link.update-bridge":       onLink1(updateBridge),
	"link.update-port":         onLink1(updatePort),
	"link.wait-up":             onLink1(waitUp),
	"neighbour.add":            onLink1(addNeighbour),
	"neighbour.announce":       onLink1(announce),
	"neighbour.delete":         onLink1(deleteNeighbour),
	"neighbour.list":           onLink1(listNeighbours),
	"policy-rule.add":          of2(addPolicyRule),
	"policy-rule.delete":       of2(deletePolicyRule),
	"policy-rule.list":         inNetwork1(listPolicyRules),
	"route.add":                of2(addRoute),
	"route.delete":             inNetwork1(deleteRoute),
	"route.get":                inNetwork1(getRoute),
	"route.list":               of2(listRoutes),
	"route.replace":            of2(replaceRoute),
	"store.open":               of2(openStoreAt),
	"store.read-file":          of1(readFile),
	"store.transaction.claim":  of2(claimKey),
	"store.transaction.close":  of0(closeStore),
	"store.transaction.commit": of0(commitStore),
	"store.transaction.delete": of1(deleteKey),
	"store.transaction.find":   of1(findKeys),
	"store.transaction.get":    of1(getValue),
	"store.transaction.keys":   of0(listKeys),
	"store.transaction.put":    of2(putValue),
	"sysctl.read":              inNetwork1(readParameter),
	"sysctl.write":             inNetwork2(writeParameter),
	"traffic.add-class":        of3(addClass),
	"traffic.add-filter":       of3(addFilter),
	"traffic.add-qdisc":        of3(addQdisc),
	"traffic.delete-qdisc":     onLink1(deleteQdisc),
	"traffic.list-classes":     onLink0(listClasses),
	"traffic.list-filters":     onLink1(listFilters),
	"traffic.list-qdiscs":      onLink0(listQdiscs),
}

// others are the contract's other functions.
var others = []string{
	"firewall.remove-reference-rules",
	"ipam.add", "ipam.check", "ipam.del", "ipam.gc", "ipam.status",
	"link.add-vlans", "link.delete-vlans", "link.list-vlans",
	"packet.open-raw", "packet.open-udp", "packet.raw-socket.close", "packet.raw-socket.receive", "packet.raw-socket.send",
	"packet.udp-socket.close", "packet.udp-socket.receive", "packet.udp-socket.send",
}

// isFunction tells whether the contract has a function.
func isFunction(name string) bool {
	_, is := functions[name]
	return is || slices.Contains(others, name)
}

func of0(act func(*machine) (any, error)) function {
	return func(machine *machine, _ []any) (any, error) { return act(machine) }
}

func of1[A any](act func(*machine, A) (any, error)) function {
	return func(machine *machine, given []any) (any, error) { return act(machine, as[A](given, 0)) }
}

func of2[A, B any](act func(*machine, A, B) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		return act(machine, as[A](given, 0), as[B](given, 1))
	}
}

func of3[A, B, C any](act func(*machine, A, B, C) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		return act(machine, as[A](given, 0), as[B](given, 1), as[C](given, 2))
	}
}

func of4[A, B, C, D any](act func(*machine, A, B, C, D) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		return act(machine, as[A](given, 0), as[B](given, 1), as[C](given, 2), as[D](given, 3))
	}
}

// inNetwork1 is a function that is about a network namespace, with one argument more.
func inNetwork1[A any](act func(*network, A) (any, error)) function {
	return inNetwork2(func(network *network, argument A, _ any) (any, error) { return act(network, argument) })
}

func inNetwork2[A, B any](act func(*network, A, B) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		network, err := machine.network(as[weir.Namespace](given, 0))
		if err != nil {
			return nil, err
		}
		return act(network, as[A](given, 1), as[B](given, 2))
	}
}

// onLink0 is a function that is about a link: it gets the network namespace and the link. Those below also get arguments.
func onLink0(act func(*network, *device) (any, error)) function {
	return onLink1(func(network *network, device *device, _ any) (any, error) { return act(network, device) })
}

func onLink1[A any](act func(*network, *device, A) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		network, device, err := machine.on(as[weir.Namespace](given, 0), as[weir.LinkReference](given, 1))
		if err != nil {
			return nil, err
		}
		return act(network, device, as[A](given, 2))
	}
}

// as returns an argument; the zero value for a nil interface, and where there are fewer.
func as[A any](given []any, at int) A {
	var value A
	if at < len(given) {
		value, _ = given[at].(A)
	}
	return value
}
