// Package firewall is the capability `firewall`: packet filtering and address translation in the plugin's own nftables tables.
//
//	rule := firewall.NewRule("masquerade").
//		When(firewall.NotWithin(firewall.FieldIPv4Destination, subnet)).
//		Then(firewall.Masquerade())
//	err := firewall.Apply(weir.Host, firewall.FamilyInet, []firewall.Command{firewall.CommandAppendRule(rule)})
//
// The package owned keeps elements of sets that belong to attachments.
package firewall

import (
	"net/netip"
	"slices"
	"strconv"

	"weir.dev/weir/internal/contract"
)

// CommentMax is the longest comment of a rule or element, in bytes.
const CommentMax = 128

// String returns the number.
func (value ValueNumber) String() string { return strconv.FormatUint(uint64(value), 10) }

// String returns the address.
func (value ValueAddress) String() string { return netip.Addr(value).String() }

// String returns the name in quotes, as nft writes it.
func (value ValueName) String() string { return strconv.Quote(string(value)) }

// String returns the address.
func (value ValueMAC) String() string { return contract.MAC(value).String() }

// RegularChain makes a chain that is reached by `jump` and `goto` only.
func RegularChain(name string) Chain {
	return Chain{Name: name}
}

// HookedChain makes a chain that the kernel calls at a hook, with the policy `accept`. A lower priority is earlier: dstnat is -100, filter
// 0, srcnat 100.
func HookedChain(name string, of ChainType, hook Hook, priority int32) Chain {
	return Chain{Name: name, Base: &BaseChain{ChainType: of, Hook: hook, Priority: priority, Policy: PolicyAccept}}
}

// Equals requires that the field equals the value.
func Equals(field Field, value Value) Condition {
	return ConditionEquals{Field: field, Value: value}
}

// Within requires that the address is in the network.
func Within(field Field, network netip.Prefix) Condition {
	return ConditionWithin{Field: field, Network: network}
}

// NotWithin requires that the address is not in the network.
func NotWithin(field Field, network netip.Prefix) Condition {
	return ConditionWithin{Field: field, Network: network, Negate: true}
}

// Masked requires that `field & mask` equals the value.
func Masked(field Field, mask, value uint32) Condition {
	return ConditionMasked{Field: field, Mask: mask, Value: value}
}

// InSet requires that the fields, concatenated, are in the set.
func InSet(set string, fields ...Field) Condition {
	return ConditionInSet{Fields: fields, Set: set}
}

// NotInSet requires that the fields, concatenated, are not in the set.
func NotInSet(set string, fields ...Field) Condition {
	return ConditionInSet{Fields: fields, Set: set, Negate: true}
}

// Masquerade translates the source to the address of the output link.
func Masquerade() Statement {
	return StatementMasquerade(0)
}

// DNATFromMap translates the destination to the address of this family, and the port, that a map has for the fields.
func DNATFromMap(of string, family contract.IPFamily, fields ...Field) Statement {
	lookup := MapLookup{Fields: fields, Map: of}
	return StatementDnat{Target: NATTargetFromMap{Lookup: lookup, WithPort: true, IPv6: family == contract.IPFamilyIPv6}}
}

// SetMark is `meta mark set mark & ~mask | value`.
func SetMark(mask, value uint32) Statement {
	return StatementSetMark{Mask: mask, Value: value}
}

// LookUpVerdict looks the fields up in a map of verdicts.
func LookUpVerdict(in string, fields ...Field) Statement {
	return StatementVerdictMap{Fields: fields, Map: in}
}

// NewRule makes a rule of a chain, without conditions and statements.
func NewRule(chain string) Rule {
	return Rule{Chain: chain}
}

// KnownAs returns the same rule with a comment of at most [CommentMax] bytes, by which [CommandKeepRules] knows it.
func (rule Rule) KnownAs(comment string) Rule {
	rule.Comment = &comment
	return rule
}

// When returns the same rule with further conditions; all must hold.
func (rule Rule) When(conditions ...Condition) Rule {
	rule.Conditions = slices.Concat(rule.Conditions, conditions)
	return rule
}

// Then returns the same rule with further statements, after those before.
func (rule Rule) Then(statements ...Statement) Rule {
	rule.Statements = slices.Concat(rule.Statements, statements)
	return rule
}

// NewSet makes a set of single elements.
func NewSet(name string, key ...DataType) Set {
	return Set{Name: name, Key: key}
}

// NewRanges makes a set of ranges.
func NewRanges(name string, key ...DataType) Set {
	return Set{Name: name, Key: key, Interval: true}
}

// NewMap makes a map from keys to values of these types.
func NewMap(name string, key []DataType, data ...DataType) Set {
	return Set{Name: name, Key: key, Data: data}
}

// NewVerdictMap makes a map from keys to verdicts.
func NewVerdictMap(name string, key ...DataType) Set {
	return Set{Name: name, Key: key, Data: []DataType{DataTypeVerdict}}
}

// NewElement makes a set's element.
func NewElement(key ...Value) Element {
	return Element{Key: key, Data: ElementDataNone{}}
}

// NewRange makes a set's range, from the first key to the last.
func NewRange(first, last []Value) Element {
	return Element{Key: first, KeyEnd: last, Data: ElementDataNone{}}
}

// WithVerdict returns the same element with a verdict, in a map of verdicts.
func (element Element) WithVerdict(verdict Verdict) Element {
	element.Data = ElementDataVerdict{verdict}
	return element
}

// WithValues returns the same element with values, in a map.
func (element Element) WithValues(values ...Value) Element {
	element.Data = ElementDataValues(values)
	return element
}

// WithComment returns the same element with a comment of at most [CommentMax] bytes.
func (element Element) WithComment(comment string) Element {
	element.Comment = &comment
	return element
}

// ElementsOf names elements of one set.
func ElementsOf(set string, elements ...Element) Elements {
	return Elements{Set: set, Elements: elements}
}
