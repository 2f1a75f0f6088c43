package owner_test

import (
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/owner"
)

func TestWhatWasMadeUnderTheNetworksNameIsFound(t *testing.T) {
	own := owner.Of(&weir.Request[struct{}]{ContainerID: "5f3c", Ifname: "eth0", Network: "net", KnownAs: "team/net"})
	if own.Mark() != "team/net 5f3c eth0" {
		t.Error(own.Mark())
	}
	for mark, isOwn := range map[string]bool{
		"team/net 5f3c eth0": true,
		"net 5f3c eth0":      true,
		"net 5f3c eth1":      false,
		"other 5f3c eth0":    false,
		"":                   false,
	} {
		if own.Has(mark) != isOwn {
			t.Errorf("%q", mark)
		}
	}
}

// The marks are those of the SDK for Rust and of weir itself.
func TestALongMarkIsADigest(t *testing.T) {
	long := owner.New(strings.Repeat("n", 100), strings.Repeat("l", 64), "eth0").Mark()
	const expected = "#4e9d823140bd9805a07420211302f43b 86a9671d677ebe3dfee3bbc8820cb0a5"
	if long != expected {
		t.Errorf("%q", long)
	}
}

func TestGarbageIsWhatTheNetworkHasBesideItsValidAttachments(t *testing.T) {
	longID := strings.Repeat("l", 64)
	for _, network := range []string{"net", strings.Repeat("n", 100)} {
		valid := owner.ValidOf(&weir.GCRequest[struct{}]{
			Network:          "net",
			KnownAs:          network,
			ValidAttachments: []weir.Attachment{{ContainerID: "live", Ifname: "eth0"}, {ContainerID: longID, Ifname: "eth0"}},
		})
		for _, each := range []struct {
			owner     owner.Owner
			isGarbage bool
		}{
			{owner.New(network, "live", "eth0"), false},
			{owner.New(network, longID, "eth0"), false},
			{owner.New(network, "dead", "eth0"), true},
			{owner.New(network, "live", "eth1"), true},
			{owner.New(network, strings.Repeat("d", 64), "eth0"), true},
			{owner.New("other", "dead", "eth0"), false},
			{owner.New(strings.Repeat("m", 100), strings.Repeat("d", 64), "eth0"), false},
		} {
			if valid.IsGarbage(each.owner.Mark()) != each.isGarbage {
				t.Errorf("%q", each.owner.Mark())
			}
		}
		if valid.IsGarbage("") || valid.IsGarbage("an administrator's") {
			t.Error("what has no owner is garbage")
		}
	}
}
