//go:build !wasm

package weirtest

import (
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/traffic"
)

// major returns the handle of the discipline that a handle belongs to.
func major(handle uint32) uint32 {
	return handle & 0xffff_0000
}

func addQdisc(machine *machine, namespace weir.Namespace, of weir.LinkReference, wanted traffic.Qdisc) (any, error) {
	if err := checkQdisc(wanted); err != nil {
		return nil, err
	}
	_, device, err := machine.on(namespace, of)
	if err != nil {
		return nil, err
	}
	isFixed := wanted.Parent == traffic.Root || wanted.Parent == traffic.IngressPlace
	if !isFixed && !device.hasClass(wanted.Parent) {
		return nil, noEntry
	}
	isTaken := func(there traffic.Qdisc) bool {
		return there.Parent == wanted.Parent || there.Handle == wanted.Handle && wanted.Handle != 0
	}
	if slices.ContainsFunc(device.qdiscs, isTaken) {
		return nil, exists
	}
	wanted.Handle = device.handleOf(wanted)
	device.qdiscs = append(slices.Clone(device.qdiscs), wanted)
	return nil, nil
}

func isHook(qdisc traffic.Qdisc) bool {
	switch qdisc.Discipline.(type) {
	case traffic.DisciplineIngress, traffic.DisciplineClsact:
		return true
	default:
		return false
	}
}

func checkQdisc(wanted traffic.Qdisc) error {
	if isHook(wanted) != (wanted.Parent == traffic.IngressPlace) {
		return invalid("the discipline cannot be at that place")
	}
	switch discipline := wanted.Discipline.(type) {
	case traffic.DisciplineTBF:
		if discipline.Rate == 0 || discipline.Burst == 0 {
			return invalid("a rate or a burst of 0")
		}
	case traffic.DisciplineOther:
		return invalid("a plugin cannot add `%s`", string(discipline))
	}
	if major(wanted.Handle) != wanted.Handle {
		return invalid("a discipline's minor number is 0")
	}
	return nil
}

// handleOf returns the handle that the kernel gives to a discipline.
func (device *device) handleOf(wanted traffic.Qdisc) uint32 {
	if isHook(wanted) {
		return traffic.Ingress
	}
	handle := wanted.Handle
	for number := uint16(0x8001); handle == 0; number++ {
		free := traffic.Handle(number, 0)
		if !slices.ContainsFunc(device.qdiscs, func(there traffic.Qdisc) bool { return there.Handle == free }) {
			handle = free
		}
	}
	return handle
}

func deleteQdisc(_ *network, device *device, parent uint32) (any, error) {
	if !device.removeQdisc(parent) {
		return nil, noEntry
	}
	return nil, nil
}

// removeQdisc removes the discipline at a place with its classes and filters. Returns whether there was one.
func (device *device) removeQdisc(parent uint32) bool {
	at := slices.IndexFunc(device.qdiscs, func(there traffic.Qdisc) bool { return there.Parent == parent })
	if at < 0 {
		return false
	}
	gone := device.qdiscs[at].Handle
	device.qdiscs = slices.Delete(slices.Clone(device.qdiscs), at, at+1)
	device.filters = slices.DeleteFunc(slices.Clone(device.filters), func(filter traffic.Filter) bool {
		return major(filter.Parent) == gone
	})
	classes := device.classes
	device.classes = slices.DeleteFunc(slices.Clone(classes), func(class traffic.Class) bool { return major(class.Handle) == gone })
	for _, class := range classes {
		if major(class.Handle) == gone {
			device.removeQdisc(class.Handle)
		}
	}
	return true
}

func listQdiscs(_ *network, device *device) (any, error) {
	return slices.Clone(device.qdiscs), nil
}

func addClass(machine *machine, namespace weir.Namespace, of weir.LinkReference, wanted traffic.Class) (any, error) {
	isZero := wanted.Rate == 0 || wanted.Ceil == 0 || wanted.Burst == 0 || wanted.Cburst == 0
	if isZero || major(wanted.Handle) != major(wanted.Parent) {
		return nil, invalid("a rate or a burst of 0, or a handle of another discipline")
	}
	_, device, err := machine.on(namespace, of)
	switch {
	case err != nil:
		return nil, err
	case !device.hasHTB(wanted.Parent) && !device.hasClass(wanted.Parent):
		return nil, noEntry
	case device.hasClass(wanted.Handle):
		return nil, exists
	}
	// A class with classes has no discipline.
	device.removeQdisc(wanted.Parent)
	device.classes = append(slices.Clone(device.classes), wanted)
	return nil, nil
}

func listClasses(_ *network, device *device) (any, error) {
	return slices.Clone(device.classes), nil
}

func addFilter(machine *machine, namespace weir.Namespace, of weir.LinkReference, wanted traffic.Filter) (any, error) {
	if err := checkNetworks(wanted); err != nil {
		return nil, err
	}
	network, device, err := machine.on(namespace, of)
	if err != nil {
		return nil, err
	}
	if redirect, is := wanted.Action.(traffic.ActionRedirect); is {
		target, err := network.byIndex(weir.LinkReference(redirect))
		if err != nil {
			return nil, err
		}
		wanted.Action = traffic.ActionRedirect(target)
	}
	if err := device.checkParent(wanted); err != nil {
		return nil, err
	}
	if wanted.Priority == 0 {
		wanted.Priority = device.freePriority(wanted.Parent)
	}
	for _, other := range device.filters {
		isBeside := other.Parent == wanted.Parent && other.Priority == wanted.Priority
		if isBeside && packets(other) != packets(wanted) {
			return nil, invalid("the priority has filters for packets of another family")
		}
	}
	device.filters = append(slices.Clone(device.filters), wanted)
	slices.SortStableFunc(device.filters, func(one, other traffic.Filter) int { return int(one.Priority) - int(other.Priority) })
	return nil, nil
}

func checkNetworks(filter traffic.Filter) error {
	for _, network := range []netip.Prefix{filter.Source, filter.Destination} {
		if network.IsValid() && network.Masked() != network {
			return invalid("a network has bits beyond its prefix")
		}
	}
	if filter.Source.IsValid() && filter.Destination.IsValid() && filter.Source.Addr().Is4() != filter.Destination.Addr().Is4() {
		return invalid("the networks are of different families")
	}
	return nil
}

// packets tells which packets a filter is for: 4, 6, or 0 for those of both families.
func packets(filter traffic.Filter) int {
	network := filter.Source
	if !network.IsValid() {
		network = filter.Destination
	}
	switch {
	case !network.IsValid():
		return 0
	case network.Addr().Is4():
		return 4
	default:
		return 6
	}
}

func (device *device) checkParent(filter traffic.Filter) error {
	handle := major(filter.Parent)
	at := slices.IndexFunc(device.qdiscs, func(there traffic.Qdisc) bool { return there.Handle == handle })
	_, isClassified := filter.Action.(traffic.ActionClassify)
	if at < 0 || isClassified && !device.hasHTB(handle) {
		return noEntry
	}
	if _, is := device.qdiscs[at].Discipline.(traffic.DisciplineTBF); is {
		return notSupported
	}
	if device.hasHTB(handle) && filter.Parent != handle && !device.hasClass(filter.Parent) {
		return noEntry
	}
	return nil
}

// freePriority returns the priority that the kernel chooses: before those that it has chosen.
func (device *device) freePriority(parent uint32) uint16 {
	const first, chosen = 0xc000, 0x8000
	least := uint16(first + 1)
	for _, filter := range device.filters {
		if filter.Parent == parent && filter.Priority >= chosen {
			least = min(least, filter.Priority)
		}
	}
	return least - 1
}

func (device *device) hasClass(handle uint32) bool {
	return slices.ContainsFunc(device.classes, func(class traffic.Class) bool { return class.Handle == handle })
}

func (device *device) hasHTB(handle uint32) bool {
	return slices.ContainsFunc(device.qdiscs, func(there traffic.Qdisc) bool {
		_, is := there.Discipline.(traffic.DisciplineHTB)
		return is && there.Handle == handle
	})
}

func listFilters(_ *network, device *device, parent uint32) (any, error) {
	var found []traffic.Filter
	for _, filter := range device.filters {
		if filter.Parent == parent {
			found = append(found, filter)
		}
	}
	return found, nil
}

// forgetTarget has the filters that send packets to a link name none.
func (network *network) forgetTarget(index uint32) {
	for i := range network.links {
		device := &network.links[i]
		device.filters = slices.Clone(device.filters)
		for j, filter := range device.filters {
			if filter.Action == traffic.ActionRedirect(weir.LinkIndex(index)) {
				device.filters[j].Action = traffic.ActionRedirect{}
			}
		}
	}
}
