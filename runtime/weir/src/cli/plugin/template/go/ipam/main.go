// The IPAM plugin `{{name}}`: assigns a container the first free address of a subnet of each family.
//
// A main plugin, such as `ptp`, runs it. The leases are in a store of the plugin's own, one for each network. Its keys, in `ipam`:
//
//	subnet, subnet6  such as 10.1.0.0/24 and fd01::/64, one of them or both; of each, the first address is the gateway's
package main

import (
	"iter"
	"net/netip"

	"weir.dev/weir"
	"weir.dev/weir/leases"
	"weir.dev/weir/store"
)

// Config has the plugin's keys of the network configuration.
type Config struct {
	IPAM struct {
		Subnet  netip.Prefix `json:"subnet"`
		Subnet6 netip.Prefix `json:"subnet6"`
	} `json:"ipam"`
}

var plugin = weir.Plugin[Config]{
	Name:    "{{name}}",
	Version: "0.1.0",
	// `weir plugin inspect` and VERSION show it: say what your plugin does.
	Description: "{{description}}",
	IPAM:        true,
	Validate:    validate,
	Add:         add,
	Del:         del,
	Check:       check,
	Status:      status,
	GC:          gc,
}

func validate(config *Config) error {
	ipv4, ipv6 := config.IPAM.Subnet, config.IPAM.Subnet6
	switch {
	case !ipv4.IsValid() && !ipv6.IsValid():
		return weir.Fail(weir.CodeInvalidConfig, "ipam: expected `subnet`, `subnet6` or both")
	case ipv4.IsValid() && !ipv4.Addr().Is4():
		return weir.Fail(weir.CodeInvalidConfig, "ipam.subnet: expected a subnet of IPv4 such as `10.1.0.0/24`, found %v", ipv4)
	case ipv6.IsValid() && !ipv6.Addr().Is6():
		return weir.Fail(weir.CodeInvalidConfig, "ipam.subnet6: expected a subnet of IPv6 such as `fd01::/64`, found %v", ipv6)
	}
	for _, subnet := range config.subnets() {
		if subnet.Bits() > subnet.Addr().BitLen()-2 {
			return weir.Fail(weir.CodeInvalidConfig, "ipam: %v has no address besides the gateway's", subnet)
		}
	}
	return nil
}

func (config *Config) subnets() (subnets []netip.Prefix) {
	for _, subnet := range []netip.Prefix{config.IPAM.Subnet, config.IPAM.Subnet6} {
		if subnet.IsValid() {
			subnets = append(subnets, subnet.Masked())
		}
	}
	return subnets
}

// gateway returns the first address of a subnet.
func gateway(subnet netip.Prefix) netip.Addr {
	return subnet.Addr().Next()
}

// candidates are the addresses of a subnet that are assigned, but for the last one, which IPv4 broadcasts to.
func candidates(subnet netip.Prefix) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for address := gateway(subnet).Next(); subnet.Contains(address.Next()); address = address.Next() {
			if !yield(address) {
				return
			}
		}
	}
}

func open(access store.Access) (leases.Pool, error) {
	return leases.Open(store.LocationPrivate{}, access)
}

func add(request *weir.Request[Config]) (result weir.Result, err error) {
	pool, err := open(store.AccessWrite)
	if err != nil {
		return result, err
	}
	for _, subnet := range request.Config.subnets() {
		address, err := leases.Claim(pool, request, subnet, candidates(subnet))
		if err != nil {
			return result, err
		}
		ip := weir.IP{Address: netip.PrefixFrom(address, subnet.Bits()), Gateway: gateway(subnet)}
		result.IPs = append(result.IPs, ip)
	}
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
	pool, err := open(store.AccessRead)
	if err != nil {
		return err
	}
	for _, subnet := range request.Config.subnets() {
		isFree, err := pool.HasFree(candidates(subnet))
		if err != nil {
			return err
		}
		if !isFree {
			return weir.Fail(weir.CodeNotAvailable, "no address of %v is free", subnet)
		}
	}
	return nil
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
