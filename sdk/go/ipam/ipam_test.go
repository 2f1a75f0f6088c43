package ipam

import (
	"errors"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/iface"
	"weir.dev/weir/link"
	"weir.dev/weir/weirtest"
)

type config struct {
	IPAM Keys `json:"ipam"`
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
	err := run(Main(plugin, "dummy", func(config *config) Keys { return Keys{Type: name} }))
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

// attaching is a main plugin that leaves out what it may.
var attaching = Main(weir.Plugin[config]{
	Name: "attaching",
	Add: func(request *weir.Request[config]) (weir.Result, error) {
		made, err := iface.Create(request, link.NewLink{Kind: link.NewKindDummy{}})
		if err != nil {
			return weir.Result{}, err
		}
		assigned, err := request.Config.IPAM.Assign(iface.ContainerInterface)
		if err != nil {
			return assigned, err
		}
		if err := iface.Configure(made, &assigned); err != nil {
			return assigned, err
		}
		return iface.Result(weir.InterfaceOf(made, request.Sandbox), assigned, weir.DNSKeys{}), nil
	},
}, "dummy", func(config *config) Keys { return config.IPAM })

var attachment = weirtest.Attachment(`{"type": "attaching", "ipam": {"type": "host-local"}}`)

func TestAMainPluginLeavesOutWhatAllHaveInCommon(t *testing.T) {
	host := weirtest.New(t)
	host.Assign("10.1.0.2/24", "10.1.0.1")
	result, attached := weirtest.Attach(host, attaching, attachment)
	weirtest.OnlyInterface(t, result)
	if *result.IPs[0].Interface != iface.ContainerInterface {
		t.Errorf("%+v", result)
	}
	host.RenameLink(weir.Container, "eth0", "wan0")
	if err := weirtest.Check(host, attaching, attached); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Error(err)
	}
	host.RenameLink(weir.Container, "wan0", "eth0")
	weirtest.AssertDetaches(host, attaching, attached)
}

func TestWithoutAContainerTheAddressesAreReleased(t *testing.T) {
	host := weirtest.New(t)
	host.Assign("10.1.0.2/24", "10.1.0.1")
	_, attached := weirtest.Attach(host, attaching, attachment)
	weirtest.AssertReleasesAlone(host, attaching, attached)
}

func TestTheAddressesAreReleasedAfterAFailedADD(t *testing.T) {
	newHost := func() *weirtest.Host {
		host := weirtest.New(t)
		host.Assign("10.1.0.2/24", "10.1.0.1", "0.0.0.0/0")
		return host
	}
	functions := []string{"link.create", "ipam.add", "address.add", "route.add"}
	weirtest.EachFailing(newHost, attaching, attachment, functions, func(host *weirtest.Host, function string) {
		isAssigned := slices.Contains(host.Changes(), "ipam.add")
		if host.Called("ipam.del") != isAssigned || len(host.LinkNames(weir.Container)) != 1 {
			t.Errorf("%s: %q", function, host.Calls)
		}
	})
}

func TestAMainPluginNeedsAnIPAMPlugin(t *testing.T) {
	host := weirtest.New(t)
	without := weirtest.Attachment(`{"type": "attaching", "ipam": {}}`)
	if err := weirtest.Status(host, attaching, without); weir.CodeOf(err) != weir.CodeInvalidConfig {
		t.Error(err)
	}
	if err := weirtest.Status(host, attaching, attachment); err != nil {
		t.Error(err)
	}
	layer2 := weir.Plugin[config]{
		Validate: func(*config) error { return nil },
		Status:   func(*weir.StatusRequest[config]) error { return nil },
	}
	if err := weirtest.Status(host, Main(layer2, "dummy", func(config *config) Keys { return config.IPAM }), without); err != nil {
		t.Error(err)
	}
}

func TestAnIPAMPluginWithoutAnAddressIsAnError(t *testing.T) {
	weirtest.Use(t, map[string]weirtest.Answer{"ipam.add": weirtest.Value(weir.Result{})})
	if _, err := (Keys{Type: "mine"}).Assign(1); err == nil {
		t.Error("it is accepted")
	}
}
