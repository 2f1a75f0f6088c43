package weirtest

import (
	"errors"
	"net/netip"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/link"
)

// wrong says which of the commands of dummy are wrong.
type wrong struct {
	NoDel   bool `json:"noDel"`
	NoCheck bool `json:"noCheck"`
	Refuses bool `json:"refuses"`
}

// dummy makes an interface in the container.
var dummy = weir.Plugin[wrong]{
	Name: "dummy",
	Add: func(request *weir.Request[wrong]) (weir.Result, error) {
		if request.Config.Refuses {
			return weir.Result{}, weir.Error{Code: weir.CodeInvalidConfig, Msg: "refuses: true", Details: "as it says"}
		}
		made, err := link.Create(link.NewLink{Namespace: weir.Container, Name: request.Ifname, Kind: link.NewKindDummy{}})
		return weir.Result{Interfaces: []weir.Interface{weir.InterfaceOf(made, request.Sandbox)}}, err
	},
	Del: func(request *weir.Request[wrong]) error {
		if request.Config.NoDel || !request.HasContainer {
			return nil
		}
		if err := link.Delete(weir.Container, weir.LinkName(request.Ifname)); err != nil && !weir.IsGone(err) {
			return err
		}
		return nil
	},
	Check: func(request *weir.Request[wrong]) error {
		if request.Config.NoCheck {
			return errors.New("it never succeeds")
		}
		return nil
	},
}

func TestAssertionsFailForWhatIsWrong(t *testing.T) {
	refuses := func(code uint32, message string) func(*Host) {
		return func(host *Host) { AssertRefuses(host, dummy, Attachment(`{"refuses": true}`), code, message) }
	}
	detaches := func(keys string) func(*Host) {
		return func(host *Host) {
			result, attached := Attach(host, dummy, Attachment(keys))
			OnlyInterface(host.test, result)
			AssertDetaches(host, dummy, attached)
		}
	}
	for name, each := range map[string]struct {
		run      func(*Host)
		expected int
	}{
		"detached":                {detaches(`{}`), 0},
		"no CHECK":                {detaches(`{"noCheck": true}`), 1},
		"no DEL":                  {detaches(`{"noDel": true}`), 2},
		"refused":                 {refuses(weir.CodeInvalidConfig, "refuses: true"), 0},
		"refused with the code":   {refuses(weir.CodeDenied, "refuses: true"), 1},
		"refused with the words":  {refuses(weir.CodeInvalidConfig, "other"), 1},
		"not refused":             {func(host *Host) { AssertRefuses(host, dummy, Attachment(`{}`), 7, "") }, 2},
		"no IPAM plugin":          {func(host *Host) { AssertReleasesAlone(host, dummy, Attachment(`{}`)) }, 1},
		"no ADD":                  {func(host *Host) { Attach(host, dummy, Attachment(`{"refuses": true}`)) }, 1},
		"a result of another one": {func(host *Host) { OnlyInterface(host.test, weir.Result{Interfaces: make([]weir.Interface, 1)}) }, 1},
	} {
		recorder := &recorder{TB: t}
		each.run(New(recorder))
		if recorder.errors != each.expected {
			t.Errorf("%s: expected %d errors, found %d", name, each.expected, recorder.errors)
		}
	}
}

func TestEachFunctionFailsOnAHostOfItsOwn(t *testing.T) {
	recorder := &recorder{TB: t}
	var seen []string
	check := func(host *Host, function string) {
		if names := host.LinkNames(weir.Container); len(names) == 1 {
			seen = append(seen, function)
		}
	}
	newHost := func() *Host { return New(recorder) }
	EachFailing(newHost, dummy, Attachment(`{}`), []string{"link.create", "link.delete"}, check)
	if len(seen) != 1 || seen[0] != "link.create" || recorder.errors != 1 {
		t.Error(seen, recorder.errors)
	}
}

func TestAResultThatWeirRefusesFailsADD(t *testing.T) {
	host := New(t)
	gateway, ipv6 := netip.MustParseAddr("10.1.0.1"), prefix("fd00::2/64")
	for message, result := range map[string]weir.Result{
		"result: ips[0].interface: no interface has the index 2; the result has 1": {
			Interfaces: []weir.Interface{{Name: "eth0"}}, IPs: []weir.IP{{Address: ipv6, Interface: new(uint32(2))}},
		},
		"result: ips[0].gateway: 10.1.0.1 is not of the address family of fd00::2/64": {IPs: []weir.IP{{Address: ipv6, Gateway: gateway}}},
		"result: routes[0].gw: 10.1.0.1 is not of the address family of ::/0":         {Routes: []weir.Route{{Dst: prefix("::/0"), GW: gateway}}},
	} {
		plugin := weir.Plugin[struct{}]{Add: func(*weir.Request[struct{}]) (weir.Result, error) { return result, nil }}
		AssertRefuses(host, plugin, Attachment(`{}`), weir.CodeInternal, message)
	}
}
