package weirtest

import (
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/address"
	"weir.dev/weir/link"
	"weir.dev/weir/route"
	"weir.dev/weir/sysctl"
)

var (
	prefix = netip.MustParsePrefix
	addr   = netip.MustParseAddr
	eth0   = weir.LinkName("eth0")
	veth0  = weir.LinkName("veth0")
)

// failed fails the test unless an operation failed for this reason.
func failed(t *testing.T, err error, code weir.ErrorCode) {
	t.Helper()
	if !weir.Is(err, code) {
		t.Errorf("expected %v, found %v", code, err)
	}
}

func succeeded(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func connected(t *testing.T) *Host {
	host := New(t)
	host.CreatePair("veth0", "eth0")
	return host
}

func TestAPairComesAndGoesTogether(t *testing.T) {
	host := connected(t)
	inContainer, err := link.Get(weir.Container, eth0)
	succeeded(t, err)
	peer, err := link.GetPeer(weir.Container, eth0)
	succeeded(t, err)
	end, err := link.Get(weir.Host, weir.LinkIndex(peer.Index))
	if err != nil || end.Name != "veth0" || *end.Lower != inContainer.Index || inContainer.OperState != link.OperStateUp {
		t.Errorf("%+v, %+v, %v", inContainer, end, err)
	}
	succeeded(t, link.Update(weir.Host, veth0, link.Changes{Up: new(false)}))
	failed(t, link.WaitUp(weir.Container, eth0, 10), weir.TimedOut)
	succeeded(t, link.Delete(weir.Host, veth0))
	if names := host.LinkNames(weir.Container); !slices.Equal(names, []string{"lo"}) {
		t.Errorf("%q", names)
	}
}

func TestANameIsTakenOnce(t *testing.T) {
	host := connected(t)
	_, err := link.Create(link.NewLink{Namespace: weir.Container, Name: "eth0", Kind: link.NewKindDummy{}})
	failed(t, err, weir.Exists)
	peer := link.NewKindVeth{Namespace: weir.Container, Name: "eth0"}
	_, err = link.Create(link.NewLink{Namespace: weir.Host, Name: "veth1", Kind: peer})
	failed(t, err, weir.Exists)
	if names := host.LinkNames(weir.Host); slices.Contains(names, "veth1") {
		t.Errorf("half a pair is there: %q", names)
	}
	made, err := link.Create(link.NewLink{Namespace: weir.Host, Kind: link.NewKindVeth{Namespace: weir.Container, Name: "eth1"}})
	if err != nil || made.Name != "veth1" {
		t.Errorf("%+v, %v", made, err)
	}
}

func TestLinksOverADeviceGoWithIt(t *testing.T) {
	host := New(t)
	host.CreateInterface(weir.Host, "eth1")
	lower := weir.LinkName("eth1")
	for name, kind := range map[string]link.NewKind{
		"mac": link.NewKindMacvlan{Lower: lower, Mode: link.MacvlanModeBridge},
		"vl7": link.NewKindVLAN{Lower: lower, ID: 7},
	} {
		_, err := link.Create(link.NewLink{Namespace: weir.Container, Name: name, Kind: kind})
		succeeded(t, err)
	}
	_, err := link.Create(link.NewLink{Namespace: weir.Container, Name: "again", Kind: link.NewKindVLAN{Lower: lower, ID: 7}})
	failed(t, err, weir.Exists)
	found, err := link.List(weir.Container, new("macvlan"), nil)
	if err != nil || len(found) != 1 || found[0].Details != link.DetailsMacvlan(link.MacvlanModeBridge) {
		t.Errorf("%+v, %v", found, err)
	}
	succeeded(t, link.Delete(weir.Host, lower))
	if names := host.LinkNames(weir.Container); !slices.Equal(names, []string{"lo"}) {
		t.Errorf("%q", names)
	}
}

func TestAPortOfABridge(t *testing.T) {
	connected(t)
	bridge, err := link.Create(link.NewLink{Namespace: weir.Host, Name: "br0", Kind: link.NewKindBridge{}, Up: true})
	succeeded(t, err)
	failed(t, link.UpdatePort(weir.Host, veth0, link.PortChanges{Hairpin: new(true)}), weir.Invalid)
	master := link.NewMaster(link.NewMasterLink(weir.LinkName("br0")))
	succeeded(t, link.Update(weir.Host, veth0, link.Changes{Master: &master, MTU: new(uint32(1400))}))
	succeeded(t, link.UpdatePort(weir.Host, veth0, link.PortChanges{Hairpin: new(true)}))
	ports, err := link.List(weir.Host, nil, &bridge.Index)
	if err != nil || len(ports) != 1 || !ports[0].Port.Hairpin {
		t.Errorf("%+v, %v", ports, err)
	}
	if bridge, err = link.Get(weir.Host, weir.LinkName("br0")); err != nil || bridge.MTU != 1400 || bridge.OperState != link.OperStateUp {
		t.Errorf("%+v, %v", bridge, err)
	}
	failed(t, link.Update(weir.Host, weir.LinkName("lo"), link.Changes{Master: &master}), weir.Invalid)
}

func TestALinkMovesWithoutItsAddresses(t *testing.T) {
	host := connected(t)
	host.CreateInterface(weir.Host, "eth1")
	succeeded(t, address.Add(weir.Host, weir.LinkName("eth1"), address.NewAddress{Address: prefix("10.3.0.1/24")}))
	moved, err := link.Move(weir.Host, weir.LinkName("eth1"), weir.Container, new("net1"))
	if err != nil || moved.Name != "net1" || moved.Up {
		t.Errorf("%+v, %v", moved, err)
	}
	if left, err := address.List(weir.Container, weir.LinkName("net1"), nil); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	_, err = link.Move(weir.Container, weir.LinkName("lo"), weir.Host, new("lo1"))
	failed(t, err, weir.Invalid)
}

func TestAnAddressBringsItsNetwork(t *testing.T) {
	connected(t)
	own := address.NewAddress{Address: prefix("10.1.0.2/24")}
	succeeded(t, address.Add(weir.Container, eth0, own))
	failed(t, address.Add(weir.Container, eth0, own), weir.Exists)
	exists, err := route.Exists(weir.Container, route.Route{Destination: prefix("10.1.0.0/24"), Link: eth0})
	if err != nil || !exists {
		t.Error(exists, err)
	}
	found, err := route.Get(weir.Container, addr("10.1.0.9"))
	if err != nil || found.Source != addr("10.1.0.2") {
		t.Errorf("%+v, %v", found, err)
	}
	_, err = route.Get(weir.Container, addr("192.0.2.1"))
	failed(t, err, weir.NotFound)
	succeeded(t, address.Delete(weir.Container, eth0, own.Address))
	if left, err := route.List(weir.Container, route.Filter{}); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func TestIPv6CanBeDisabled(t *testing.T) {
	connected(t)
	own := address.NewAddress{Address: prefix("fd00::2/64")}
	succeeded(t, address.Add(weir.Container, eth0, own))
	key := sysctl.OfLink("ipv6.conf", "eth0", "disable_ipv6")
	succeeded(t, sysctl.Write(weir.Container, key, "1"))
	if left, err := address.List(weir.Container, eth0, nil); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	failed(t, address.Add(weir.Container, eth0, own), weir.Failed)
}

func TestAGatewayIsANeighbour(t *testing.T) {
	connected(t)
	leading := route.Route{Destination: prefix("0.0.0.0/0"), Gateway: addr("10.1.0.1"), Link: eth0}
	failed(t, route.Add(weir.Container, leading), weir.Invalid)
	onLink := leading
	onLink.OnLink = true
	succeeded(t, route.Add(weir.Container, onLink))
	succeeded(t, route.Delete(weir.Container, leading))
	failed(t, route.Delete(weir.Container, leading), weir.NotFound)
	succeeded(t, address.Add(weir.Container, eth0, address.NewAddress{Address: prefix("10.1.0.2/24")}))
	succeeded(t, route.Add(weir.Container, leading))
	failed(t, route.Add(weir.Container, leading), weir.Exists)
	succeeded(t, link.Update(weir.Container, eth0, link.Changes{Up: new(false)}))
	failed(t, route.Add(weir.Container, leading), weir.Failed)
	if left, err := route.List(weir.Container, route.Filter{Table: new(route.MainTable)}); err != nil || len(left) > 0 {
		t.Errorf("the link is down, and has %v, %v", left, err)
	}
}

func TestARouteIsReplaced(t *testing.T) {
	connected(t)
	leading := route.Route{Destination: prefix("192.0.2.0/24"), Link: veth0}
	succeeded(t, route.Add(weir.Host, leading))
	leading.MTU = new(uint32(1400))
	failed(t, route.Add(weir.Host, leading), weir.Exists)
	succeeded(t, route.Replace(weir.Host, leading))
	found, err := route.List(weir.Host, route.Filter{})
	if err != nil || len(found) != 1 || *found[0].MTU != 1400 || *found[0].Scope != route.ScopeLink {
		t.Errorf("%+v, %v", found, err)
	}
}
