package main

import (
	"fmt"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// host has a container that another plugin has attached, with an MTU of 1500.
func host(t *testing.T) *weirtest.Host {
	host := weirtest.New(t)
	host.CreatePair("veth0", "eth0")
	return host
}

func attachment(mtu int) weirtest.Invocation {
	return weirtest.Attachment(fmt.Sprintf(`{"type": "{{name}}", "mtu": %d}`, mtu)).After(weir.Result{})
}

func TestMoreThanTheConfigurationAllowsIsChangedAndNothingElse(t *testing.T) {
	host := host(t)
	for _, mtu := range []int{1400, 9000} {
		if _, err := weirtest.Add(host, plugin, attachment(mtu)); err != nil {
			t.Fatal(err)
		}
	}
	if changes := host.Changes(); !slices.Equal(changes, []string{"link.update container eth0 MTU=1400"}) {
		t.Errorf("changed %q", changes)
	}
	if err := weirtest.Check(host, plugin, attachment(1400)); err != nil {
		t.Error(err)
	}
	if err := weirtest.Check(host, plugin, attachment(1280)); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Errorf("found %v", err)
	}
}

func TestAnMTUThatNoLinkMayHaveIsRefused(t *testing.T) {
	host := host(t)
	if _, err := weirtest.Add(host, plugin, attachment(67)); weir.CodeOf(err) != weir.CodeInvalidConfig {
		t.Errorf("found %v", err)
	}
}

func TestALinkThatCannotBeChangedFailsADD(t *testing.T) {
	host := host(t)
	host.FailNext("link.update", weir.Busy)
	if _, err := weirtest.Add(host, plugin, attachment(1400)); weir.CodeOf(err) != weir.CodeTryAgainLater {
		t.Errorf("found %v", err)
	}
}
