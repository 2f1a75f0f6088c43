//go:build !wasm

package weirtest

import "slices"

// function carries a function of the contract out. The machine is put back where it fails.
type function func(machine *machine, arguments []any) (any, error)

// functions are those that the fake host has, except the IPAM plugin's.
var functions = map[string]function{
	"address.add":              of3(addAddress),
	"address.delete":           of3(deleteAddress),
	"address.list":             of3(listAddresses),
	"address.settle":           of3(settleAddresses),
	"conntrack.delete":         of2(forgetConnections),
	"device.by-auxiliary-name": of1(deviceByAuxiliaryName),
	"device.by-kernel-path":    of1(deviceByKernelPath),
	"device.by-link":           of1(deviceByLink),
	"device.by-pci-address":    of1(deviceByPCIAddress),
	"firewall.apply":           of3(applyCommands),
	"firewall.get-element":     of4(getElement),
	"firewall.list-chains":     of2(listChains),
	"firewall.list-elements":   of3(listElements),
	"firewall.list-rules":      of3(listRules),
	"firewall.list-sets":       of2(listSets),
	"firewalld.add-source":     of2(addSource),
	"firewalld.is-running":     of0(isRunning),
	"firewalld.remove-source":  of2(removeSource),
	"firewalld.zone-of-source": of1(zoneOfSource),
	"link.create":              of1(createLink),
	"link.delete":              of2(deleteLink),
	"link.delete-all":          of2(deleteLinks),
	"link.get":                 of2(getLink),
	"link.get-peer":            of2(getPeer),
	"link.list":                of3(listLinks),
	"link.move":                of4(moveLink),
	"link.update":              of3(updateLink),
	"link.update-bridge":       of3(updateBridge),
	"link.update-port":         of3(updatePort),
	"link.wait-up":             of3(waitUp),
	"neighbour.add":            of3(addNeighbour),
	"neighbour.announce":       of3(announce),
	"neighbour.delete":         of3(deleteNeighbour),
	"neighbour.list":           of3(listNeighbours),
	"policy-rule.add":          of2(addPolicyRule),
	"policy-rule.delete":       of2(deletePolicyRule),
	"policy-rule.list":         of2(listPolicyRules),
	"route.add":                of2(addRoute),
	"route.delete":             of2(deleteRoute),
	"route.get":                of2(getRoute),
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
	"sysctl.read":              of2(readParameter),
	"sysctl.write":             of3(writeParameter),
	"traffic.add-class":        of3(addClass),
	"traffic.add-filter":       of3(addFilter),
	"traffic.add-qdisc":        of3(addQdisc),
	"traffic.delete-qdisc":     of3(deleteQdisc),
	"traffic.list-classes":     of2(listClasses),
	"traffic.list-filters":     of3(listFilters),
	"traffic.list-qdiscs":      of2(listQdiscs),
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
	return func(machine *machine, given []any) (any, error) { return act(machine, as[A](given[0])) }
}

func of2[A, B any](act func(*machine, A, B) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		return act(machine, as[A](given[0]), as[B](given[1]))
	}
}

func of3[A, B, C any](act func(*machine, A, B, C) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		return act(machine, as[A](given[0]), as[B](given[1]), as[C](given[2]))
	}
}

func of4[A, B, C, D any](act func(*machine, A, B, C, D) (any, error)) function {
	return func(machine *machine, given []any) (any, error) {
		return act(machine, as[A](given[0]), as[B](given[1]), as[C](given[2]), as[D](given[3]))
	}
}

// as returns an argument; the zero value for a nil interface.
func as[A any](argument any) A {
	value, _ := argument.(A)
	return value
}
