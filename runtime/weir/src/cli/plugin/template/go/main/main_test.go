package main

import (
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

var attachment = weirtest.Attachment(`{"type": "{{name}}", "ipam": {"type": "host-local"}}`)

// host is a host whose IPAM plugin assigns an address of each family.
func host(t *testing.T) *weirtest.Host {
	host := weirtest.New(t)
	host.Assign("10.91.0.2/24", "10.91.0.1")
	host.Assign("fd91::2/64", "fd91::1")
	return host
}

func TestThePairIsThereUntilDEL(t *testing.T) {
	host := host(t)
	_, attached := weirtest.Attach(host, plugin, attachment)
	if names := host.LinkNames(weir.Container); !slices.Equal(names, []string{"lo", "eth0"}) {
		t.Errorf("the container has %q", names)
	}
	weirtest.AssertDetaches(host, plugin, attached)
	if names := host.LinkNames(weir.Host); !slices.Equal(names, []string{"lo"}) {
		t.Errorf("the host has %q", names)
	}
	if err := weirtest.Check(host, plugin, attached); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Errorf("found %v", err)
	}
}

func TestNothingIsMadeWithoutAnAddress(t *testing.T) {
	host := host(t)
	host.FailNext("ipam.add", weir.Exhausted)
	if _, err := weirtest.Add(host, plugin, attachment); err == nil || len(host.Changes()) > 0 {
		t.Errorf("%v, after %q", err, host.Changes())
	}
}

func TestAddressesAreNeeded(t *testing.T) {
	without := weirtest.Attachment(`{"type": "{{name}}", "ipam": {"type": ""}}`)
	if err := weirtest.Status(host(t), plugin, without); weir.CodeOf(err) != weir.CodeInvalidConfig {
		t.Errorf("found %v", err)
	}
}
