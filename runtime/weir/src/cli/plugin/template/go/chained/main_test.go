package main

import (
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/link"
	"weir.dev/weir/weirtest"
)

// invocation is one for a container that another plugin has attached.
func invocation(mtu uint32) *weir.Request[Config] {
	return &weir.Request[Config]{Ifname: "eth0", Config: Config{MTU: mtu}, Previous: &weir.Result{}}
}

// host has a container whose interface has an MTU of 1500.
func host(t *testing.T, update weirtest.Answer) *weirtest.Host {
	return weirtest.Use(t, map[string]weirtest.Answer{
		"link.get":    weirtest.Value(link.Link{Name: "eth0", MTU: 1500}),
		"link.update": update,
	})
}

func TestMoreThanTheConfigurationAllowsIsChanged(t *testing.T) {
	host := host(t, weirtest.Value(nil))
	if _, err := add(invocation(9000)); err != nil || host.Called("link.update") {
		t.Fatalf("%v, after %q", err, host.Calls)
	}
	if _, err := add(invocation(1400)); err != nil || !host.Called("link.update") {
		t.Fatalf("%v, after %q", err, host.Calls)
	}
	if err := check(invocation(1400)); err == nil {
		t.Error("the MTU is still 1500, and CHECK finds nothing")
	}
}

func TestAnMTUThatNoLinkMayHaveIsRefused(t *testing.T) {
	if _, err := plugin.ReadConfig(`{"type": "{{name}}", "mtu": 67}`); err == nil {
		t.Error("an MTU of 67 is accepted")
	}
}

func TestALinkThatCannotBeChangedFailsAdd(t *testing.T) {
	host(t, weirtest.Fails(weir.Busy))
	if _, err := add(invocation(1400)); !weir.Is(err, weir.Busy) {
		t.Errorf("found %v", err)
	}
}
