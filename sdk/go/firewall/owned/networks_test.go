package owned_test

import (
	"net/netip"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
	"weir.dev/weir/firewall/owned"
	"weir.dev/weir/weirtest"
)

const set = "local"

// table has the set of networks, of IPv4.
func table(t *testing.T) *weirtest.Host {
	host := weirtest.New(t)
	apply(t, firewall.CommandAddSet(owned.NetworkSet(set, firewall.DataTypeIPv4Address)))
	return host
}

func apply(t *testing.T, commands ...firewall.Command) {
	t.Helper()
	if err := firewall.Apply(weir.Host, firewall.FamilyInet, commands); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, network string) bool {
	t.Helper()
	has, err := owned.HasNetwork(firewall.FamilyInet, set, netip.MustParsePrefix(network))
	if err != nil {
		t.Fatal(err)
	}
	return has
}

func TestANetworkIsAddedWhole(t *testing.T) {
	table(t)
	apply(t, owned.AddingNetwork(set, netip.MustParsePrefix("10.1.2.3/16")))
	found, err := firewall.ListElements(weir.Host, firewall.FamilyInet, set)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	first, last := firewall.ValueAddress(netip.MustParseAddr("10.1.0.0")), firewall.ValueAddress(netip.MustParseAddr("10.1.255.255"))
	if element := found[0]; element.Key[0] != first || element.Key[1] != first || element.KeyEnd[0] != last || element.KeyEnd[1] != last {
		t.Errorf("%+v", element)
	}
	if !has(t, "10.1.9.9/16") || has(t, "10.2.0.0/16") || has(t, "10.1.0.0/15") {
		t.Error("the networks of the set are others")
	}
}

func TestOfNetworksThatLieInEachOtherTheLargestStays(t *testing.T) {
	table(t)
	for _, each := range []struct {
		network  string
		commands int
	}{
		{"10.1.2.0/24", 1},
		{"10.1.3.0/24", 1},
		{"10.1.0.0/16", 3},
		{"10.1.3.0/24", 0},
		{"10.2.0.0/16", 1},
	} {
		commands, err := owned.ReplacingNetwork(firewall.FamilyInet, set, netip.MustParsePrefix(each.network))
		if err != nil || len(commands) != each.commands {
			t.Errorf("%s: %v, %v", each.network, commands, err)
		}
		apply(t, commands...)
	}
	if found, err := firewall.ListElements(weir.Host, firewall.FamilyInet, set); err != nil || len(found) != 2 {
		t.Error(found, err)
	}
}

func TestElementsThatAreGoneDoNotKeepOthers(t *testing.T) {
	host := table(t)
	apply(t, firewall.CommandAddSet(firewall.NewSet("ports", firewall.DataTypePort)))
	port := func(number uint32) owned.Found {
		return owned.Found{Set: "ports", Element: firewall.NewElement(firewall.ValueNumber(number))}
	}
	apply(t, port(80).Creation())
	if err := owned.Delete(firewall.FamilyInet, []owned.Found{port(443), port(80)}); err != nil {
		t.Error(err)
	}
	if left, err := firewall.ListElements(weir.Host, firewall.FamilyInet, "ports"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	host.FailNext("firewall.apply", weir.Denied)
	if err := owned.Delete(firewall.FamilyInet, []owned.Found{port(80)}); !weir.Is(err, weir.Denied) {
		t.Error(err)
	}
}

func TestSetsThatWereJustRemovedAreMadeAgain(t *testing.T) {
	host := weirtest.New(t)
	shared := &owned.Shared{
		Family: firewall.FamilyInet,
		Chains: []firewall.Chain{firewall.RegularChain("own")},
		Sets:   []firewall.Set{firewall.NewSet("ports", firewall.DataTypePort)},
		Rules:  []firewall.Rule{firewall.NewRule("own").KnownAs("ports").Then(firewall.StatementDrop{})},
	}
	never := func() ([]firewall.Command, error) { t.Error("nothing is in the way"); return nil, nil }
	element := owned.Found{Set: "ports", Element: firewall.NewElement(firewall.ValueNumber(80))}
	host.FailNext("firewall.apply", weir.NotFound)
	if err := owned.Add(shared, []firewall.Command{element.Creation()}, never); err != nil {
		t.Error(err)
	}
	if found, err := firewall.GetElement(weir.Host, firewall.FamilyInet, "ports", element.Element.Key); err != nil || found == nil {
		t.Error(found, err)
	}
}
