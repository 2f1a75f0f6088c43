package lower_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/address"
	"weir.dev/weir/iface"
	"weir.dev/weir/ipam"
	"weir.dev/weir/link"
	"weir.dev/weir/lower"
	"weir.dev/weir/route"
	"weir.dev/weir/sysctl"
	"weir.dev/weir/weirtest"
)

type config struct {
	Master string       `json:"master"`
	MTU    uint32       `json:"mtu"`
	IPAM   ipam.Keys    `json:"ipam"`
	DNS    weir.DNSKeys `json:"dns"`
}

func (config *config) master() lower.Master { return lower.Master{Name: config.Master} }

// macvlan is a main plugin over a master.
var macvlan = ipam.Main(weir.Plugin[config]{
	Name: "over",
	Add:  add,
	Check: func(request *weir.Request[config]) error {
		_, err := lower.Check(request, request.Config.master(), "macvlan")
		return err
	},
}, "macvlan", func(config *config) ipam.Keys { return config.IPAM })

func add(request *weir.Request[config]) (weir.Result, error) {
	under, err := request.Config.master().Find()
	if err != nil {
		return weir.Result{}, err
	}
	kind := link.NewKindMacvlan{Lower: under.Reference(), LowerNamespace: under.Namespace, Mode: link.MacvlanModeBridge}
	made, err := lower.Create(request, under, kind, lower.Settings{MTU: request.Config.MTU})
	if err != nil {
		return weir.Result{}, err
	}
	assigned, err := request.Config.IPAM.Assign(iface.ContainerInterface)
	if err != nil {
		return weir.Result{}, err
	}
	if err := lower.Configure(under, made, &assigned, lower.AnnounceOnce); err != nil {
		return weir.Result{}, err
	}
	return lower.Result(request, made, assigned, request.Config.DNS), nil
}

// node is a host with two interfaces, whose IPAM plugin assigns an address of each family.
func node(t *testing.T) *weirtest.Host {
	host := weirtest.New(t)
	host.CreateInterface(weir.Host, "eth1")
	host.CreateInterface(weir.Host, "eth2")
	host.Assign("10.1.0.2/24", "10.1.0.1")
	host.Assign("fd00::2/64", "fd00::1")
	return host
}

func attachment(keys string) weirtest.Invocation {
	return weirtest.Attachment(`{"type": "over", "ipam": {"type": "host-local"}` + keys + `}`)
}

func TestAnInterfaceOverAMasterIsAttached(t *testing.T) {
	host := node(t)
	invocation := attachment(`, "master": "eth1", "mtu": 1400, "dns": {"domain": "example.com"}`)
	result, attached := weirtest.Attach(host, macvlan, invocation)
	made := weirtest.OnlyInterface(t, result)
	if *made.MTU != 1400 || len(result.IPs) != 2 || result.DNS.Domain != "example.com" {
		t.Errorf("%+v", result)
	}
	if !slices.Contains(host.Changes(), "sysctl.write container net.ipv4.conf.eth0.arp_notify 1") {
		t.Errorf("%q", host.Changes())
	}
	for _, key := range []string{sysctl.OfLink("ipv4.conf", "eth0", "arp_notify"), sysctl.OfLink("ipv6.conf", "eth0", "ndisc_notify")} {
		if value, err := sysctl.Read(weir.Container, key); err != nil || value != "0" {
			t.Errorf("%s: %s, %v", key, value, err)
		}
	}
	other := attachment(`, "master": "eth2"`).After(result)
	err := weirtest.Check(host, macvlan, other)
	if weir.CodeOf(err) != weir.CodeNotAsAttached || !strings.Contains(err.Error(), "not over master `eth2`") {
		t.Error(err)
	}
	weirtest.AssertDetaches(host, macvlan, attached)
}

func TestAnMTUAboveTheMastersIsRefused(t *testing.T) {
	host := node(t)
	large := attachment(`, "master": "eth1", "mtu": 1501`)
	const message = "mtu: expected 0 to 1500, the MTU of master `eth1`, found 1501"
	weirtest.AssertRefuses(host, macvlan, large, weir.CodeInvalidConfig, message)
}

func TestAnAddressThatIsInUseFailsADD(t *testing.T) {
	host := node(t)
	host.FailNext("address.settle", weir.Exists)
	_, err := weirtest.Add(host, macvlan, attachment(`, "master": "eth1"`))
	if weir.CodeOf(err) != weir.CodeExists || len(host.LinkNames(weir.Container)) != 1 {
		t.Error(err, host.LinkNames(weir.Container))
	}
}

func TestWithoutANameTheMasterIsTheInterfaceOfTheDefaultRoute(t *testing.T) {
	node(t)
	if _, err := (lower.Master{}).Find(); weir.CodeOf(err) != weir.CodeNotFound {
		t.Error(err)
	}
	leads := func(to, gateway string, name string) {
		over := weir.LinkName(name)
		own := netip.PrefixFrom(netip.MustParseAddr(gateway).Next(), 24)
		if err := address.Add(weir.Host, over, address.NewAddress{Address: own}); err != nil {
			t.Fatal(err)
		}
		made := route.Route{Destination: netip.MustParsePrefix(to), Gateway: netip.MustParseAddr(gateway), Link: over}
		if err := route.Add(weir.Host, made); err != nil {
			t.Fatal(err)
		}
	}
	for _, each := range []struct{ to, gateway, name string }{
		{"::/0", "fd05::1", "eth2"},
		{"0.0.0.0/0", "192.0.2.1", "eth1"},
	} {
		leads(each.to, each.gateway, each.name)
		found, err := (lower.Master{}).Find()
		if err != nil || found.Link.Name != each.name || found.Namespace != weir.Host {
			t.Errorf("%+v, %v", found, err)
		}
	}
}

func TestAMasterInTheOtherNamespaceIsPointedOut(t *testing.T) {
	host := node(t)
	host.CreateInterface(weir.Container, "net1")
	for _, each := range []struct {
		master  lower.Master
		details string
	}{
		{lower.Master{Name: "net1"}, "there is one in the container: set `linkInContainer` to true to use that"},
		{lower.Master{Name: "eth1", InContainer: true}, "there is one on the host: remove `linkInContainer` to use that"},
		{lower.Master{Name: "eth9"}, "name an interface that exists when the container is attached"},
	} {
		_, err := each.master.Find()
		failed, is := err.(weir.Error)
		if !is || failed.Code != weir.CodeNotFound || failed.Details != each.details {
			t.Errorf("%+v: %+v", each.master, err)
		}
	}
	found, err := (lower.Master{Name: "net1", InContainer: true}).Find()
	if err != nil || found.Namespace != weir.Container {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestANameThatNoInterfaceHasIsRefused(t *testing.T) {
	for name, isValid := range map[string]bool{"": true, "eth0.7": true, "a/b": false, "a b": false, "..": false, "sixteen-letters-": false} {
		err := (lower.Master{Name: name}).Validate()
		if (err == nil) != isValid || err != nil && weir.CodeOf(err) != weir.CodeInvalidConfig {
			t.Errorf("%q: %v", name, err)
		}
	}
}
