// Package owned keeps elements of firewall sets on the host that belong to attachments, which their comments name, and what the attachments
// of all networks share: chains, sets and rules.
package owned

import (
	"fmt"
	"strings"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
	"weir.dev/weir/owner"
)

// attempts is how often to try when others change the same objects at the same time.
const attempts = 8

// Found is an element and the set that it is in.
type Found struct {
	Set     string
	Element firewall.Element
}

// Of returns an element as an attachment's, with the set that it is in.
func Of(owner owner.Owner, set string, element firewall.Element) Found {
	return Found{set, element.WithComment(owner.Mark())}
}

// markOf returns the comment of an element.
func markOf(element firewall.Element) string {
	if element.Comment == nil {
		return ""
	}
	return *element.Comment
}

// Add carries out commands that add an attachment's elements, in one transaction, which also makes what is missing of what it shares with
// others. Where something is in the way, the commands of replacing are carried out instead.
//
// Grant: `firewall` on the host, verbs `read` and `write`.
func Add(shared *Shared, commands []firewall.Command, replacing func() ([]firewall.Command, error)) error {
	err := Apply(shared, commands)
	for range attempts {
		switch {
		case weir.Is(err, weir.NotFound):
			// Another process has just removed the sets.
			err = Apply(shared, commands)
		case weir.Is(err, weir.Exists):
			var other []firewall.Command
			if other, err = replacing(); err == nil {
				err = Apply(shared, other)
			}
		default:
			return err
		}
	}
	return err
}

// Apply carries commands out behind those that make what is missing of what is shared. Grant: that of [Add].
func Apply(shared *Shared, commands []firewall.Command) error {
	restoring, err := shared.Restoring()
	if err != nil {
		return err
	}
	return firewall.Apply(weir.Host, shared.Family, append(restoring, commands...))
}

// Replacing returns the commands that remove what has the keys of these elements, whatever its owner, and then create them.
func Replacing(family firewall.Family, elements ...Found) (commands []firewall.Command, err error) {
	for _, one := range elements {
		left, err := firewall.GetElement(weir.Host, family, one.Set, one.Element.Key)
		if err != nil {
			return nil, err
		}
		if left != nil {
			commands = append(commands, Found{one.Set, *left}.Deletion())
		}
		commands = append(commands, one.Creation())
	}
	return commands, nil
}

// Find returns all elements of these sets that pass; none where there is no such set.
func Find(family firewall.Family, sets []string, passes func(firewall.Element) bool) (found []Found, err error) {
	for _, set := range sets {
		elements, err := firewall.ListElements(weir.Host, family, set)
		if err != nil && !isNone(err) {
			return nil, err
		}
		for _, element := range elements {
			if passes(element) {
				found = append(found, Found{set, element})
			}
		}
	}
	return found, nil
}

// isNone tells whether there is no such set or chain, or no nftables: then ADD cannot have made anything there.
func isNone(err error) bool {
	return weir.IsGone(err) || weir.Is(err, weir.Unsupported)
}

// get returns the element of a key, whatever its owner; nil for none.
func get(family firewall.Family, set string, key []firewall.Value) (*firewall.Element, error) {
	element, err := firewall.GetElement(weir.Host, family, set, key)
	if isNone(err) {
		return nil, nil
	}
	return element, err
}

// Check fails unless the element of a key is in the set and the attachment's. Errors: [weir.CodeNotAsAttached].
func Check(family firewall.Family, set string, key []firewall.Value, owner owner.Owner) error {
	element, err := get(family, set, key)
	switch {
	case err != nil:
		return err
	case element == nil:
		return weir.Wrong("element %s is missing in set `%s`", shown(key), set)
	case !owner.Has(markOf(*element)):
		return weir.Wrong("element %s of set `%s` is another attachment's: `%s`", shown(key), set, markOf(*element))
	default:
		return nil
	}
}

func shown(key []firewall.Value) string {
	parts := make([]string, len(key))
	for i, value := range key {
		parts[i] = fmt.Sprint(value)
	}
	return strings.Join(parts, " . ")
}

// Retain removes all elements of these sets that belong to no valid attachment of the network, for GC.
func Retain(family firewall.Family, sets []string, valid owner.Valid) error {
	garbage, err := Find(family, sets, func(element firewall.Element) bool { return valid.IsGarbage(markOf(element)) })
	if err != nil {
		return err
	}
	return Delete(family, garbage)
}

// Remove removes an attachment's elements, for DEL: those with the keys that it is known to have or, where none are known or not all are
// there, what is found among all elements of the sets. Returns whether there was any: if not, weir may not have attached the container.
func Remove(family firewall.Family, owner owner.Owner, known []Found, sets []string) (bool, error) {
	var found []Found
	for _, one := range known {
		element, err := get(family, one.Set, one.Element.Key)
		if err != nil {
			return false, err
		}
		if element != nil && owner.Has(markOf(*element)) {
			found = append(found, Found{one.Set, *element})
		}
	}
	if len(known) == 0 || len(found) < len(known) {
		isOwn := func(element firewall.Element) bool { return owner.Has(markOf(element)) }
		var err error
		if found, err = Find(family, sets, isOwn); err != nil {
			return false, err
		}
	}
	return len(found) > 0, Delete(family, found)
}

// Delete removes elements, in one transaction where all are still there.
func Delete(family firewall.Family, found []Found) error {
	if len(found) == 0 {
		return nil
	}
	commands := make([]firewall.Command, len(found))
	for i, one := range found {
		commands[i] = one.Deletion()
	}
	err := firewall.Apply(weir.Host, family, commands)
	if !weir.IsGone(err) {
		return err
	}
	for _, command := range commands {
		if err := firewall.Apply(weir.Host, family, []firewall.Command{command}); err != nil && !weir.IsGone(err) {
			return err
		}
	}
	return nil
}

// Deletion returns the command that removes an element.
func (found Found) Deletion() firewall.Command {
	key := firewall.NewRange(found.Element.Key, found.Element.KeyEnd)
	return firewall.CommandDeleteElements(firewall.ElementsOf(found.Set, key))
}

// Creation returns the command that creates an element. It fails with `exists` where the key is in the set.
func (found Found) Creation() firewall.Command {
	return firewall.CommandCreateElements(firewall.ElementsOf(found.Set, found.Element))
}
