package sysctl_test

import (
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/sysctl"
	"weir.dev/weir/weirtest"
)

func TestDotsOfALinksNameDoNotSeparate(t *testing.T) {
	if key := sysctl.OfLink("ipv4.conf", "eth0.1", "arp_notify"); key != "net.ipv4.conf.eth0/1.arp_notify" {
		t.Error(key)
	}
}

func TestForwardingIsEnabledOnceForEachFamily(t *testing.T) {
	host := weirtest.New(t)
	ips := []weir.IP{{Address: netip.MustParsePrefix("10.1.0.2/24")}, {Address: netip.MustParsePrefix("10.2.0.2/24")}}
	for range 2 {
		if err := sysctl.ForwardFor(ips); err != nil {
			t.Fatal(err)
		}
	}
	if changes := host.Changes(); !slices.Equal(changes, []string{"sysctl.write host net.ipv4.ip_forward 1"}) {
		t.Errorf("%q", changes)
	}
	if err := sysctl.ForwardFor([]weir.IP{{Address: netip.MustParsePrefix("fd00::2/64")}}); err != nil {
		t.Fatal(err)
	}
	if value, err := sysctl.Read(weir.Host, "net.ipv6.conf.all.forwarding"); err != nil || value != "1" {
		t.Error(value, err)
	}
}

func TestAParameterThatIsNotThereIsAnErrorOnlyWhereItIsNeeded(t *testing.T) {
	weirtest.New(t)
	key := sysctl.OfLink("ipv6.conf", "eth9", "accept_ra")
	if err := sysctl.Set(weir.Host, key, "0"); err != nil {
		t.Error(err)
	}
	if err := sysctl.Ensure(weir.Host, key, "0"); !weir.Is(err, weir.NotFound) {
		t.Error(err)
	}
}
