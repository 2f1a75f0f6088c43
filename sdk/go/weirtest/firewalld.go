//go:build !wasm

package weirtest

import (
	"maps"
	"net/netip"
	"slices"

	"weir.dev/weir"
)

// RunFirewalld has firewalld run, with these zones.
func (host *Host) RunFirewalld(zones ...string) {
	host.fake().zones = make(map[string][]netip.Addr)
	for _, zone := range zones {
		host.machine.zones[zone] = nil
	}
}

func isRunning(machine *machine) (any, error) {
	return machine.zones != nil, nil
}

func zoneOfSource(machine *machine, source netip.Addr) (any, error) {
	if machine.zones == nil {
		return nil, notRunning()
	}
	return machine.zoneOf(source), nil
}

func notRunning() error {
	return refuse(weir.Unsupported, "firewalld does not run")
}

func (machine *machine) zoneOf(source netip.Addr) *string {
	for _, zone := range slices.Sorted(maps.Keys(machine.zones)) {
		if slices.Contains(machine.zones[zone], source) {
			return &zone
		}
	}
	return nil
}

func addSource(machine *machine, zone string, source netip.Addr) (any, error) {
	if machine.zones == nil {
		return nil, notRunning()
	}
	if other := machine.zoneOf(source); other != nil {
		return nil, refuse(weir.Exists, "it is bound to zone `%s`", *other)
	}
	sources, is := machine.zones[zone]
	if !is {
		return nil, refuse(weir.NotFound, "no such zone: `%s`", zone)
	}
	machine.zones[zone] = append(slices.Clone(sources), source)
	return nil, nil
}

func removeSource(machine *machine, zone string, source netip.Addr) (any, error) {
	if machine.zones == nil {
		return nil, notRunning()
	}
	at := slices.Index(machine.zones[zone], source)
	if at < 0 {
		return nil, refuse(weir.NotFound, "it is not in that zone")
	}
	machine.zones[zone] = slices.Delete(slices.Clone(machine.zones[zone]), at, at+1)
	return nil, nil
}
