package main

import (
	"fmt"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// of is an invocation for a container, on a network with three IPv4 addresses and two of IPv6.
func of(containerID string) weirtest.Invocation {
	ranges := `[[{"subnet": "10.91.0.0/29", "rangeEnd": "10.91.0.4"}], [{"subnet": "fd91::/126"}]]`
	invocation := weirtest.Attachment(`{"type": "ptp", "ipam": {"type": "{{name}}", "ranges": ` + ranges + `}}`)
	invocation.ContainerID = containerID
	return invocation
}

// attach runs ADD for a container, and returns its addresses, and the invocation for CHECK and DEL.
func attach(host *weirtest.Host, containerID string) (string, weirtest.Invocation) {
	result, attached := weirtest.Attach(host, plugin, of(containerID))
	var addresses []string
	for _, ip := range result.IPs {
		addresses = append(addresses, ip.Address.String())
	}
	return fmt.Sprint(addresses), attached
}

func TestEachContainerGetsTheFirstFreeAddressOfEachFamily(t *testing.T) {
	host := weirtest.New(t)
	first, attached := attach(host, "a")
	second, _ := attach(host, "b")
	if first != "[10.91.0.2/29 fd91::2/126]" || second != "[10.91.0.3/29 fd91::3/126]" {
		t.Error(first, second)
	}
	// Of IPv6 none is left, and IPv4 alone is not assigned.
	if err := weirtest.Status(host, plugin, of("c")); weir.CodeOf(err) != weir.CodeNotAvailable {
		t.Errorf("found %v", err)
	}
	if result, err := weirtest.Add(host, plugin, of("c")); err == nil {
		t.Errorf("assigned %+v", result)
	}
	weirtest.AssertDetaches(host, plugin, attached)
	if third, _ := attach(host, "c"); third != first {
		t.Error(third)
	}
}

func TestGCReleasesWhatBelongsToNoValidAttachment(t *testing.T) {
	host := weirtest.New(t)
	_, kept := attach(host, "a")
	_, gone := attach(host, "b")
	if err := weirtest.GC(host, plugin, of("a"), weir.Attachment{ContainerID: "a", Ifname: "eth0"}); err != nil {
		t.Error(err)
	}
	if err := weirtest.Check(host, plugin, kept); err != nil {
		t.Error(err)
	}
	if err := weirtest.Check(host, plugin, gone); err == nil {
		t.Error("the address is still assigned")
	}
}
