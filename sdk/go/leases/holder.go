package leases

import (
	"iter"
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/ranges"
)

// Lease is an address of a range that an attachment holds.
type Lease struct {
	Address netip.Addr

	// The range that it is in.
	Range ranges.Range
}

// IP returns the lease as the result of an IPAM plugin has it.
func (lease Lease) IP() weir.IP {
	return weir.IP{Address: lease.Range.WithPrefix(lease.Address), Gateway: lease.Range.Gateway}
}

// Holder is an attachment, and the addresses that it holds in a pool.
type Holder struct {
	pool      Pool
	owner     owner
	addresses []netip.Addr
}

// HolderOf reads which addresses the request's attachment holds, including those in the old format.
func HolderOf[C any](pool Pool, request *weir.Request[C]) (Holder, error) {
	holder := Holder{pool: pool, owner: ownerOf(request.ContainerID, request.Ifname)}
	for _, value := range []string{holder.owner.value(), holder.owner.oldValue()} {
		keys, err := pool.Store.Find([]byte(value))
		if err != nil {
			return holder, err
		}
		holder.addresses = append(holder.addresses, addresses(keys)...)
	}
	return holder, nil
}

// Claim leases the holder the first of these addresses of the set that is free. [Pool.Commit] keeps that.
//
// Errors: [CodeNoAddress] when none of them is free, [CodeDuplicate] when the holder has an address of the set.
func (holder Holder) Claim(set ranges.Set, candidates iter.Seq[netip.Addr]) (Lease, error) {
	lease, err := holder.ClaimIfFree(set, candidates)
	switch {
	case err != nil:
		return Lease{}, err
	case lease == nil:
		return Lease{}, exhausted(CodeNoAddress, set)
	default:
		return *lease, nil
	}
}

// ClaimIfFree does the same, and returns nil when none of them is free. For an address that is requested, the candidates are that one.
func (holder Holder) ClaimIfFree(set ranges.Set, candidates iter.Seq[netip.Addr]) (*Lease, error) {
	if err := holder.checkHasNoneOf(set); err != nil {
		return nil, err
	}
	for keys := range chunks(candidates) {
		claimed, err := holder.pool.Store.Claim(keys, []byte(holder.owner.value()))
		if err != nil {
			return nil, err
		}
		if claimed != nil {
			return leaseOf(*claimed, set), nil
		}
	}
	return nil, nil
}

// leaseOf returns the lease of a key; nil for one that is not of the set.
func leaseOf(key string, set ranges.Set) *Lease {
	address, _ := addressOf(key)
	of, is := set.RangeOf(address)
	if !is {
		return nil
	}
	return &Lease{address, of}
}

// chunks are the keys to try at a time: few at first, since the first is nearly always free, then more and more, since each time is a
// call.
func chunks(candidates iter.Seq[netip.Addr]) iter.Seq[[]string] {
	const first, most = 16, 8192
	return func(yield func([]string) bool) {
		length := first
		var keys []string
		for candidate := range candidates {
			keys = append(keys, candidate.String())
			if len(keys) < length {
				continue
			}
			if !yield(keys) {
				return
			}
			keys, length = keys[:0], min(length*8, most)
		}
		if len(keys) > 0 {
			yield(keys)
		}
	}
}

// checkHasNoneOf fails when the holder has an address of the set: an interface gets at most one of each.
func (holder Holder) checkHasNoneOf(set ranges.Set) error {
	index := slices.IndexFunc(holder.addresses, set.Contains)
	if index < 0 {
		return nil
	}
	return weir.Error{
		Code:    CodeDuplicate,
		Msg:     holder.addresses[index].String() + " is allocated to " + holder.owner.String() + " already",
		Details: "an interface gets one address of each range set; DEL releases it",
	}
}

// Check fails unless the holder has an address, and each of these, for CHECK. Errors: [CodeNoLease].
func (holder Holder) Check(addresses ...netip.Addr) error {
	if len(holder.addresses) == 0 {
		return weir.Fail(CodeNoLease, "no address is allocated to %v", holder.owner)
	}
	for _, address := range addresses {
		if !slices.Contains(holder.addresses, address) {
			return weir.Fail(CodeNoLease, "prevResult: %v is not allocated to %v", address, holder.owner)
		}
	}
	return nil
}

// Check fails unless an attachment has leases, and one for each address of the result of ADD, for CHECK. Errors: [CodeNoLease]; code 7
// without a result.
func Check[C any](pool Pool, request *weir.Request[C]) error {
	added, err := request.Added()
	if err != nil {
		return err
	}
	holder, err := HolderOf(pool, request)
	if err != nil {
		return err
	}
	var given []netip.Addr
	for _, ip := range added.IPs {
		given = append(given, ip.Address.Addr())
	}
	return holder.Check(given...)
}
