//go:build !wasm

package weirtest

import (
	"maps"
	"slices"
	"strings"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
	"weir.dev/weir/policyrule"
)

// undo takes back what was done since before: it removes what ADD created, and puts back what it changed of the container's links and
// of parameters. What ADD removed stays gone, and links of the host stay as it left them.
func (machine *machine) undo(before *machine) {
	before.host.keep(machine, weir.Host)
	if machine.container == nil {
		before.container = nil
	}
	if before.container != nil {
		before.container.keep(machine, weir.Container)
	}
	machine.host, machine.container, machine.stores = before.host, before.container, before.stores
	machine.settle()
}

// keep leaves of a network, as it was, what is still there.
func (network *network) keep(now *machine, namespace weir.Namespace) {
	there, err := now.network(namespace)
	if err != nil {
		return
	}
	network.links = slices.DeleteFunc(network.links, func(device device) bool { return !now.has(device.Index) })
	if namespace == weir.Host {
		network.keepChanges(there)
	}
	network.keepParameters()
	network.addresses = slices.DeleteFunc(network.addresses, func(held held) bool {
		return !slices.Contains(there.addresses, held)
	})
	network.routes = slices.DeleteFunc(network.routes, func(route routeEntry) bool {
		return !slices.ContainsFunc(there.routes, func(other routeEntry) bool { return isEqual(other, route) })
	})
	network.policyRules = slices.DeleteFunc(network.policyRules, func(rule policyrule.Rule) bool {
		isSame := func(other policyrule.Rule) bool { return other.SelectsAs(rule) && *other.Priority == *rule.Priority }
		return !slices.ContainsFunc(there.policyRules, isSame)
	})
	network.neighbours = slices.DeleteFunc(network.neighbours, func(one entry) bool {
		isLike := func(other entry) bool {
			return other.link == one.link && other.Address == one.Address && other.Proxy == one.Proxy
		}
		return !slices.ContainsFunc(there.neighbours, isLike)
	})
	for family, table := range maps.Clone(network.tables) {
		delete(network.tables, family)
		if left, is := there.tables[family]; is {
			network.tables[family] = table.keep(left)
		}
	}
}

func (machine *machine) has(index uint32) bool {
	for _, device := range machine.each {
		if device.Index == index {
			return true
		}
	}
	return false
}

// keepChanges keeps what was changed of the host's links, except for masters that are gone.
func (network *network) keepChanges(there *network) {
	for i := range network.links {
		device := &network.links[i]
		changed := there.device(device.Index)
		if changed == nil {
			continue
		}
		*device = *changed
		if device.Master != nil && network.device(*device.Master) == nil {
			device.Master, device.Port = nil, nil
		}
	}
}

// keepParameters removes the parameters of links that are gone.
func (network *network) keepParameters() {
	names := []string{"all", "default"}
	for _, device := range network.links {
		names = append(names, device.Name)
	}
	maps.DeleteFunc(network.parameters, func(key, _ string) bool {
		isOf := func(link string) bool {
			_, _, is := ofLink(key, link)
			return is
		}
		return len(strings.Split(key, ".")) == 5 && strings.Contains(key, ".conf.") && !slices.ContainsFunc(names, isOf)
	})
}

// keep leaves of a table, as it was, what is in another.
func (table table) keep(left table) table {
	kept := table.clone()
	kept.chains = slices.DeleteFunc(kept.chains, func(chain firewall.Chain) bool {
		_, err := left.chain(chain.Name)
		return err != nil
	})
	kept.rules = slices.DeleteFunc(kept.rules, func(rule firewall.Rule) bool {
		return !slices.ContainsFunc(left.rules, func(other firewall.Rule) bool { return *other.Handle == *rule.Handle })
	})
	kept.sets = slices.DeleteFunc(kept.sets, func(set set) bool {
		_, err := left.set(set.Name)
		return err != nil
	})
	for i := range kept.sets {
		of := &kept.sets[i]
		now, _ := left.set(of.Name)
		of.elements = slices.DeleteFunc(of.elements, func(element firewall.Element) bool {
			return now.index(element.Key, element.KeyEnd) < 0
		})
	}
	return kept
}
