package owned

import (
	"strings"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
	"weir.dev/weir/log"
)

// Shared is what the attachments of all networks share in a plugin's table on the host.
//
// Root can remove any of it, with `nft flush ruleset` for instance, so every ADD checks whether it is there: one short list for each chain,
// however many containers there are. What is missing is made again in the transaction of the ADD.
//
// A rule is known by its comment: what it says is not compared. So a rule that says something new needs a new comment.
type Shared struct {
	// The family of the table.
	Family firewall.Family

	// The chains, those that are jumped to before those that jump there.
	Chains []firewall.Chain

	// The sets and maps that the rules look up.
	Sets []firewall.Set

	// The rules, in the order that they have in their chains. Each has a comment that no other rule of its chain has.
	Rules []firewall.Rule
}

// gap is what a chain lacks.
type gap struct {
	chain string

	// Whether the whole chain is missing.
	isWhole bool

	// The comments of the rules that it does not have.
	rules []string
}

func (gap gap) String() string {
	if gap.isWhole {
		return "chain `" + gap.chain + "` is missing"
	}
	return "chain `" + gap.chain + "` lacks `" + strings.Join(gap.rules, "`, `") + "`"
}

// Restoring returns the commands that make what is missing; none where everything is there. Chains that are there keep their policies,
// which may be the administrator's. Grant: `firewall` on the host, verb `read`.
func (shared *Shared) Restoring() ([]firewall.Command, error) {
	gaps, err := shared.gaps()
	if err != nil || len(gaps) == 0 {
		return nil, err
	}
	isMissing := make(map[string]bool)
	for _, gap := range gaps {
		isMissing[gap.chain] = gap.isWhole
		if !gap.isWhole {
			log.Write(log.LevelWarn, "missing rules were added again", [][2]string{{"chain", gap.chain}})
		}
	}
	var commands []firewall.Command
	for _, chain := range shared.Chains {
		if chain.Base == nil || isMissing[chain.Name] {
			commands = append(commands, firewall.CommandAddChain(chain))
		}
	}
	for _, set := range shared.Sets {
		commands = append(commands, firewall.CommandAddSet(set))
	}
	return append(commands, firewall.CommandKeepRules(shared.Rules)), nil
}

// Check fails unless all rules are there, and so the sets and chains that they name. Errors: [weir.CodeNotAsAttached], naming what is
// missing. Grant: `firewall` on the host, verb `read`.
func (shared *Shared) Check() error {
	gaps, err := shared.gaps()
	if err != nil || len(gaps) == 0 {
		return err
	}
	shown := make([]string, len(gaps))
	for i, gap := range gaps {
		shown[i] = gap.String()
	}
	return weir.Wrong("%s", strings.Join(shown, "; "))
}

func (shared *Shared) gaps() (gaps []gap, err error) {
	for _, chain := range shared.Chains {
		var wanted []string
		for _, rule := range shared.Rules {
			if rule.Chain == chain.Name {
				wanted = append(wanted, commentOf(rule))
			}
		}
		if len(wanted) == 0 {
			continue
		}
		rules, err := firewall.ListRules(weir.Host, shared.Family, chain.Name)
		if isNone(err) {
			gaps = append(gaps, gap{chain: chain.Name, isWhole: true})
			continue
		}
		if err != nil {
			return nil, err
		}
		if missing := missingOf(wanted, rules); len(missing) > 0 {
			gaps = append(gaps, gap{chain: chain.Name, rules: missing})
		}
	}
	return gaps, nil
}

// missingOf returns the comments of rules that a chain does not have in this order.
func missingOf(wanted []string, rules []firewall.Rule) (missing []string) {
	for _, comment := range wanted {
		at := -1
		for i, rule := range rules {
			if commentOf(rule) == comment {
				at = i
				break
			}
		}
		if at < 0 {
			missing = append(missing, comment)
		} else {
			rules = rules[at+1:]
		}
	}
	return missing
}

func commentOf(rule firewall.Rule) string {
	if rule.Comment == nil {
		return ""
	}
	return *rule.Comment
}
