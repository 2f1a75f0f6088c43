package firewall_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
)

func TestARuleIsBuiltOfItsParts(t *testing.T) {
	subnet := netip.MustParsePrefix("10.1.0.0/16")
	base := firewall.NewRule("own").When(firewall.Within(firewall.FieldIPv4Source, subnet))
	one := base.When(firewall.NotInSet("local", firewall.FieldIPv4Source, firewall.FieldIPv4Destination)).
		Then(firewall.Masquerade()).
		KnownAs("pods")
	other := base.When(firewall.Equals(firewall.FieldTransportProtocol, firewall.ValueNumber(6))).
		Then(firewall.SetMark(0xff, 7), firewall.StatementAccept{})
	expected := firewall.Rule{
		Chain: "own",
		Conditions: []firewall.Condition{
			firewall.ConditionWithin{Field: firewall.FieldIPv4Source, Network: subnet},
			firewall.ConditionInSet{
				Fields: []firewall.Field{firewall.FieldIPv4Source, firewall.FieldIPv4Destination}, Set: "local", Negate: true,
			},
		},
		Statements: []firewall.Statement{firewall.StatementMasquerade(0)},
		Comment:    new("pods"),
	}
	if !reflect.DeepEqual(one, expected) {
		t.Errorf("%+v", one)
	}
	if len(base.Conditions) != 1 || len(other.Conditions) != 2 || len(other.Statements) != 2 || other.Comment != nil {
		t.Errorf("%+v, %+v", base, other)
	}
}

func TestATranslationByAMapIsOfOneFamily(t *testing.T) {
	for family, isIPv6 := range map[weir.IPFamily]bool{weir.IPv4: false, weir.IPv6: true} {
		statement := firewall.DNATFromMap("ports", family, firewall.FieldDestinationPort).(firewall.StatementDnat)
		target := statement.Target.(firewall.NATTargetFromMap)
		if target.IPv6 != isIPv6 || !target.WithPort || target.Lookup.Map != "ports" || len(target.Lookup.Fields) != 1 {
			t.Errorf("%+v", target)
		}
	}
}

func TestSetsAndElementsHaveWhatTheirKindNeeds(t *testing.T) {
	port, address := firewall.DataTypePort, firewall.DataTypeIPv4Address
	if set := firewall.NewRanges("r", address); !set.Interval || len(set.Data) > 0 {
		t.Errorf("%+v", set)
	}
	if set := firewall.NewMap("m", []firewall.DataType{port}, address, port); set.Interval || len(set.Key) != 1 || len(set.Data) != 2 {
		t.Errorf("%+v", set)
	}
	if set := firewall.NewVerdictMap("v", port); !reflect.DeepEqual(set.Data, []firewall.DataType{firewall.DataTypeVerdict}) {
		t.Errorf("%+v", set)
	}
	element := firewall.NewElement(firewall.ValueNumber(80)).WithVerdict(firewall.VerdictDrop{}).WithComment("mine")
	if element.Data != firewall.ElementData(firewall.ElementDataVerdict{Verdict: firewall.VerdictDrop{}}) || *element.Comment != "mine" {
		t.Errorf("%+v", element)
	}
	if plain := firewall.NewElement(firewall.ValueNumber(80)); plain.Data != firewall.ElementData(firewall.ElementDataNone{}) {
		t.Errorf("%+v", plain)
	}
	if hooked := firewall.HookedChain("c", firewall.ChainTypeNAT, firewall.HookPostrouting, 100); hooked.Base.Priority != 100 ||
		hooked.Base.Hook != firewall.HookPostrouting || hooked.Base.Policy != firewall.PolicyAccept {
		t.Errorf("%+v", hooked)
	}
}

func TestValuesAreWrittenAsInNft(t *testing.T) {
	values := []firewall.Value{
		firewall.ValueNumber(80),
		firewall.ValueAddress(netip.MustParseAddr("fd00::1")),
		firewall.ValueName("eth0"),
		firewall.ValueMAC{2, 0, 0, 0, 0, 0xaa},
	}
	if text := fmt.Sprint(values); text != `[80 fd00::1 "eth0" 02:00:00:00:00:aa]` {
		t.Error(text)
	}
}
