// Package ranges has the ranges of addresses that an IPAM plugin (CNI section 4) assigns, with the keys of the reference plugin host-local.
//
//	type Config struct {
//		IPAM struct {
//			Ranges [][]ranges.Keys `json:"ranges"`
//		} `json:"ipam"`
//	}
//
//	sets, err := ranges.Read("ipam.ranges", request.Config.IPAM.Ranges)
//
// A container gets one address of each set. The package leases keeps which addresses are in use.
package ranges

import (
	"fmt"
	"net/netip"

	"weir.dev/weir"
)

// Range has the addresses from Start to End of a subnet, both included, except the gateway.
type Range struct {
	// Its host part is zero.
	Subnet netip.Prefix

	Start netip.Addr
	End   netip.Addr

	// An address that is not assigned.
	Gateway netip.Addr
}

// check fails unless the addresses are in the subnet, and in order.
func (one Range) check() error {
	for _, each := range []struct {
		key     string
		address netip.Addr
	}{
		{"rangeStart", one.Start},
		{"rangeEnd", one.End},
		{"gateway", one.Gateway},
	} {
		if !one.Subnet.Contains(each.address) {
			return weir.Fail(weir.CodeInvalidConfig, "%s %v is not in subnet %v", each.key, each.address, one.Subnet)
		}
	}
	if one.End.Less(one.Start) {
		return weir.Fail(weir.CodeInvalidConfig, "rangeEnd %v is before rangeStart %v", one.End, one.Start)
	}
	return nil
}

// Contains tells whether the address lies between start and end.
func (one Range) Contains(address netip.Addr) bool {
	// Every IPv4 address is less than every IPv6 address.
	return !address.Less(one.Start) && !one.End.Less(address)
}

// Overlaps tells whether the two have an address in common.
func (one Range) Overlaps(other Range) bool {
	return one.Contains(other.Start) || other.Contains(one.Start)
}

// WithPrefix returns the address with the prefix length of the subnet.
func (one Range) WithPrefix(address netip.Addr) netip.Prefix {
	return netip.PrefixFrom(address, one.Subnet.Bits())
}

// String returns the first and the last address, as `10.1.0.1-10.1.0.254`.
func (one Range) String() string {
	return fmt.Sprintf("%v-%v", one.Start, one.End)
}

// checkSubnet fails for a subnet that no addresses are assigned from.
func checkSubnet(subnet netip.Prefix) error {
	const hostBits = 2
	switch bits := subnet.Bits(); {
	case subnet.Addr().Is4In6():
		return weir.Fail(weir.CodeInvalidConfig, "subnet %v is of IPv4 addresses: write it as IPv4", subnet)
	case bits+hostBits > subnet.Addr().BitLen():
		return weir.Fail(weir.CodeInvalidConfig, "subnet %v is too small to allocate from: expected at least 4 addresses", subnet)
	case subnet != subnet.Masked():
		const message = "subnet %v has host bits set: the network address for a prefix length of %d is %v"
		return weir.Fail(weir.CodeInvalidConfig, message, subnet, bits, subnet.Masked().Addr())
	default:
		return nil
	}
}

// last returns the last address of a subnet, which IPv4 broadcasts to.
func last(subnet netip.Prefix) netip.Addr {
	octets := subnet.Addr().AsSlice()
	for bit := subnet.Bits(); bit < 8*len(octets); bit++ {
		octets[bit/8] |= 0x80 >> (bit % 8)
	}
	address, _ := netip.AddrFromSlice(octets)
	return address
}
