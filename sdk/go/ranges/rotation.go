package ranges

import (
	"iter"
	"net/netip"
)

// After iterates over all addresses of the set once, without gateways, beginning after this one; with the first address if this one is
// in no range, as the zero Addr.
func (set Set) After(address netip.Addr) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		first := place{address: set.ranges[0].Start}
		if index := set.indexOf(address); index >= 0 {
			first = set.step(place{index, address})
		}
		for at := first; ; {
			if set.ranges[at.index].Gateway != at.address && !yield(at.address) {
				return
			}
			if at = set.step(at); at == first {
				return
			}
		}
	}
}

// place is an address, and which range it is in.
type place struct {
	index   int
	address netip.Addr
}

// step returns the address after this one; after the last range comes the first.
func (set Set) step(at place) place {
	if at.address != set.ranges[at.index].End {
		return place{at.index, at.address.Next()}
	}
	next := (at.index + 1) % len(set.ranges)
	return place{next, set.ranges[next].Start}
}
