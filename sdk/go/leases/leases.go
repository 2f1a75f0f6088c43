// Package leases has what IPAM plugins share: which addresses of a network are in use, and by which attachment.
//
// They are kept in a store in the format of the reference plugin host-local: a key for each address, whose value is the container id,
// a carriage return, a line feed and the interface's name. Any other key is the plugin's own.
package leases

import (
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/store"
)

// The error codes of a pool, those of host-local.
const (
	CodeNoAddress = 110
	CodeDuplicate = 112
	CodeNoLease   = 113
)

// Pool is a store with leases, open and locked.
type Pool struct {
	*store.Transaction
}

// Open opens the leases of the network.
func Open(location store.Location, access store.Access) (Pool, error) {
	transaction, err := store.Open(location, access)
	return Pool{transaction}, err
}

// holder is the value of an attachment's leases.
func holder(containerID, ifname string) []byte {
	return []byte(containerID + "\r\n" + ifname)
}

// Held returns the addresses that an attachment has.
func Held[C any](pool Pool, request *weir.Request[C]) ([]netip.Addr, error) {
	keys, err := pool.Find(holder(request.ContainerID, request.Ifname))
	return addresses(keys), err
}

// addresses returns the addresses among keys.
func addresses(keys []string) (all []netip.Addr) {
	for _, key := range keys {
		if address, err := netip.ParseAddr(key); err == nil {
			all = append(all, address)
		}
	}
	return all
}

// Claim leases the first of these addresses that is free, out of a subnet in which the attachment must have none. Commit keeps it.
//
// Errors: [CodeNoAddress] if none is free, [CodeDuplicate].
func Claim[C any](
	pool Pool, request *weir.Request[C], subnet netip.Prefix, candidates func(yield func(netip.Addr) bool),
) (netip.Addr, error) {
	held, err := Held(pool, request)
	if err != nil {
		return netip.Addr{}, err
	}
	if has := slices.IndexFunc(held, subnet.Contains); has >= 0 {
		const message = "%v is allocated to interface `%s` of container `%s` already"
		return netip.Addr{}, weir.Fail(CodeDuplicate, message, held[has], request.Ifname, request.ContainerID)
	}
	var claimed *string
	claim := func(keys []string) (err error) {
		claimed, err = pool.Transaction.Claim(keys, holder(request.ContainerID, request.Ifname))
		return err
	}
	if err := inChunks(candidates, claim, func() bool { return claimed != nil }); err != nil {
		return netip.Addr{}, err
	}
	if claimed == nil {
		return netip.Addr{}, weir.Fail(CodeNoAddress, "no IP addresses available in %v", subnet)
	}
	return netip.ParseAddr(*claimed)
}

// inChunks tries few addresses at first, since the first is nearly always free, then more and more, since each time is a call.
func inChunks(candidates func(yield func(netip.Addr) bool), try func([]string) error, isDone func() bool) (err error) {
	const first, most = 16, 8192
	length := first
	var keys []string
	for candidate := range candidates {
		keys = append(keys, candidate.String())
		if len(keys) < length {
			continue
		}
		if err = try(keys); err != nil || isDone() {
			return err
		}
		keys, length = keys[:0], min(length*8, most)
	}
	if len(keys) > 0 {
		err = try(keys)
	}
	return err
}

// Release releases all addresses of an attachment, for DEL.
func Release[C any](pool Pool, request *weir.Request[C]) error {
	keys, err := pool.Find(holder(request.ContainerID, request.Ifname))
	if err != nil {
		return err
	}
	return pool.release(keys)
}

func (pool Pool) release(keys []string) error {
	for _, key := range keys {
		if err := pool.Delete(key); err != nil && !weir.IsGone(err) {
			return err
		}
	}
	return pool.Commit()
}

// Check fails unless an attachment has leases, and one for each address of the result of ADD. Errors: [CodeNoLease].
func Check[C any](pool Pool, request *weir.Request[C]) error {
	added, err := request.Added()
	if err != nil {
		return err
	}
	held, err := Held(pool, request)
	if err != nil {
		return err
	}
	if len(held) == 0 {
		return weir.Fail(CodeNoLease, "no address is allocated to interface `%s` of container `%s`", request.Ifname, request.ContainerID)
	}
	for _, ip := range added.IPs {
		if !slices.Contains(held, ip.Address.Addr()) {
			const message = "prevResult: %v is not allocated to interface `%s` of container `%s`"
			return weir.Fail(CodeNoLease, message, ip.Address.Addr(), request.Ifname, request.ContainerID)
		}
	}
	return nil
}

// Retain releases all addresses that no valid attachment has, for GC.
func Retain[C any](pool Pool, request *weir.GCRequest[C]) error {
	keys, err := pool.Keys()
	if err != nil {
		return err
	}
	isValid := make(map[string]bool)
	for _, attachment := range request.ValidAttachments {
		found, err := pool.Find(holder(attachment.ContainerID, attachment.Ifname))
		if err != nil {
			return err
		}
		for _, key := range found {
			isValid[key] = true
		}
	}
	isLeft := func(key string) bool { return isValid[key] || len(addresses([]string{key})) == 0 }
	return pool.release(slices.DeleteFunc(keys, isLeft))
}

// HasFree tells whether one of these addresses is free, for STATUS.
func (pool Pool) HasFree(candidates func(yield func(netip.Addr) bool)) (bool, error) {
	keys, err := pool.Keys()
	if err != nil {
		return false, err
	}
	isTaken := make(map[string]bool, len(keys))
	for _, key := range keys {
		isTaken[key] = true
	}
	for candidate := range candidates {
		if !isTaken[candidate.String()] {
			return true, nil
		}
	}
	return false, nil
}
