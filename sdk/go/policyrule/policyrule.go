// Package policyrule is the capability `policy-rule`: rules of policy routing, which say what packets look a routing table up.
package policyrule

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"weir.dev/weir/internal/contract"
)

// FromSource makes a rule for the packets that are sent from one address, whose priority the kernel chooses.
func FromSource(source netip.Addr, table uint32) Rule {
	family := contract.IPFamilyIPv4
	if source.Is6() {
		family = contract.IPFamilyIPv6
	}
	return Rule{Family: family, Source: netip.PrefixFrom(source, source.BitLen()), Table: table}
}

// SelectsAs tells whether a rule selects the same packets for the same table as another, whatever their priorities are.
func (rule Rule) SelectsAs(other Rule) bool {
	rule.Priority, other.Priority = nil, nil
	return reflect.DeepEqual(rule, other)
}

// Exists tells whether there is a rule with exactly these selectors and this table, and with the priority if one is given. Grant: verb
// `read`.
func Exists(namespace contract.Namespace, rule Rule) (bool, error) {
	rules, err := List(namespace, &rule.Family)
	return slices.ContainsFunc(rules, func(there Rule) bool {
		hasPriority := rule.Priority == nil || there.Priority != nil && *there.Priority == *rule.Priority
		return hasPriority && there.SelectsAs(rule)
	}), err
}

// String returns the rule as `ip rule` shows it: "rule 7 from 10.1.0.2/32 to 10.9.0.0/16 iif eth0 oif eth1 fwmark 0x1/0xff table 100",
// without what it does not have.
func (rule Rule) String() string {
	words := []string{"rule"}
	if rule.Priority != nil {
		words = append(words, fmt.Sprint(*rule.Priority))
	}
	if rule.Source.IsValid() {
		words = append(words, "from", rule.Source.String())
	}
	if rule.Destination.IsValid() {
		words = append(words, "to", rule.Destination.String())
	}
	if rule.InputLink != nil {
		words = append(words, "iif", *rule.InputLink)
	}
	if rule.OutputLink != nil {
		words = append(words, "oif", *rule.OutputLink)
	}
	if rule.Mark != nil {
		mark := fmt.Sprintf("%#x", *rule.Mark)
		if rule.MarkMask != nil {
			mark += fmt.Sprintf("/%#x", *rule.MarkMask)
		}
		words = append(words, "fwmark", mark)
	}
	return strings.Join(append(words, "table", fmt.Sprint(rule.Table)), " ")
}
