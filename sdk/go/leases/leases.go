// Package leases has what IPAM plugins (CNI section 4) share: which addresses of a network are in use, and by which attachment.
//
// They are kept in a store in the format of the reference plugin host-local, so that a network can change from one IPAM plugin to
// another with its containers running. For each address in use the store has a key of its name (10.1.0.5, fd00::5), whose value is the
// container id, a carriage return, a line feed and the interface's name. A value of old versions is the container id alone. Any other
// key is the plugin's own.
//
// A plugin's own is the order in which it tries the addresses of a range set:
//
//	sets, err := ranges.Read("ipam.ranges", request.Config.IPAM.Ranges)
//	…
//	pool, err := leases.Open(store.LocationPrivate{}, store.AccessWrite)
//	…
//	holder, err := leases.HolderOf(pool, request)
//	…
//	for _, set := range sets {
//		lease, err := holder.Claim(set, set.After(netip.Addr{}))
//		…
//		result.IPs = append(result.IPs, lease.IP())
//	}
//	return result, pool.Commit()
//
// [Release], [Check] and [Retain] are DEL, CHECK and GC, and [Pool.CheckFree] is STATUS.
package leases

import (
	"net/netip"
	"strings"

	"weir.dev/weir"
	"weir.dev/weir/ranges"
	"weir.dev/weir/store"
)

// The error codes of a pool, those of host-local.
const (
	// A range set has no free address.
	CodeNoAddress = 110

	// The container's interface has an address of the range set already.
	CodeDuplicate = 112

	// CHECK: the container's interface has no address, or not the one of the result of ADD.
	CodeNoLease = 113
)

// Pool has the leases of a network. Its functions fail with the errors of the store besides their own.
type Pool struct {
	// The store, open and locked, for what a plugin keeps there besides.
	Store *store.Transaction
}

// Open opens the leases of the network. Errors: those of [store.Open].
func Open(location store.Location, access store.Access) (Pool, error) {
	transaction, err := store.Open(location, access)
	return Pool{transaction}, err
}

// Commit keeps what was claimed.
func (pool Pool) Commit() error {
	return pool.Store.Commit()
}

// addressOf returns the address whose lease this is the key of, and whether it is one.
func addressOf(key string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(key)
	return address, err == nil
}

// addresses returns the addresses among keys.
func addresses(keys []string) (all []netip.Addr) {
	for _, key := range keys {
		if address, is := addressOf(key); is {
			all = append(all, address)
		}
	}
	return all
}

// owner is an interface of a container.
type owner struct {
	containerID, ifname string
}

func ownerOf(containerID, ifname string) owner {
	return owner{strings.TrimSpace(containerID), ifname}
}

// value is what its leases hold.
func (owner owner) value() string {
	return owner.containerID + "\r\n" + owner.ifname
}

// oldValue is what leases of old versions hold, whichever the interface.
func (owner owner) oldValue() string {
	return owner.containerID
}

func (owner owner) String() string {
	return "interface `" + owner.ifname + "` of container `" + owner.containerID + "`"
}

// CheckFree fails when one of the range sets has no free address, for STATUS. Errors: [weir.CodeNotAvailable].
func (pool Pool) CheckFree(sets ranges.Sets) error {
	keys, err := pool.Store.Keys()
	if err != nil {
		return err
	}
	isTaken := make(map[netip.Addr]bool, len(keys))
	for _, address := range addresses(keys) {
		isTaken[address] = true
	}
	for _, set := range sets {
		if !set.HasFree(isTaken) {
			return exhausted(weir.CodeNotAvailable, set)
		}
	}
	return nil
}

func exhausted(code uint32, set ranges.Set) error {
	return weir.Fail(code, "no IP addresses available in range set: %v", set)
}
