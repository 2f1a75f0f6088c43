package ranges

import (
	"net/netip"
	"slices"
	"strings"

	"weir.dev/weir"
)

// Set has ranges of one family, at least one, of which a container gets one address. [NewSet] makes it.
type Set struct {
	ranges []Range

	// Where a configuration has it.
	path string
}

// NewSet returns a set of ranges. Errors: code 7 without a range, and where they overlap or are of two families.
func NewSet(ranges ...Range) (Set, error) {
	if len(ranges) == 0 {
		return Set{}, weir.Fail(weir.CodeInvalidConfig, "empty range set")
	}
	isOther := func(one Range) bool { return one.Start.Is4() != ranges[0].Start.Is4() }
	if slices.ContainsFunc(ranges, isOther) {
		return Set{}, weir.Fail(weir.CodeInvalidConfig, "mixed address families in one range set")
	}
	for i, one := range ranges {
		if other := slices.IndexFunc(ranges[:i], one.Overlaps); other >= 0 {
			return Set{}, weir.Fail(weir.CodeInvalidConfig, "ranges %v and %v overlap", ranges[other], one)
		}
	}
	return Set{ranges: slices.Clone(ranges)}, nil
}

// Ranges returns the ranges, at least one.
func (set Set) Ranges() []Range {
	return slices.Clone(set.ranges)
}

// indexOf returns which range an address is in; -1 for none.
func (set Set) indexOf(address netip.Addr) int {
	return slices.IndexFunc(set.ranges, func(one Range) bool { return one.Contains(address) })
}

// RangeOf returns the range that an address is in, and whether there is one.
func (set Set) RangeOf(address netip.Addr) (Range, bool) {
	index := set.indexOf(address)
	if index < 0 {
		return Range{}, false
	}
	return set.ranges[index], true
}

// Contains tells whether the address is in one of the ranges. It may be a gateway.
func (set Set) Contains(address netip.Addr) bool {
	return set.indexOf(address) >= 0
}

// IsGateway tells whether the address is the gateway of the range that it is in.
func (set Set) IsGateway(address netip.Addr) bool {
	of, is := set.RangeOf(address)
	return is && of.Gateway == address
}

// Overlaps tells whether the two have an address in common.
func (set Set) Overlaps(other Set) bool {
	return slices.ContainsFunc(set.ranges, func(one Range) bool { return slices.ContainsFunc(other.ranges, one.Overlaps) })
}

// HasFree tells whether an address is left when these are taken.
func (set Set) HasFree(isTaken map[netip.Addr]bool) bool {
	// This ends after one more than are taken.
	for address := range set.After(netip.Addr{}) {
		if !isTaken[address] {
			return true
		}
	}
	return false
}

// String returns the ranges, as `10.1.0.1-10.1.0.254,10.2.0.1-10.2.0.254`.
func (set Set) String() string {
	texts := make([]string, len(set.ranges))
	for i, one := range set.ranges {
		texts[i] = one.String()
	}
	return strings.Join(texts, ",")
}
