package ranges

import (
	"math/big"
	"net/netip"
)

// Only a plugin that counts addresses contains the numbers that this takes.

// Size returns how many addresses the ranges have, gateways included.
func (set Set) Size() *big.Int {
	size := new(big.Int)
	for _, one := range set.ranges {
		size.Add(size, one.size())
	}
	return size
}

// At returns the address that comes so many after the first, which may be a gateway; the zero Addr for [Set.Size] and more, and for less
// than 0.
func (set Set) At(number *big.Int) netip.Addr {
	left := new(big.Int).Set(number)
	if left.Sign() < 0 {
		return netip.Addr{}
	}
	for _, one := range set.ranges {
		if size := one.size(); left.Cmp(size) >= 0 {
			left.Sub(left, size)
			continue
		}
		octets := one.Start.AsSlice()
		left.Add(left, new(big.Int).SetBytes(octets)).FillBytes(octets)
		address, _ := netip.AddrFromSlice(octets)
		return address
	}
	return netip.Addr{}
}

// size returns how many addresses there are from start to end.
func (one Range) size() *big.Int {
	start, end := new(big.Int).SetBytes(one.Start.AsSlice()), new(big.Int).SetBytes(one.End.AsSlice())
	return end.Sub(end, start).Add(end, big.NewInt(1))
}
