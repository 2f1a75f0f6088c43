package weirtest

import (
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/address"
	"weir.dev/weir/conntrack"
	"weir.dev/weir/firewall"
	"weir.dev/weir/link"
	"weir.dev/weir/neighbour"
	"weir.dev/weir/route"
	"weir.dev/weir/store"
	"weir.dev/weir/sysctl"
	"weir.dev/weir/traffic"
)

var (
	prefix = netip.MustParsePrefix
	addr   = netip.MustParseAddr
	eth0   = weir.LinkName("eth0")
	veth0  = weir.LinkName("veth0")
)

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

func TestAStoreForgetsWhatIsNotCommitted(t *testing.T) {
	New(t)
	opened, err := store.Open(store.LocationPrivate{}, store.AccessWrite)
	succeeded(t, err)
	succeeded(t, opened.Put("kept", []byte("value")))
	succeeded(t, opened.Commit())
	claimed, err := opened.Claim([]string{"kept", "left"}, []byte("value"))
	if err != nil || *claimed != "left" {
		t.Error(claimed, err)
	}
	_, err = store.Open(store.LocationPrivate{}, store.AccessRead)
	failed(t, err, weir.Busy)
	opened.Close()

	opened, err = store.Open(store.LocationPrivate{}, store.AccessRead)
	succeeded(t, err)
	if found, err := opened.Find([]byte("value")); err != nil || !slices.Equal(found, []string{"kept"}) {
		t.Error(found, err)
	}
	_, err = opened.Get("left")
	failed(t, err, weir.NotFound)
	failed(t, opened.Put("kept", nil), weir.Invalid)
	_, err = store.Open(store.LocationDirectory("leases"), store.AccessRead)
	failed(t, err, weir.Invalid)
}

func TestAFileIsRead(t *testing.T) {
	host := New(t)
	host.PutFile("/etc/resolv.conf", []byte("search example"))
	content, err := store.ReadFile("/etc/resolv.conf")
	if err != nil || string(content) != "search example" {
		t.Error(content, err)
	}
	_, err = store.ReadFile("/etc/hosts")
	failed(t, err, weir.NotFound)
}

func TestNeighboursAreKept(t *testing.T) {
	connected(t)
	entry := neighbour.Neighbour{Address: addr("10.1.0.9"), Proxy: true, MAC: weir.MAC{2, 0, 0, 0, 0, 9}}
	succeeded(t, neighbour.Add(weir.Container, eth0, entry))
	found, err := neighbour.List(weir.Container, eth0, new(weir.IPv4))
	if err != nil || len(found) != 1 || found[0].State != neighbour.StatePermanent || found[0].MAC != nil {
		t.Errorf("%+v, %v", found, err)
	}
	succeeded(t, neighbour.Delete(weir.Container, eth0, entry.Address))
	failed(t, neighbour.Delete(weir.Container, eth0, entry.Address), weir.NotFound)
	failed(t, neighbour.Announce(weir.Container, eth0, []netip.Addr{entry.Address}), weir.Invalid)
	succeeded(t, conntrack.Delete(weir.Host, conntrack.Filter{}))
}

func TestATransactionIsCarriedOutWhollyOrNotAtAll(t *testing.T) {
	New(t)
	commented := func(comment string) firewall.Rule { return firewall.Rule{Chain: "forward", Comment: &comment} }
	element := firewall.Element{Key: []firewall.Value{firewall.ValueNumber(80)}, Data: firewall.ElementDataNone{}}
	ports := firewall.Elements{Set: "ports", Elements: []firewall.Element{element}}
	apply := func(commands ...firewall.Command) error {
		return firewall.Apply(weir.Host, firewall.FamilyInet, commands)
	}
	succeeded(t, apply(
		firewall.CommandAddChain{Name: "forward"},
		firewall.CommandKeepRules{commented("first"), commented("last")},
		firewall.CommandAddSet{Name: "ports", Key: []firewall.DataType{firewall.DataTypePort}},
		firewall.CommandCreateElements(ports),
	))
	failed(t, apply(firewall.CommandAddChain{Name: "other"}, firewall.CommandCreateElements(ports)), weir.Exists)
	succeeded(t, apply(firewall.CommandKeepRules{commented("first"), commented("second"), commented("last")}))
	rules, err := firewall.ListRules(weir.Host, firewall.FamilyInet, "forward")
	if err != nil || len(rules) != 3 || *rules[1].Comment != "second" {
		t.Errorf("%+v, %v", rules, err)
	}
	chains, err := firewall.ListChains(weir.Host, firewall.FamilyInet)
	if err != nil || len(chains) != 1 {
		t.Errorf("%+v, %v", chains, err)
	}
	if found, err := firewall.GetElement(weir.Host, firewall.FamilyInet, "ports", element.Key); err != nil || found == nil {
		t.Error(found, err)
	}
	succeeded(t, apply(firewall.CommandDeleteElements(ports)))
	failed(t, apply(firewall.CommandDeleteElements(ports)), weir.NotFound)
	succeeded(t, apply(firewall.CommandDeleteTable{}))
	_, err = firewall.ListElements(weir.Host, firewall.FamilyInet, "ports")
	failed(t, err, weir.NotFound)
}

func TestAChainThatIsJumpedToStays(t *testing.T) {
	New(t)
	jump := firewall.Rule{Chain: "forward", Statements: []firewall.Statement{firewall.StatementJump("own")}}
	apply := func(commands ...firewall.Command) error {
		return firewall.Apply(weir.Host, firewall.FamilyIP, commands)
	}
	failed(t, apply(firewall.CommandAddChain{Name: "forward"}, firewall.CommandAppendRule(jump)), weir.NotFound)
	succeeded(t, apply(
		firewall.CommandAddChain{Name: "forward"}, firewall.CommandAddChain{Name: "own"}, firewall.CommandAppendRule(jump)))
	failed(t, apply(firewall.CommandDeleteChain("own")), weir.Busy)
	succeeded(t, apply(firewall.CommandFlushChain("forward"), firewall.CommandDeleteChain("own")))
}

func TestTrafficIsShapedByClasses(t *testing.T) {
	host := connected(t)
	host.CreateInterface(weir.Host, "ifb0")
	class := traffic.NewClass(traffic.Handle(1, 7), 1000, 100)
	failed(t, traffic.AddClass(weir.Host, veth0, class), weir.NotFound)
	succeeded(t, traffic.AddQdisc(weir.Host, veth0, traffic.HTB(7)))
	failed(t, traffic.AddQdisc(weir.Host, veth0, traffic.TBF(traffic.TokenBucket{Rate: 1, Burst: 1})), weir.Exists)
	succeeded(t, traffic.AddClass(weir.Host, veth0, class))
	succeeded(t, traffic.AddFilter(weir.Host, veth0, traffic.Classify(class.Handle)))
	succeeded(t, traffic.AddQdisc(weir.Host, veth0, traffic.IngressQdisc()))
	succeeded(t, traffic.AddFilter(weir.Host, veth0, traffic.Redirect(traffic.Ingress, weir.LinkName("ifb0"))))
	redirects, err := traffic.ListFilters(weir.Host, veth0, traffic.Ingress)
	if err != nil || len(redirects) != 1 || redirects[0].Action.(traffic.ActionRedirect).Index == 0 {
		t.Errorf("%+v, %v", redirects, err)
	}
	succeeded(t, traffic.DeleteQdisc(weir.Host, veth0, traffic.Root))
	failed(t, traffic.DeleteQdisc(weir.Host, veth0, traffic.Root), weir.NotFound)
	if classes, err := traffic.ListClasses(weir.Host, veth0); err != nil || len(classes) > 0 {
		t.Error(classes, err)
	}
	if qdiscs, err := traffic.ListQdiscs(weir.Host, veth0); err != nil || len(qdiscs) != 1 || qdiscs[0].Handle != traffic.Ingress {
		t.Error(qdiscs, err)
	}
}
