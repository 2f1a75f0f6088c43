package main

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// of is an invocation for a container, on a network with five IPv4 addresses and one of IPv6.
func of(containerID string) weirtest.Invocation {
	keys := `{"type": "{{name}}", "subnet": "10.91.0.0/29", "subnet6": "fd91::/126"}`
	invocation := weirtest.Attachment(`{"type": "ptp", "ipam": ` + keys + `}`)
	invocation.ContainerID = containerID
	return invocation
}

// attach runs ADD for a container, which must succeed, and returns its addresses, and its invocation for CHECK and DEL.
func attach(t *testing.T, host *weirtest.Host, containerID string) (string, weirtest.Invocation) {
	t.Helper()
	result, err := weirtest.Add(host, plugin, of(containerID))
	if err != nil {
		t.Fatal(err)
	}
	var addresses []netip.Prefix
	for _, ip := range result.IPs {
		addresses = append(addresses, ip.Address)
	}
	return fmt.Sprint(addresses), of(containerID).After(result)
}

func TestEachContainerGetsTheFirstFreeAddressOfEachFamily(t *testing.T) {
	host := weirtest.New(t)
	first, attached := attach(t, host, "a")
	if first != "[10.91.0.2/29 fd91::2/126]" {
		t.Error(first)
	}
	if err := weirtest.Check(host, plugin, attached); err != nil {
		t.Error(err)
	}
	// Of IPv6 none is left, and IPv4 alone is not assigned.
	if err := weirtest.Status(host, plugin, of("b")); weir.CodeOf(err) != weir.CodeNotAvailable {
		t.Errorf("found %v", err)
	}
	if result, err := weirtest.Add(host, plugin, of("b")); err == nil {
		t.Errorf("assigned %+v", result)
	}
	for range 2 {
		if err := weirtest.Del(host, plugin, attached); err != nil {
			t.Error(err)
		}
	}
	if second, _ := attach(t, host, "b"); second != first {
		t.Error(second)
	}
}

func TestGCReleasesWhatBelongsToNoValidAttachment(t *testing.T) {
	host := weirtest.New(t)
	_, attached := attach(t, host, "a")
	kept := weir.Attachment{ContainerID: "a", Ifname: "eth0"}
	if err := weirtest.GC(host, plugin, of("a"), kept); err != nil {
		t.Error(err)
	}
	if err := weirtest.Check(host, plugin, attached); err != nil {
		t.Error(err)
	}
	if err := weirtest.GC(host, plugin, of("a")); err != nil {
		t.Error(err)
	}
	if err := weirtest.Check(host, plugin, attached); err == nil {
		t.Error("the address is still assigned")
	}
}

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
