package main

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

func TestTheFirstAddressIsTheGatewaysAndTheLastIsNotAssigned(t *testing.T) {
	subnet := netip.MustParsePrefix("10.91.0.0/29")
	found := fmt.Sprint(slices.Collect(candidates(subnet)))
	if expected := "[10.91.0.2 10.91.0.3 10.91.0.4 10.91.0.5 10.91.0.6]"; found != expected {
		t.Errorf("expected %s, found %s", expected, found)
	}
}

func TestSubnetsThatCannotBeUsedAreRefused(t *testing.T) {
	for _, keys := range []string{`{}`, `{"subnet": "fd91::/64"}`, `{"subnet6": "10.91.0.0/24"}`, `{"subnet": "10.91.0.0/31"}`} {
		if _, err := plugin.ReadConfig(`{"ipam": ` + keys + `}`); err == nil {
			t.Errorf("%s is accepted", keys)
		}
	}
}
