//go:build !wasm

package weirtest

import (
	"math"
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/policyrule"
)

// kernelRules returns the policy rules that every namespace has, for the tables local, main and default.
func kernelRules() (rules []policyrule.Rule) {
	for _, each := range []struct {
		family          weir.IPFamily
		priority, table uint32
	}{
		{weir.IPv4, 0, 255},
		{weir.IPv4, 32766, 254},
		{weir.IPv4, 32767, 253},
		{weir.IPv6, 0, 255},
		{weir.IPv6, 32766, 254},
	} {
		rules = append(rules, policyrule.Rule{Family: each.family, Priority: &each.priority, Table: each.table})
	}
	return rules
}

func addPolicyRule(machine *machine, namespace weir.Namespace, wanted policyrule.Rule) (any, error) {
	network, wanted, err := machine.policyRule(namespace, wanted)
	if err != nil {
		return nil, err
	}
	if wanted.Priority == nil {
		wanted.Priority = new(network.freeRulePriority(wanted.Family))
	}
	// The kernel does not look at networks that the new rule leaves out.
	isRefused := func(there policyrule.Rule) bool {
		if !wanted.Source.IsValid() {
			there.Source = netip.Prefix{}
		}
		if !wanted.Destination.IsValid() {
			there.Destination = netip.Prefix{}
		}
		return there.SelectsAs(wanted) && *there.Priority == *wanted.Priority
	}
	if slices.ContainsFunc(network.policyRules, isRefused) {
		return nil, exists
	}
	isBehind := func(there policyrule.Rule) bool {
		if there.Family != wanted.Family {
			return there.Family == weir.IPv6
		}
		return *there.Priority > *wanted.Priority
	}
	at := slices.IndexFunc(network.policyRules, isBehind)
	if at < 0 {
		at = len(network.policyRules)
	}
	network.policyRules = slices.Insert(network.policyRules, at, wanted)
	return nil, nil
}

// policyRule returns a namespace, and a rule as it is kept there.
func (machine *machine) policyRule(namespace weir.Namespace, rule policyrule.Rule) (*network, policyrule.Rule, error) {
	network, err := machine.network(namespace)
	if err != nil {
		return nil, rule, err
	}
	kept, err := keptRule(rule)
	return network, kept, err
}

// deletePolicyRule removes the first rule with these selectors; what is absent matches any.
func deletePolicyRule(machine *machine, namespace weir.Namespace, rule policyrule.Rule) (any, error) {
	network, rule, err := machine.policyRule(namespace, rule)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(network.policyRules, func(there policyrule.Rule) bool {
		return there.Family == rule.Family && there.Table == rule.Table &&
			isGiven(there.Priority, rule.Priority) &&
			isGiven(there.InputLink, rule.InputLink) && isGiven(there.OutputLink, rule.OutputLink) &&
			isGiven(there.Mark, rule.Mark) && isGiven(there.MarkMask, rule.MarkMask) &&
			(!rule.Source.IsValid() || rule.Source == there.Source) &&
			(!rule.Destination.IsValid() || rule.Destination == there.Destination)
	})
	if at < 0 {
		return nil, noEntry
	}
	network.policyRules = slices.Delete(network.policyRules, at, at+1)
	return nil, nil
}

func listPolicyRules(network *network, family *weir.IPFamily) (any, error) {
	var found []policyrule.Rule
	for _, rule := range network.policyRules {
		if family == nil || *family == rule.Family {
			found = append(found, rule)
		}
	}
	return found, nil
}

// keptRule returns a rule as the kernel keeps it. Errors: invalid.
func keptRule(rule policyrule.Rule) (policyrule.Rule, error) {
	for _, name := range []*string{rule.InputLink, rule.OutputLink} {
		if name != nil {
			if err := checkName(*name); err != nil {
				return rule, err
			}
		}
	}
	for _, selector := range []*netip.Prefix{&rule.Source, &rule.Destination} {
		if !selector.IsValid() {
			continue
		}
		if familyOf(selector.Addr()) != rule.Family || selector.Masked() != *selector {
			return rule, invalid("%v is of the other family, or has bits behind its prefix", *selector)
		}
		if selector.Bits() == 0 {
			*selector = netip.Prefix{}
		}
	}
	switch {
	case rule.Table == 0:
		return rule, invalid("table 0 is not a table")
	case rule.Mark == nil && rule.MarkMask != nil:
		return rule, invalid("a mask is of no use without a mark")
	case rule.Mark != nil && rule.MarkMask == nil:
		rule.MarkMask = new(uint32(math.MaxUint32))
	case rule.Mark != nil && *rule.Mark == 0 && *rule.MarkMask == 0:
		rule.Mark, rule.MarkMask = nil, nil
	}
	return rule, nil
}

// freeRulePriority returns the priority before the second rule of the family.
func (network *network) freeRulePriority(family weir.IPFamily) uint32 {
	count := 0
	for _, rule := range network.policyRules {
		if rule.Family != family {
			continue
		}
		if count++; count == 2 && *rule.Priority > 0 {
			return *rule.Priority - 1
		}
	}
	return 0
}
