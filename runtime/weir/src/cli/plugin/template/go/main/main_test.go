package main

import (
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/ipam"
	"weir.dev/weir/weirtest"
)

func TestNothingIsMadeWithoutAnAddress(t *testing.T) {
	host := weirtest.Use(t, map[string]weirtest.Answer{"ipam.add": weirtest.Fails(weir.Exhausted)})
	if _, err := add(&weir.Request[Config]{Ifname: "eth0"}); err == nil {
		t.Error("ADD succeeds")
	}
	if !slices.Equal(host.Calls, []string{"ipam.add"}) {
		t.Errorf("called %q", host.Calls)
	}
}

func TestTheAddressesAreReleasedAfterTheInterfaceIsGone(t *testing.T) {
	host := weirtest.Use(t, map[string]weirtest.Answer{
		"link.delete": weirtest.Fails(weir.NotFound),
		"ipam.del":    weirtest.Value(nil),
	})
	config := Config{IPAM: ipam.Keys{Type: "host-local"}}
	if err := plugin.Del(&weir.Request[Config]{Ifname: "eth0", HasContainer: true, Config: config}); err != nil {
		t.Error(err)
	}
	if !host.Called("ipam.del") {
		t.Errorf("called %q", host.Calls)
	}
}
