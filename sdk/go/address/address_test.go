package address_test

import (
	"net/netip"
	"testing"

	"weir.dev/weir/address"
)

func TestBroadcastIsTheSubnetsLastAddress(t *testing.T) {
	for subnet, expected := range map[string]string{
		"10.1.2.3/16":  "10.1.255.255",
		"10.1.2.1/30":  "10.1.2.3",
		"10.1.2.1/31":  "",
		"fd00::1/64":   "",
		"172.16.5.9/0": "255.255.255.255",
	} {
		found := address.WithBroadcast(netip.MustParsePrefix(subnet))
		if found.Address.String() != subnet || found.Broadcast.IsValid() != (expected != "") {
			t.Errorf("%s: %+v", subnet, found)
		}
		if expected != "" && found.Broadcast.String() != expected {
			t.Errorf("%s: expected %s, found %v", subnet, expected, found.Broadcast)
		}
	}
}
