package veth_test

import (
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/link"
	"weir.dev/weir/veth"
	"weir.dev/weir/weirtest"
)

func request() *weir.Request[struct{}] {
	return &weir.Request[struct{}]{ContainerID: "5f3c", Ifname: "eth0", HasContainer: true, Sandbox: weirtest.Sandbox}
}

// attach makes a pair with an address of each family, and returns the request for CHECK.
func attach(t *testing.T) (*weir.Request[struct{}], veth.Pair) {
	t.Helper()
	result := weir.Result{
		IPs: []weir.IP{
			{Address: netip.MustParsePrefix("10.1.0.2/24"), Gateway: netip.MustParseAddr("10.1.0.1")},
			{Address: netip.MustParsePrefix("fd00::2/64"), Gateway: netip.MustParseAddr("fd00::1")},
		},
		Routes: []weir.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0")}},
	}
	attached := request()
	pair, err := veth.Create(attached)
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.Configure(&result); err != nil {
		t.Fatal(err)
	}
	result.Interfaces = pair.Interfaces(weirtest.Sandbox)
	attached.Previous = &result
	return attached, pair
}

func TestAPairIsMadeAndChecked(t *testing.T) {
	host := weirtest.New(t)
	attached, made := attach(t)
	found, err := veth.Attached(attached)
	if err != nil || found.Host.Index != made.Host.Index || found.Container.Index != made.Container.Index {
		t.Errorf("%+v, %v", found, err)
	}
	if !veth.IsNamedByUs(attached, made.Host.Name) || veth.IsNamedByUs(attached, "veth0") {
		t.Error(made.Host.Name)
	}
	attached.Previous.Interfaces[0].MAC = "02:00:00:00:00:aa"
	if _, err := veth.Attached(attached); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Error(err)
	}
	host.RenameLink(weir.Host, made.Host.Name, "other")
	if _, err := veth.Attached(attached); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Error(err)
	}
	for range 2 {
		if err := veth.Delete(attached); err != nil {
			t.Error(err)
		}
	}
	if names := host.LinkNames(weir.Host); !slices.Equal(names, []string{"lo"}) {
		t.Errorf("%q", names)
	}
}

func TestAPairIsMadeAsItsSettingsSay(t *testing.T) {
	host := weirtest.New(t)
	host.Arrange(func() {
		if _, err := link.Create(link.NewLink{Namespace: weir.Host, Name: "br0", Kind: link.NewKindBridge{}}); err != nil {
			t.Fatal(err)
		}
	})
	mac := weir.MAC{2, 0, 0, 0, 0, 9}
	pair, err := veth.CreateWith(request(), veth.Settings{MTU: new(uint32(1400)), MAC: mac, Master: weir.LinkName("br0"), HostUp: true})
	if err != nil {
		t.Fatal(err)
	}
	if pair.Host.Port == nil || !pair.Host.Up || pair.Host.MTU != 1400 {
		t.Errorf("%+v", pair.Host)
	}
	if pair.Container.Up || pair.Container.MTU != 1400 || pair.Container.MAC.String() != mac.String() {
		t.Errorf("%+v", pair.Container)
	}
}

func TestANameOfTheHostsEndThatIsTakenIsNotUsed(t *testing.T) {
	weirtest.New(t)
	_, first := attach(t)
	// The same attachment in another container, whose end has its name.
	if err := link.Update(weir.Container, weir.LinkName("eth0"), link.Changes{Name: new("eth1")}); err != nil {
		t.Fatal(err)
	}
	second, err := veth.Create(request())
	if err != nil || second.Host.Name == first.Host.Name || !veth.IsNamedByUs(request(), second.Host.Name) {
		t.Errorf("%+v, %v", second, err)
	}
	if _, err := veth.Create(request()); weir.CodeOf(err) != weir.CodeExists {
		t.Error(err)
	}
}

func TestAnAddressWithoutAGatewayIsRefusedBeforeAnythingIsMade(t *testing.T) {
	host := weirtest.New(t)
	pair := veth.Pair{Host: link.Link{Name: "veth0"}, Container: link.Link{Name: "eth0"}}
	err := pair.Configure(&weir.Result{IPs: []weir.IP{{Address: netip.MustParsePrefix("10.1.0.2/24")}}})
	if weir.CodeOf(err) != weir.CodeNoGateway || len(host.Calls) > 0 {
		t.Error(err, host.Calls)
	}
}
