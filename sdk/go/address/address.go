// Package address is the capability `address`: IP addresses of links.
package address

import "net/netip"

// WithBroadcast makes an address with its subnet's broadcast address, if it is an IPv4 subnet that has one: with at least four
// addresses (RFC 3021).
func WithBroadcast(address netip.Prefix) NewAddress {
	made := NewAddress{Address: address}
	if address.Addr().Is4() && address.Bits() < 31 {
		octets := address.Addr().As4()
		for bit := address.Bits(); bit < 32; bit++ {
			octets[bit/8] |= 0x80 >> (bit % 8)
		}
		made.Broadcast = netip.AddrFrom4(octets)
	}
	return made
}
