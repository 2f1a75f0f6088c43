package main

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
	"weir.dev/weir/neighbour"
	"weir.dev/weir/policyrule"
	"weir.dev/weir/store"
	"weir.dev/weir/traffic"
)

// contract makes things of several capabilities, and finds them again as they were made.
func contract(request *weir.Request[Config]) (string, error) {
	for _, makes := range []func(weir.LinkReference) error{neighbours, policyRules, disciplines, tables, leases} {
		if err := makes(weir.LinkName(request.Ifname)); err != nil {
			return "", err
		}
	}
	return "all as it was made", nil
}

// among fails unless a value is in a list.
func among[T any](made T, found []T, err error) error {
	isMade := func(one T) bool { return reflect.DeepEqual(one, made) }
	if err == nil && !slices.ContainsFunc(found, isMade) {
		return fmt.Errorf("%+v is not in %+v", made, found)
	}
	return err
}

func neighbours(link weir.LinkReference) error {
	made := neighbour.Neighbour{
		Address: netip.MustParseAddr("fd00:1:2::3"),
		MAC:     weir.MAC{2, 0, 0, 0, 0, 9},
		State:   neighbour.StatePermanent,
	}
	if err := neighbour.Add(weir.Container, link, made); err != nil {
		return err
	}
	found, err := neighbour.List(weir.Container, link, new(weir.IPv6))
	return among(made, found, err)
}

func policyRules(link weir.LinkReference) error {
	made := policyrule.Rule{
		Family:    weir.IPv4,
		Priority:  new(uint32(321)),
		Source:    netip.MustParsePrefix("10.9.8.0/24"),
		InputLink: &link.Name,
		Mark:      new(uint32(6)),
		MarkMask:  new(uint32(0xff)),
		Table:     4_000_000_000,
	}
	if err := policyrule.Add(weir.Container, made); err != nil {
		return err
	}
	found, err := policyrule.List(weir.Container, nil)
	return among(made, found, err)
}

func disciplines(link weir.LinkReference) error {
	const handle, root = 0x10000, 0xffffffff
	made := traffic.Qdisc{
		Handle:     handle,
		Parent:     root,
		Discipline: traffic.DisciplineTBF{Rate: 1_000_000, Burst: 10_000, Latency: 20_000},
	}
	if err := traffic.AddQdisc(weir.Container, link, made); err != nil {
		return err
	}
	found, err := traffic.ListQdiscs(weir.Container, link)
	return among(made, found, err)
}

func tables(link weir.LinkReference) error {
	key := []firewall.Value{firewall.ValueAddress(netip.MustParseAddr("10.9.8.7")), firewall.ValueName(link.Name)}
	element := firewall.Element{Key: key, Data: firewall.ElementDataVerdict{Verdict: firewall.VerdictJump("other")}, Comment: new("why")}
	chain := firewall.Chain{Name: "in", Base: &firewall.BaseChain{
		ChainType: firewall.ChainTypeFilter,
		Hook:      firewall.HookInput,
		Priority:  -5,
		Policy:    firewall.PolicyAccept,
	}}
	fields := []firewall.Field{firewall.FieldIPv4Source, firewall.FieldInputLinkName}
	err := firewall.Apply(weir.Container, firewall.FamilyIP, []firewall.Command{
		firewall.CommandAddChain{Name: "other"},
		firewall.CommandAddChain(chain),
		firewall.CommandAddSet{
			Name: "verdicts",
			Key:  []firewall.DataType{firewall.DataTypeIPv4Address, firewall.DataTypeLinkName},
			Data: []firewall.DataType{firewall.DataTypeVerdict},
		},
		firewall.CommandAddElements{Set: "verdicts", Elements: []firewall.Element{element}},
		firewall.CommandAppendRule{
			Chain: "in",
			Conditions: []firewall.Condition{
				firewall.ConditionEquals{Field: firewall.FieldMark, Value: firewall.ValueNumber(7), Negate: true},
				firewall.ConditionWithin{Field: firewall.FieldIPv4Source, Network: netip.MustParsePrefix("10.0.0.0/8")},
			},
			Statements: []firewall.Statement{
				firewall.StatementCounter{},
				firewall.StatementVerdictMap{Fields: fields, Map: "verdicts"},
			},
			Comment: new("the rule"),
		},
	})
	if err != nil {
		return err
	}
	chains, err := firewall.ListChains(weir.Container, firewall.FamilyIP)
	if err := among(chain, chains, err); err != nil {
		return err
	}
	one, err := firewall.GetElement(weir.Container, firewall.FamilyIP, "verdicts", key)
	if err := among(&element, []*firewall.Element{one}, err); err != nil {
		return err
	}
	rules, err := firewall.ListRules(weir.Container, firewall.FamilyIP, "in")
	if err != nil || len(rules) != 1 || *rules[0].Comment != "the rule" || rules[0].Handle == nil {
		return fmt.Errorf("%w: %+v", err, rules)
	}
	return nil
}

func leases(weir.LinkReference) error {
	transaction, err := store.Open(store.LocationPrivate{}, store.AccessWrite)
	if err != nil {
		return err
	}
	defer transaction.Close()
	if err := transaction.Put("a", []byte("one")); err != nil {
		return err
	}
	claimed, err := transaction.Claim([]string{"a", "b"}, []byte("two"))
	if err != nil || claimed == nil || *claimed != "b" {
		return fmt.Errorf("claimed %v: %w", claimed, err)
	}
	if none, err := transaction.Claim([]string{"a", "b"}, nil); err != nil || none != nil {
		return fmt.Errorf("claimed %v: %w", none, err)
	}
	value, err := transaction.Get("b")
	if err := among("two", []string{string(value)}, err); err != nil {
		return err
	}
	if _, err := transaction.Get("c"); !weir.Is(err, weir.NotFound) {
		return fmt.Errorf("found c: %w", err)
	}
	keys, err := transaction.Find([]byte("one"))
	return among("a", keys, err)
}
