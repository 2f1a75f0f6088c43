package leases

import (
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/store"
	"weir.dev/weir/weirtest"
)

var subnet = netip.MustParsePrefix("10.0.0.0/16")

// all are the addresses of the subnet, from the second on.
func all(yield func(netip.Addr) bool) {
	for address := subnet.Addr().Next(); subnet.Contains(address) && yield(address); {
		address = address.Next()
	}
}

// pool has leases that the test says: those of the attachment, and which addresses are free.
func pool(t *testing.T, held []string, isFree func(key string) bool) (Pool, *[]int) {
	var lengths []int
	weirtest.Use(t, map[string]weirtest.Answer{
		"store.open":             weirtest.Value(&store.Transaction{}),
		"store.transaction.find": weirtest.Value(held),
		"store.transaction.claim": func(arguments []any) (any, error) {
			keys := arguments[0].([]string)
			lengths = append(lengths, len(keys))
			if free := slices.IndexFunc(keys, isFree); free >= 0 {
				return &keys[free], nil
			}
			return (*string)(nil), nil
		},
	})
	opened, err := Open(store.LocationPrivate{}, store.AccessWrite)
	if err != nil {
		t.Fatal(err)
	}
	return opened, &lengths
}

var request = &weir.Request[struct{}]{ContainerID: "a", Ifname: "eth0"}

func TestTheFirstFreeAddressIsClaimedInLargerAndLargerChunks(t *testing.T) {
	pool, lengths := pool(t, nil, func(key string) bool { return key == "10.0.8.9" })
	found, err := Claim(pool, request, subnet, all)
	if err != nil || found.String() != "10.0.8.9" || !slices.Equal(*lengths, []int{16, 128, 1024, 8192}) {
		t.Error(found, err, *lengths)
	}
}

func TestASubnetWithoutAFreeAddressIsAnError(t *testing.T) {
	pool, _ := pool(t, nil, func(string) bool { return false })
	if found, err := Claim(pool, request, subnet, all); err == nil {
		t.Error(found)
	}
}

func TestAnAttachmentGetsOneAddressOfASubnet(t *testing.T) {
	pool, lengths := pool(t, []string{"fd00::5", "last", "10.0.0.7"}, func(string) bool { return true })
	if found, err := Claim(pool, request, subnet, all); err == nil || len(*lengths) > 0 {
		t.Error(found, *lengths)
	}
	if held, err := Held(pool, request); err != nil || len(held) != 2 {
		t.Error(held, err)
	}
}
