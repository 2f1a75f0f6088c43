package owned

import (
	"net/netip"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
)

// NetworkSet returns a set of pairs of a network with itself, for addresses of one type: whether two addresses are in one network.
//
//	set local4 { type ipv4_addr . ipv4_addr; flags interval; elements = { 10.1.0.0/16 . 10.1.0.0/16 } }
//
// The kernel refuses elements that overlap, so that of networks that lie in each other the largest one is in the set.
func NetworkSet(name string, address firewall.DataType) firewall.Set {
	return firewall.NewRanges(name, address, address)
}

// AddingNetwork returns the command that adds the network of an address. It fails with `exists` where another network is in the way: see
// [ReplacingNetwork].
func AddingNetwork(set string, address netip.Prefix) firewall.Command {
	first, last := bounds(address)
	element := firewall.NewRange(
		[]firewall.Value{firewall.ValueAddress(first), firewall.ValueAddress(first)},
		[]firewall.Value{firewall.ValueAddress(last), firewall.ValueAddress(last)},
	)
	return firewall.CommandAddElements(firewall.ElementsOf(set, element))
}

// ReplacingNetwork returns the commands that add the network of an address where other networks may lie in it, or it in them.
func ReplacingNetwork(family firewall.Family, set string, address netip.Prefix) (commands []firewall.Command, err error) {
	known, err := firewall.ListElements(weir.Host, family, set)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(known, func(known firewall.Element) bool { return contains(known, address) }) {
		return nil, nil
	}
	first, last := bounds(address)
	for _, element := range known {
		from, to, is := boundsOf(element)
		if is && first.Compare(from) <= 0 && to.Compare(last) <= 0 {
			commands = append(commands, Found{set, element}.Deletion())
		}
	}
	return append(commands, AddingNetwork(set, address)), nil
}

// HasNetwork tells whether the network of an address is in the set, alone or in a larger one.
func HasNetwork(family firewall.Family, set string, address netip.Prefix) (bool, error) {
	first, _ := bounds(address)
	element, err := get(family, set, []firewall.Value{firewall.ValueAddress(first), firewall.ValueAddress(first)})
	return element != nil && contains(*element, address), err
}

// bounds returns the first and the last address of an address's network.
func bounds(address netip.Prefix) (first, last netip.Addr) {
	first = address.Masked().Addr()
	octets := first.AsSlice()
	for bit := address.Bits(); bit < first.BitLen(); bit++ {
		octets[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ = netip.AddrFromSlice(octets)
	return first, last
}

// boundsOf returns the first and the last address of an element.
func boundsOf(element firewall.Element) (first, last netip.Addr, is bool) {
	end := element.KeyEnd
	if len(end) == 0 {
		end = element.Key
	}
	if len(element.Key) == 0 {
		return first, last, false
	}
	from, isFirst := element.Key[0].(firewall.ValueAddress)
	to, isLast := end[0].(firewall.ValueAddress)
	return netip.Addr(from), netip.Addr(to), isFirst && isLast
}

func contains(known firewall.Element, address netip.Prefix) bool {
	first, last := bounds(address)
	from, to, is := boundsOf(known)
	return is && from.Compare(first) <= 0 && last.Compare(to) <= 0
}
