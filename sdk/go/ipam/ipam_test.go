package ipam

import (
	"errors"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

type config struct {
	IPAM Keys
}

// calls returns what a plugin's commands and the IPAM plugin's do, in order.
func calls(t *testing.T, name string, failing string, run func(plugin weir.Plugin[config]) error) ([]string, error) {
	var host *weirtest.Host
	note := func(word string) error {
		host.Calls = append(host.Calls, word)
		if word == failing {
			return errors.New(word)
		}
		return nil
	}
	answers := map[string]weirtest.Answer{}
	for _, word := range []string{"ipam.del", "ipam.check", "ipam.status", "ipam.gc"} {
		answers[word] = func([]any) (any, error) {
			if word == failing {
				return nil, errors.New(word)
			}
			return nil, nil
		}
	}
	host = weirtest.Use(t, answers)
	plugin := weir.Plugin[config]{
		Del:    func(*weir.Request[config]) error { return note("del") },
		Check:  func(*weir.Request[config]) error { return note("check") },
		Status: func(*weir.StatusRequest[config]) error { return note("status") },
		GC:     func(*weir.GCRequest[config]) error { return note("gc") },
	}
	err := run(Main(plugin, func(config *config) Keys { return Keys{Type: name} }))
	return host.Calls, err
}

func TestTheIPAMPluginsCommandsAreRunInOrder(t *testing.T) {
	del := func(plugin weir.Plugin[config]) error { return plugin.Del(&weir.Request[config]{}) }
	check := func(plugin weir.Plugin[config]) error { return plugin.Check(&weir.Request[config]{}) }
	status := func(plugin weir.Plugin[config]) error { return plugin.Status(&weir.StatusRequest[config]{}) }
	gc := func(plugin weir.Plugin[config]) error { return plugin.GC(&weir.GCRequest[config]{}) }
	for _, each := range []struct {
		name, failing string
		run           func(weir.Plugin[config]) error
		expected      []string
	}{
		{"host-local", "", del, []string{"del", "ipam.del"}},
		{"host-local", "del", del, []string{"del"}},
		{"dhcp", "", del, []string{"ipam.del", "del"}},
		{"dhcp", "ipam.del", del, []string{"ipam.del", "del"}},
		{"", "", del, []string{"del"}},
		{"host-local", "", check, []string{"ipam.check", "check"}},
		{"host-local", "ipam.check", check, []string{"ipam.check"}},
		{"", "", check, []string{"check"}},
		{"host-local", "", status, []string{"ipam.status", "status"}},
		{"host-local", "gc", gc, []string{"gc", "ipam.gc"}},
	} {
		found, err := calls(t, each.name, each.failing, each.run)
		if !slices.Equal(found, each.expected) || (err == nil) != (each.failing == "") {
			t.Errorf("%+v: found %q, %v", each, found, err)
		}
	}
}

func TestAnIPAMPluginWithoutAnAddressIsAnError(t *testing.T) {
	weirtest.Use(t, map[string]weirtest.Answer{"ipam.add": weirtest.Value(weir.Result{})})
	if _, err := (Keys{Type: "mine"}).Assign(1); err == nil {
		t.Error("it is accepted")
	}
}
