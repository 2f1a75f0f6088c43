package ranges

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"weir.dev/weir"
)

// Keys is one range of a configuration. A key `ranges` is a list of range sets, each of them a list of these: [][]Keys.
type Keys struct {
	Subnet netip.Prefix `json:"subnet"`

	// The first address; the subnet's first but one if absent.
	RangeStart netip.Addr `json:"rangeStart"`

	// The last address; the subnet's last if absent, or last but one for IPv4.
	RangeEnd netip.Addr `json:"rangeEnd"`

	// The subnet's first address but one if absent. It is not assigned.
	Gateway netip.Addr `json:"gateway"`
}

// Range returns the range, with its defaults filled in.
//
// Errors: code 7 without a subnet, for a subnet of fewer than 4 addresses or with host bits, for an address outside it, and where the
// last address is before the first.
func (keys Keys) Range() (Range, error) {
	subnet := keys.Subnet
	if !subnet.IsValid() {
		return Range{}, weir.Fail(weir.CodeInvalidConfig, "key `subnet` is missing")
	}
	if err := checkSubnet(subnet); err != nil {
		return Range{}, err
	}
	first, end := subnet.Addr().Next(), last(subnet)
	if end.Is4() {
		end = end.Prev()
	}
	made := Range{
		Subnet:  subnet,
		Start:   cmp.Or(keys.RangeStart, first),
		End:     cmp.Or(keys.RangeEnd, end),
		Gateway: cmp.Or(keys.Gateway, first),
	}
	return made, made.check()
}

// Sets are the range sets of a configuration, no two of which have an address in common. A container gets one address of each.
type Sets []Set

// Read reads the range sets of a key, such as `ipam.ranges`, at least one. Errors: code 7, with the path of the key.
func Read(key string, given [][]Keys) (Sets, error) {
	var sets Sets
	if err := sets.Add(key, given); err != nil {
		return nil, err
	}
	return sets, sets.Require("`" + key + "`")
}

// Add adds the range sets of a key. Errors: code 7, with the path of the key.
func (sets *Sets) Add(key string, given [][]Keys) error {
	for index, list := range given {
		path := fmt.Sprintf("%s[%d]", key, index)
		made := make([]Range, 0, len(list))
		for index, keys := range list {
			one, err := keys.Range()
			if err != nil {
				return fmt.Errorf("%s[%d]: %w", path, index, err)
			}
			made = append(made, one)
		}
		if err := sets.AddSet(path, made...); err != nil {
			return err
		}
	}
	return nil
}

// AddSet adds a range set that the configuration has at this path. Errors: code 7, with the path.
func (sets *Sets) AddSet(path string, ranges ...Range) error {
	set, err := NewSet(ranges...)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	set.path = path
	if index := slices.IndexFunc(*sets, set.Overlaps); index >= 0 {
		const message = "range set %d (%s: %v) overlaps with %d (%s: %v)"
		other := (*sets)[index]
		return weir.Fail(weir.CodeInvalidConfig, message, index, other.path, other, len(*sets), path, set)
	}
	*sets = append(*sets, set)
	return nil
}

// Require fails without a range set. keys names the keys that could have one, in backticks. Errors: code 7.
func (sets Sets) Require(keys string) error {
	if len(sets) > 0 {
		return nil
	}
	return weir.Fail(weir.CodeInvalidConfig, "ipam: no IP ranges specified: give %s", keys)
}
