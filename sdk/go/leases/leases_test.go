package leases

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/ranges"
	"weir.dev/weir/store"
	"weir.dev/weir/weirtest"
)

var request = &weir.Request[struct{}]{ContainerID: " 5f3c\n", Ifname: "eth0"}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sets returns a set for each subnet.
func sets(t *testing.T, subnets ...string) (sets ranges.Sets) {
	t.Helper()
	for _, subnet := range subnets {
		one, err := ranges.Keys{Subnet: netip.MustParsePrefix(subnet)}.Range()
		succeeds(t, err)
		succeeds(t, sets.AddSet(subnet, one))
	}
	return sets
}

// open opens the pool of a fake host.
func open(t *testing.T) Pool {
	t.Helper()
	pool, err := Open(store.LocationPrivate{}, store.AccessWrite)
	succeeds(t, err)
	return pool
}

// pool is that of a new fake host, with leases that are pairs of an address and a value.
func pool(t *testing.T, leases ...string) Pool {
	t.Helper()
	weirtest.New(t)
	pool := open(t)
	for pair := range slices.Chunk(leases, 2) {
		succeeds(t, pool.Store.Put(pair[0], []byte(pair[1])))
	}
	return pool
}

// left returns the keys of a pool.
func left(t *testing.T, pool Pool) string {
	t.Helper()
	keys, err := pool.Store.Keys()
	succeeds(t, err)
	return strings.Join(keys, " ")
}

// holderOf returns the holder that the request's attachment is.
func holderOf(t *testing.T, pool Pool) Holder {
	t.Helper()
	holder, err := HolderOf(pool, request)
	succeeds(t, err)
	return holder
}

func TestLeasesAreTheReferences(t *testing.T) {
	pool := pool(t)
	lease, err := holderOf(t, pool).Claim(sets(t, "10.0.0.0/24")[0], slices.Values([]netip.Addr{netip.MustParseAddr("10.0.0.5")}))
	succeeds(t, err)
	value, err := pool.Store.Get("10.0.0.5")
	if err != nil || string(value) != "5f3c\r\neth0" {
		t.Errorf("%q, %v", value, err)
	}
	if ip := lease.IP(); ip.Address.String() != "10.0.0.5/24" || ip.Gateway.String() != "10.0.0.1" || ip.Interface != nil {
		t.Errorf("%+v", ip)
	}
}

func TestAddressesAreNamedAsTheReferenceNamesThem(t *testing.T) {
	for _, text := range []string{"10.1.0.5", "fd00::5", "::1:0:0:2", "2001:db8:0:1:1:1:1:1", "::102:304"} {
		if address, is := addressOf(text); !is || address.String() != text {
			t.Errorf("%s: found %v", text, address)
		}
	}
	if found := addresses([]string{"last_reserved_ip.0", "fd00::5", "lock"}); len(found) != 1 {
		t.Error(found)
	}
}

func TestTheFirstFreeAddressIsClaimedInLargerAndLargerChunks(t *testing.T) {
	var lengths []int
	weirtest.Use(t, map[string]weirtest.Answer{
		"store.transaction.find": weirtest.Value([]string(nil)),
		"store.transaction.claim": func(arguments []any) (any, error) {
			keys := arguments[0].([]string)
			lengths = append(lengths, len(keys))
			if slices.Contains(keys, "10.0.8.10") {
				return new("10.0.8.10"), nil
			}
			return (*string)(nil), nil
		},
	})
	set := sets(t, "10.0.0.0/16")[0]
	lease, err := holderOf(t, Pool{&store.Transaction{}}).Claim(set, set.After(netip.Addr{}))
	if err != nil || lease.Address.String() != "10.0.8.10" || !slices.Equal(lengths, []int{16, 128, 1024, 8192}) {
		t.Error(lease, err, lengths)
	}
}

func TestASetWithoutAFreeAddressIsAnError(t *testing.T) {
	full, free := sets(t, "10.0.0.0/30")[0], sets(t, "fd00::/126")
	pool := pool(t, "10.0.0.2", "dead\r\neth0", "last_reserved_ip.0", "10.0.0.2")
	holder := holderOf(t, pool)
	const message = "no IP addresses available in range set: 10.0.0.1-10.0.0.2"
	_, err := holder.Claim(full, full.After(netip.Addr{}))
	if weir.CodeOf(err) != CodeNoAddress || err.Error() != message {
		t.Error(err)
	}
	if lease, err := holder.ClaimIfFree(full, full.After(netip.Addr{})); lease != nil || err != nil {
		t.Error(lease, err)
	}
	if err := pool.CheckFree(append(free, full)); weir.CodeOf(err) != weir.CodeNotAvailable || err.Error() != message {
		t.Error(err)
	}
	succeeds(t, pool.CheckFree(free))
}

func TestAHolderHasOneAddressOfASet(t *testing.T) {
	for _, value := range []string{"5f3c\r\neth0", "5f3c"} {
		pool := pool(t, "fd00::5", value, "10.0.0.5", value)
		both := sets(t, "10.0.0.0/24", "10.0.1.0/24")
		_, err := holderOf(t, pool).Claim(both[0], both[0].After(netip.Addr{}))
		failed, is := err.(weir.Error)
		if !is || failed.Code != CodeDuplicate || failed.Msg != "10.0.0.5 is allocated to interface `eth0` of container `5f3c` already" {
			t.Errorf("%q: %+v", value, err)
		}
		_, err = holderOf(t, pool).Claim(both[1], both[1].After(netip.Addr{}))
		succeeds(t, err)
	}
}

func TestCHECKNeedsAnAddressAndAllThatAreGiven(t *testing.T) {
	const value = "5f3c\r\neth0"
	attached := *request
	attached.Previous = &weir.Result{IPs: []weir.IP{
		{Address: netip.MustParsePrefix("10.0.0.5/24")}, {Address: netip.MustParsePrefix("fd00::5/64")},
	}}
	for _, each := range []struct {
		leases   []string
		expected string
	}{
		{[]string{"10.0.0.5", value, "fd00::5", value}, ""},
		{[]string{"10.0.0.5", "5f3c\r\neth1"}, "no address is allocated to interface `eth0` of container `5f3c`"},
		{[]string{"10.0.0.5", value}, "prevResult: fd00::5 is not allocated to interface `eth0` of container `5f3c`"},
	} {
		err := Check(pool(t, each.leases...), &attached)
		if each.expected == "" && err == nil {
			continue
		}
		if weir.CodeOf(err) != CodeNoLease || err.Error() != each.expected {
			t.Errorf("%q: found %v", each.leases, err)
		}
	}
	pool := pool(t, "10.0.0.5", value)
	succeeds(t, holderOf(t, pool).Check())
	if err := Check(pool, request); weir.CodeOf(err) != weir.CodeInvalidConfig {
		t.Error(err)
	}
}

func TestDELReleasesWhatTheAttachmentHolds(t *testing.T) {
	for _, each := range []struct {
		leases   []string
		expected string
	}{
		{nil, ""},
		{[]string{"10.0.0.5", "dead\r\neth0"}, "10.0.0.5"},
		{[]string{"10.0.0.5", "5f3c\r\neth0", "fd00::5", "5f3c\r\neth0", "10.0.0.6", "5f3c\r\neth1"}, "10.0.0.6"},
		// The old format says nothing of the interface.
		{[]string{"10.0.0.5", "5f3c\n", "10.0.0.6", "5f3c", "10.0.0.7", "dead"}, "10.0.0.7"},
		{[]string{"10.0.0.5", "5f3c\r\neth0", "10.0.0.6", "5f3c"}, "10.0.0.6"},
	} {
		pool := pool(t, each.leases...)
		succeeds(t, Release(pool, request))
		if found := left(t, pool); found != each.expected {
			t.Errorf("%q: %q are left", each.leases, found)
		}
	}
}

func TestALeaseThatIsNotFoundIsReleasedWithTheResult(t *testing.T) {
	host := weirtest.New(t)
	pool := open(t)
	succeeds(t, pool.Store.Put("10.0.0.5", []byte("5f3c\r\neth0")))
	host.Answer("store.transaction.find", weirtest.Value([]string(nil)))
	succeeds(t, Release(pool, request))
	if left(t, pool) != "10.0.0.5" {
		t.Error("it is found")
	}
	attached := *request
	attached.Previous = &weir.Result{IPs: []weir.IP{
		{Address: netip.MustParsePrefix("10.0.0.5/24")}, {Address: netip.MustParsePrefix("10.0.0.6/24")},
	}}
	succeeds(t, Release(pool, &attached))
	if found := left(t, pool); found != "" {
		t.Errorf("%q are left", found)
	}
}

func TestGCReleasesWhatNoValidAttachmentHolds(t *testing.T) {
	pool := pool(t,
		"10.0.0.2", "5f3c\r\neth0",
		"10.0.0.3", "5f3c\r\neth1",
		"10.0.0.4", "5f3c",
		"10.0.0.5", "dead",
		"10.0.0.6", "dead\r\neth0",
		"last_reserved_ip.0", "10.0.0.6",
	)
	succeeds(t, Retain(pool, &weir.GCRequest[struct{}]{ValidAttachments: []weir.Attachment{{ContainerID: "5f3c", Ifname: "eth0"}}}))
	if found := left(t, pool); found != "10.0.0.2 10.0.0.4 last_reserved_ip.0" {
		t.Errorf("%q are left", found)
	}
	succeeds(t, Retain(pool, &weir.GCRequest[struct{}]{}))
	if found := left(t, pool); found != "last_reserved_ip.0" {
		t.Errorf("%q are left", found)
	}
}

func TestErrorsOfTheStoreArePassedOn(t *testing.T) {
	for function, act := range map[string]func(Pool) error{
		"store.transaction.keys":   func(pool Pool) error { return pool.CheckFree(nil) },
		"store.transaction.find":   func(pool Pool) error { return Release(pool, request) },
		"store.transaction.commit": func(pool Pool) error { return Retain(pool, &weir.GCRequest[struct{}]{}) },
	} {
		host := weirtest.New(t)
		pool := open(t)
		host.FailNext(function, weir.Busy)
		if err := act(pool); !weir.Is(err, weir.Busy) {
			t.Errorf("%s: %v", function, err)
		}
	}
}
