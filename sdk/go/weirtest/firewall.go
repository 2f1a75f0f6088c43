//go:build !wasm

package weirtest

import (
	"reflect"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
)

// table is the plugin's nftables table of one family.
type table struct {
	chains []firewall.Chain

	// Of all chains, each chain's in order.
	rules []firewall.Rule
	sets  []set
}

type set struct {
	firewall.Set
	elements []firewall.Element
}

func (table table) clone() table {
	table.chains, table.rules, table.sets = slices.Clone(table.chains), slices.Clone(table.rules), slices.Clone(table.sets)
	for i := range table.sets {
		table.sets[i].elements = slices.Clone(table.sets[i].elements)
	}
	return table
}

// applyCommands carries all commands out, or none.
func applyCommands(machine *machine, namespace weir.Namespace, family firewall.Family, commands []firewall.Command) (any, error) {
	network, err := machine.network(namespace)
	if err != nil {
		return nil, err
	}
	current, is := network.tables[family]
	current = current.clone()
	for _, command := range commands {
		is = is || makesTable(command)
		if !is {
			return nil, noEntry
		}
		if _, isLast := command.(firewall.CommandDeleteTable); isLast {
			current, is = table{}, false
		} else if err := machine.carryOut(&current, command); err != nil {
			return nil, err
		}
	}
	delete(network.tables, family)
	if is {
		network.tables[family] = current
	}
	return nil, nil
}

// makesTable tells whether the table comes into being with a command. Elements go into a set, which is in one.
func makesTable(command firewall.Command) bool {
	switch command.(type) {
	case firewall.CommandAddChain, firewall.CommandCreateChain, firewall.CommandAppendRule, firewall.CommandInsertRule,
		firewall.CommandAddSet, firewall.CommandCreateSet:
		return true
	default:
		return false
	}
}

func (machine *machine) carryOut(table *table, command firewall.Command) error {
	switch given := command.(type) {
	case firewall.CommandAddChain:
		return table.addChain(firewall.Chain(given), false)
	case firewall.CommandCreateChain:
		return table.addChain(firewall.Chain(given), true)
	case firewall.CommandDeleteChain:
		return table.deleteChain(string(given))
	case firewall.CommandFlushChain:
		return table.flushChain(string(given))
	case firewall.CommandAppendRule:
		return machine.addRule(table, firewall.Rule(given), len(table.rules))
	case firewall.CommandInsertRule:
		return machine.addRule(table, firewall.Rule(given), 0)
	case firewall.CommandKeepRules:
		return machine.keepRules(table, given)
	case firewall.CommandDeleteRule:
		return table.deleteRule(firewall.RuleHandle(given))
	case firewall.CommandAddSet:
		return table.addSet(firewall.Set(given), false)
	case firewall.CommandCreateSet:
		return table.addSet(firewall.Set(given), true)
	case firewall.CommandDeleteSet:
		return table.deleteSet(string(given))
	case firewall.CommandAddElements:
		return table.addElements(firewall.Elements(given), false)
	case firewall.CommandCreateElements:
		return table.addElements(firewall.Elements(given), true)
	case firewall.CommandDeleteElements:
		return table.deleteElements(firewall.Elements(given))
	case firewall.CommandFlushSet:
		found, err := table.set(string(given))
		if err == nil {
			found.elements = nil
		}
		return err
	default:
		return refuse(weir.Unsupported, "the fake host does not have the command %T", command)
	}
}

func (table *table) chain(name string) (*firewall.Chain, error) {
	at := slices.IndexFunc(table.chains, func(chain firewall.Chain) bool { return chain.Name == name })
	if at < 0 {
		return nil, noEntry
	}
	return &table.chains[at], nil
}

// addChain adds a chain. One that is there takes another policy, and stays what it is otherwise.
func (table *table) addChain(wanted firewall.Chain, isExclusive bool) error {
	there, err := table.chain(wanted.Name)
	switch {
	case err != nil:
		table.chains = append(table.chains, wanted)
		return nil
	case isExclusive:
		return exists
	case wanted.Base == nil:
		return nil
	case there.Base == nil || there.Base.ChainType != wanted.Base.ChainType || there.Base.Hook != wanted.Base.Hook ||
		there.Base.Priority != wanted.Base.Priority:
		return exists
	}
	base := *there.Base
	base.Policy = wanted.Base.Policy
	there.Base = &base
	return nil
}

func (table *table) deleteChain(name string) error {
	if _, err := table.chain(name); err != nil {
		return err
	}
	if table.isUsed(name) {
		return busy
	}
	table.chains = slices.DeleteFunc(table.chains, func(chain firewall.Chain) bool { return chain.Name == name })
	return table.dropRules(name)
}

func (table *table) flushChain(name string) error {
	if _, err := table.chain(name); err != nil {
		return err
	}
	return table.dropRules(name)
}

func (table *table) dropRules(chain string) error {
	table.rules = slices.DeleteFunc(table.rules, func(rule firewall.Rule) bool { return rule.Chain == chain })
	return nil
}

// isUsed tells whether a rule of another chain or an element leads to a chain.
func (table *table) isUsed(name string) bool {
	for _, rule := range table.rules {
		for _, statement := range rule.Statements {
			if rule.Chain != name && target(statement) == name {
				return true
			}
		}
	}
	for _, set := range table.sets {
		for _, element := range set.elements {
			verdict, is := element.Data.(firewall.ElementDataVerdict)
			if is && (verdict.Verdict == firewall.VerdictJump(name) || verdict.Verdict == firewall.VerdictGoto(name)) {
				return true
			}
		}
	}
	return false
}

// target returns the chain that a statement leads to; empty for any other.
func target(statement firewall.Statement) string {
	switch leading := statement.(type) {
	case firewall.StatementJump:
		return string(leading)
	case firewall.StatementGoto:
		return string(leading)
	default:
		return ""
	}
}

func (machine *machine) addRule(table *table, rule firewall.Rule, at int) error {
	if _, err := table.chain(rule.Chain); err != nil {
		return err
	}
	for _, statement := range rule.Statements {
		if chain := target(statement); chain != "" {
			if _, err := table.chain(chain); err != nil {
				return err
			}
		}
	}
	machine.lastHandle++
	rule.Handle = new(machine.lastHandle)
	table.rules = slices.Insert(table.rules, at, rule)
	return nil
}

// keepRules puts each rule that is missing behind the one before it, or else before all that come after it.
func (machine *machine) keepRules(table *table, rules []firewall.Rule) error {
	for i, rule := range rules {
		if table.place(rule) >= 0 {
			continue
		}
		at := len(table.rules)
		for _, later := range slices.Backward(rules[i+1:]) {
			if place := table.place(later); place >= 0 && later.Chain == rule.Chain {
				at = min(at, place)
			}
		}
		for _, earlier := range rules[:i] {
			if place := table.place(earlier); place >= 0 && earlier.Chain == rule.Chain {
				at = place + 1
			}
		}
		if err := machine.addRule(table, rule, at); err != nil {
			return err
		}
	}
	return nil
}

// place returns where the rule with the same comment is in the same chain.
func (table *table) place(wanted firewall.Rule) int {
	return slices.IndexFunc(table.rules, func(rule firewall.Rule) bool {
		return rule.Chain == wanted.Chain && reflect.DeepEqual(rule.Comment, wanted.Comment)
	})
}

func (table *table) deleteRule(wanted firewall.RuleHandle) error {
	at := slices.IndexFunc(table.rules, func(rule firewall.Rule) bool {
		return rule.Chain == wanted.Chain && *rule.Handle == wanted.Handle
	})
	if at < 0 {
		return noEntry
	}
	table.rules = slices.Delete(table.rules, at, at+1)
	return nil
}

func (table *table) set(name string) (*set, error) {
	at := slices.IndexFunc(table.sets, func(set set) bool { return set.Name == name })
	if at < 0 {
		return nil, noEntry
	}
	return &table.sets[at], nil
}

func (table *table) addSet(wanted firewall.Set, isExclusive bool) error {
	there, err := table.set(wanted.Name)
	if err != nil {
		table.sets = append(table.sets, set{Set: wanted})
		return nil
	}
	isSame := slices.Equal(there.Key, wanted.Key) && slices.Equal(there.Data, wanted.Data) && there.Interval == wanted.Interval
	if isExclusive || !isSame {
		return exists
	}
	return nil
}

func (table *table) deleteSet(name string) error {
	if _, err := table.set(name); err != nil {
		return err
	}
	table.sets = slices.DeleteFunc(table.sets, func(set set) bool { return set.Name == name })
	return nil
}

func (table *table) addElements(wanted firewall.Elements, isExclusive bool) error {
	into, err := table.set(wanted.Set)
	if err != nil {
		return err
	}
	for _, element := range wanted.Elements {
		at := into.index(element.Key, element.KeyEnd)
		if at < 0 {
			into.elements = append(into.elements, element)
		} else if isExclusive || !reflect.DeepEqual(into.elements[at].Data, element.Data) {
			return exists
		}
	}
	return nil
}

func (table *table) deleteElements(gone firewall.Elements) error {
	from, err := table.set(gone.Set)
	if err != nil {
		return err
	}
	for _, element := range gone.Elements {
		at := from.index(element.Key, element.KeyEnd)
		if at < 0 {
			return noEntry
		}
		from.elements = slices.Delete(from.elements, at, at+1)
	}
	return nil
}

// index returns where the element with a key is; -1 for none.
func (set *set) index(key, keyEnd []firewall.Value) int {
	return slices.IndexFunc(set.elements, func(there firewall.Element) bool {
		return reflect.DeepEqual(there.Key, key) && reflect.DeepEqual(there.KeyEnd, keyEnd)
	})
}

func listChains(network *network, family firewall.Family) (any, error) {
	return slices.Clone(network.tables[family].chains), nil
}

func listRules(network *network, family firewall.Family, chain string) (any, error) {
	table := network.tables[family]
	if _, err := table.chain(chain); err != nil {
		return nil, err
	}
	var found []firewall.Rule
	for _, rule := range table.rules {
		if rule.Chain == chain {
			found = append(found, firewall.Rule{Chain: chain, Comment: rule.Comment, Handle: rule.Handle})
		}
	}
	return found, nil
}

func listSets(network *network, family firewall.Family) (any, error) {
	var names []string
	for _, set := range network.tables[family].sets {
		names = append(names, set.Name)
	}
	return names, nil
}

func (machine *machine) set(namespace weir.Namespace, family firewall.Family, name string) (*set, error) {
	network, err := machine.network(namespace)
	if err != nil {
		return nil, err
	}
	table := network.tables[family]
	return table.set(name)
}

// getElement returns the element of a key, or the range that begins with it.
func getElement(machine *machine, namespace weir.Namespace, family firewall.Family, name string, key []firewall.Value) (any, error) {
	set, err := machine.set(namespace, family, name)
	if err != nil {
		return nil, err
	}
	for _, element := range set.elements {
		if reflect.DeepEqual(element.Key, key) {
			return &element, nil
		}
	}
	return (*firewall.Element)(nil), nil
}

func listElements(machine *machine, namespace weir.Namespace, family firewall.Family, name string) (any, error) {
	set, err := machine.set(namespace, family, name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(set.elements), nil
}
