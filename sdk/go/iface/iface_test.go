package iface_test

import (
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/address"
	"weir.dev/weir/iface"
	"weir.dev/weir/link"
	"weir.dev/weir/owner"
	"weir.dev/weir/route"
	"weir.dev/weir/sysctl"
	"weir.dev/weir/weirtest"
)

var (
	request = &weir.Request[struct{}]{
		ContainerID: "5f3c", Ifname: "eth0", Network: "test", KnownAs: "test", HasContainer: true, Sandbox: weirtest.Sandbox,
	}
	dummy = link.NewLink{Kind: link.NewKindDummy{}}
	both  = weir.Result{
		IPs: []weir.IP{
			{Address: netip.MustParsePrefix("10.1.0.2/24"), Gateway: netip.MustParseAddr("10.1.0.1")},
			{Address: netip.MustParsePrefix("fd00::2/64"), Gateway: netip.MustParseAddr("fd00::1")},
		},
		Routes: []weir.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0")}, {Dst: netip.MustParsePrefix("::/0")}},
	}
)

// create creates the interface, which must succeed.
func create(t *testing.T) link.Link {
	t.Helper()
	made, err := iface.Create(request, dummy)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestTheInterfaceNamesItsOwner(t *testing.T) {
	host := weirtest.New(t)
	made := create(t)
	if !made.Up || made.Name != "eth0" || made.Alias != owner.Of(request).Mark() {
		t.Errorf("%+v", made)
	}
	if names := host.LinkNames(weir.Container); !slices.Equal(names, []string{"lo", "eth0"}) {
		t.Errorf("%q", names)
	}
}

func TestANameThatIsTakenIsReportedAsSuch(t *testing.T) {
	host := weirtest.New(t)
	host.CreateInterface(weir.Container, "eth0")
	_, err := iface.Create(request, dummy)
	if weir.CodeOf(err) != weir.CodeExists || err.Error() != "interface `eth0` exists already in the container" {
		t.Error(err)
	}
}

func TestAKindThatIsTakenIsNotTheName(t *testing.T) {
	host := weirtest.New(t)
	host.CreateInterface(weir.Host, "eth1")
	vlan := link.NewKindVLAN{Lower: weir.LinkName("eth1"), ID: 7}
	if _, err := link.Create(link.NewLink{Namespace: weir.Container, Name: "other", Kind: vlan}); err != nil {
		t.Fatal(err)
	}
	_, err := iface.Create(request, link.NewLink{Kind: vlan})
	if weir.CodeOf(err) != weir.CodeExists || !weir.Is(err, weir.Exists) {
		t.Error(err)
	}
}

func TestARenamedInterfaceIsDeletedAndNoOther(t *testing.T) {
	host := weirtest.New(t)
	create(t)
	host.CreateInterface(weir.Container, "net1")
	host.RenameLink(weir.Container, "eth0", "wan0")
	for range 2 {
		if err := iface.DeleteOwn(request, "dummy"); err != nil {
			t.Fatal(err)
		}
		if names := host.LinkNames(weir.Container); !slices.Equal(names, []string{"lo", "net1"}) {
			t.Errorf("%q", names)
		}
	}
}

func TestAnInterfaceThatIsNotThePluginsStays(t *testing.T) {
	host := weirtest.New(t)
	host.CreateInterface(weir.Container, "eth0")
	host.FailNext("link.delete", weir.Denied)
	wasThere, err := iface.Delete(request)
	if err != nil || !wasThere || len(host.Log) != 1 || host.Called("link.delete-all") {
		t.Error(wasThere, err, host.Log)
	}
	host.FailNext("link.delete", weir.Busy)
	if err := iface.DeleteOwn(request, "dummy"); !weir.Is(err, weir.Busy) {
		t.Error(err)
	}
}

func TestWithoutAContainerNothingIsDeleted(t *testing.T) {
	host := weirtest.New(t)
	gone := *request
	gone.HasContainer = false
	if err := iface.DeleteOwn(&gone, "dummy"); err != nil || len(host.Calls) > 0 {
		t.Error(err, host.Calls)
	}
}

func TestAnAttachmentIsCheckedWhole(t *testing.T) {
	host := weirtest.New(t)
	made := create(t)
	if err := iface.Configure(made, &both); err != nil {
		t.Fatal(err)
	}
	result := iface.Result(weir.InterfaceOf(made, request.Sandbox), both, weir.DNSKeys{Domain: "example.com"})
	if len(result.Interfaces) != 1 || result.Interfaces[0].Sandbox != weirtest.Sandbox || result.DNS.Domain != "example.com" {
		t.Errorf("%+v", result)
	}
	attached := *request
	attached.Previous = &result
	check := func() error {
		_, err := weir.CheckAttached(&attached, "dummy")
		return err
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	eth0 := weir.LinkName("eth0")
	down, up := link.Changes{Up: new(false)}, link.Changes{Up: new(true)}
	for name, change := range map[string]func() error{
		"MAC": func() error {
			return link.Update(weir.Container, eth0, link.Changes{MAC: weir.MAC{2, 0, 0, 0, 0, 0xaa}})
		},
		"down": func() error { return link.Update(weir.Container, eth0, down) },
		"route": func() error {
			return route.Delete(weir.Container, route.Route{Destination: netip.MustParsePrefix("::/0")})
		},
		"address":   func() error { return address.Delete(weir.Container, eth0, both.IPs[0].Address) },
		"interface": func() error { return link.Delete(weir.Container, eth0) },
	} {
		host.Arrange(func() {
			if err := change(); err != nil {
				t.Fatal(name, err)
			}
		})
		if err := check(); weir.CodeOf(err) != weir.CodeNotAsAttached {
			t.Errorf("%s: %v", name, err)
		}
		host.Arrange(func() {
			_ = link.Delete(weir.Container, eth0)
			again, err := iface.Create(request, link.NewLink{Kind: link.NewKindDummy{}, MAC: made.MAC})
			if err != nil {
				t.Fatal(err)
			}
			if err := link.Update(weir.Container, eth0, up); err != nil {
				t.Fatal(err)
			}
			if err := iface.Configure(again, &both); err != nil {
				t.Fatal(err)
			}
		})
		if err := check(); err != nil {
			t.Fatal(name, err)
		}
	}
	if _, err := weir.CheckAttached(&attached, "macvlan"); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Error(err)
	}
}

func TestIPv6IsEnabledForItsAddresses(t *testing.T) {
	host := weirtest.New(t)
	host.SetParameter(weir.Container, sysctl.OfLink("ipv6.conf", "default", "disable_ipv6"), "1")
	made := create(t)
	if err := iface.AddAddresses(made, both.IPs[:1]); err != nil || host.Called("sysctl.write") {
		t.Error(err, host.Calls)
	}
	if err := iface.AddAddresses(made, both.IPs[1:]); err != nil {
		t.Fatal(err)
	}
	value, err := sysctl.Read(weir.Container, sysctl.OfLink("ipv6.conf", "eth0", "keep_addr_on_down"))
	if err != nil || value != "1" {
		t.Error(value, err)
	}
}

func TestAnAddressThatIsTakenIsAnErrorAndASlowCheckIsNone(t *testing.T) {
	host := weirtest.New(t)
	made := create(t)
	for code, isError := range map[weir.ErrorCode]bool{weir.Exists: true, weir.TimedOut: false} {
		host.FailNext("address.settle", code)
		if err := iface.Settle(made); (err != nil) != isError {
			t.Errorf("%v: %v", code, err)
		}
	}
	if len(host.Log) != 1 {
		t.Errorf("%+v", host.Log)
	}
}

func TestWhatTheContainerCanDoWithoutIsLogged(t *testing.T) {
	host := weirtest.New(t)
	made := create(t)
	host.FailNext("sysctl.write", weir.Denied)
	iface.SetParameter("eth0", "ipv4.conf", "arp_notify", "1")
	iface.SetParameter("eth0", "ipv4.conf", "arp_notify", "1")
	host.FailNext("neighbour.announce", weir.Failed)
	iface.Announce(made, both.IPs)
	if len(host.Log) != 2 {
		t.Errorf("%+v", host.Log)
	}
	value, err := sysctl.Read(weir.Container, sysctl.OfLink("ipv4.conf", "eth0", "arp_notify"))
	if err != nil || value != "1" {
		t.Error(value, err)
	}
}
