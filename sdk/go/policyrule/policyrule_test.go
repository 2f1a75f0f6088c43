package policyrule_test

import (
	"net/netip"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/policyrule"
	"weir.dev/weir/weirtest"
)

func TestARuleIsWrittenAsIPShowsIt(t *testing.T) {
	whole := policyrule.FromSource(netip.MustParseAddr("fd00::2"), 100)
	if text := whole.String(); text != "rule from fd00::2/128 table 100" {
		t.Error(text)
	}
	whole.Priority, whole.Destination = new(uint32(7)), netip.MustParsePrefix("fd05::/64")
	whole.InputLink, whole.OutputLink = new("eth0"), new("eth1")
	whole.Mark, whole.MarkMask = new(uint32(1)), new(uint32(255))
	if text := whole.String(); text != "rule 7 from fd00::2/128 to fd05::/64 iif eth0 oif eth1 fwmark 0x1/0xff table 100" {
		t.Error(text)
	}
}

func TestARuleIsFoundByWhatItSelects(t *testing.T) {
	weirtest.New(t)
	own := policyrule.FromSource(netip.MustParseAddr("10.1.0.2"), 100)
	exists := func(rule policyrule.Rule) bool {
		t.Helper()
		exists, err := policyrule.Exists(weir.Container, rule)
		if err != nil {
			t.Fatal(err)
		}
		return exists
	}
	if exists(own) {
		t.Error("it is there before it is added")
	}
	if err := policyrule.Add(weir.Container, own); err != nil {
		t.Fatal(err)
	}
	later := own
	later.Priority = new(uint32(7))
	if other := policyrule.FromSource(netip.MustParseAddr("10.1.0.2"), 101); !exists(own) || exists(later) || exists(other) {
		t.Error("another one is found")
	}
}
