// The IPAM plugin `{{name}}`: assigns a container the first free address of each range set.
//
// A main plugin, such as `ptp`, runs it. The leases are in a store of the plugin's own, one for each network. Its keys, in `ipam`:
//
//	ranges  range sets, as those of `host-local`: the container gets one address of each
//	routes  passed on in the result
package main

import (
	"net/netip"

	"weir.dev/weir"
	"weir.dev/weir/leases"
	"weir.dev/weir/ranges"
	"weir.dev/weir/store"
)

// Config has the plugin's keys of the network configuration.
type Config struct {
	IPAM struct {
		Ranges [][]ranges.Keys `json:"ranges"`
		Routes []weir.Route    `json:"routes"`
	} `json:"ipam"`
}

var plugin = weir.Plugin[Config]{
	Name:    "{{name}}",
	Version: "0.1.0",
	// `weir plugin inspect` and VERSION show it: say what your plugin does.
	Description: "{{description}}",
	IPAM:        true,
	Add:         add,
	Del:         del,
	Check:       check,
	Status:      status,
	GC:          gc,
}

func (config *Config) sets() (ranges.Sets, error) {
	return ranges.Read("ipam.ranges", config.IPAM.Ranges)
}

func open(access store.Access) (leases.Pool, error) {
	return leases.Open(store.LocationPrivate{}, access)
}

func add(request *weir.Request[Config]) (result weir.Result, err error) {
	sets, err := request.Config.sets()
	if err != nil {
		return result, err
	}
	pool, err := open(store.AccessWrite)
	if err != nil {
		return result, err
	}
	holder, err := leases.HolderOf(pool, request)
	if err != nil {
		return result, err
	}
	for _, set := range sets {
		// Which addresses to try, in which order.
		candidates := set.After(netip.Addr{})
		lease, err := holder.Claim(set, candidates)
		if err != nil {
			return result, err
		}
		result.IPs = append(result.IPs, lease.IP())
	}
	result.Routes = request.Config.IPAM.Routes
	return result, pool.Commit()
}

func del(request *weir.Request[Config]) error {
	pool, err := open(store.AccessWrite)
	if err != nil {
		return err
	}
	return leases.Release(pool, request)
}

func check(request *weir.Request[Config]) error {
	pool, err := open(store.AccessRead)
	if err != nil {
		return err
	}
	return leases.Check(pool, request)
}

func status(request *weir.StatusRequest[Config]) error {
	sets, err := request.Config.sets()
	if err != nil {
		return err
	}
	pool, err := open(store.AccessRead)
	if err != nil {
		return err
	}
	return pool.CheckFree(sets)
}

func gc(request *weir.GCRequest[Config]) error {
	pool, err := open(store.AccessWrite)
	if err != nil {
		return err
	}
	return leases.Retain(pool, request)
}

func init() { weir.Export(plugin) }

// What a plugin does begins with a command.
func main() {}
