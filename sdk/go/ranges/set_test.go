package ranges

import (
	"math/big"
	"net/netip"
	"slices"
	"testing"
	"testing/quick"

	"weir.dev/weir"
)

// set returns a set of ranges, which must be valid.
func set(t *testing.T, ranges ...Range) Set {
	t.Helper()
	made, err := NewSet(ranges...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// two returns a set of two ranges, the second of which contains its gateway.
func two(t *testing.T) Set {
	return set(t, made(t, "10.0.0.0/24", "10.0.0.10", "10.0.0.11"), made(t, "10.0.1.0/24", "10.0.1.1", "10.0.1.2"))
}

func TestSetsAreOfOneFamilyAndWithoutOverlap(t *testing.T) {
	for _, each := range []struct {
		expected string
		subnets  []string
	}{
		{"empty range set", nil},
		{"mixed address families in one range set", []string{"10.0.0.0/24", "fd00::/64"}},
		{"ranges 10.0.0.1-10.0.0.254 and 10.0.0.1-10.0.255.254 overlap", []string{"10.0.0.0/24", "10.0.1.0/24", "10.0.0.0/16"}},
	} {
		var ranges []Range
		for _, subnet := range each.subnets {
			ranges = append(ranges, made(t, subnet, "", ""))
		}
		_, err := NewSet(ranges...)
		if err == nil || err.Error() != each.expected || weir.CodeOf(err) != weir.CodeInvalidConfig {
			t.Errorf("expected %s, found %v", each.expected, err)
		}
	}
}

func TestAnAddressIsInOneOfTheRanges(t *testing.T) {
	two := two(t)
	for _, each := range []struct {
		address, of string
		isGateway   bool
	}{
		{"10.0.0.10", "10.0.0.10-10.0.0.11", false},
		{"10.0.1.1", "10.0.1.1-10.0.1.2", true},
		{"10.0.0.12", "invalid IP-invalid IP", false},
		{"10.0.0.1", "invalid IP-invalid IP", false},
	} {
		address := netip.MustParseAddr(each.address)
		found, is := two.RangeOf(address)
		if found.String() != each.of || two.Contains(address) != is || two.IsGateway(address) != each.isGateway {
			t.Errorf("%s: found %v, %v", each.address, found, is)
		}
	}
	if two.String() != "10.0.0.10-10.0.0.11,10.0.1.1-10.0.1.2" || len(two.Ranges()) != 2 {
		t.Error(two)
	}
}

func TestASetIsFullWhenAllButTheGatewayAreTaken(t *testing.T) {
	small := set(t, made(t, "10.0.0.0/30", "", ""))
	for _, each := range []struct {
		taken  []string
		isFree bool
	}{
		{nil, true},
		{[]string{"10.0.0.1", "10.0.0.3"}, true},
		{[]string{"10.0.0.2"}, false},
	} {
		isTaken := map[netip.Addr]bool{}
		for _, text := range each.taken {
			isTaken[netip.MustParseAddr(text)] = true
		}
		if small.HasFree(isTaken) != each.isFree {
			t.Errorf("%q", each.taken)
		}
	}
	if !set(t, made(t, "::/0", "::", "")).HasFree(nil) {
		t.Error("the widest range has no room")
	}
}

// round returns the addresses of a set, beginning after one; from the first for an empty text.
func round(set Set, after string) []string {
	var from netip.Addr
	if after != "" {
		from = netip.MustParseAddr(after)
	}
	texts := []string{}
	for address := range set.After(from) {
		texts = append(texts, address.String())
	}
	return texts
}

func TestTheAddressesComeInARound(t *testing.T) {
	five := set(t, made(t, "10.0.0.0/29", "", ""))
	gateway := set(t, made(t, "10.0.0.0/24", "10.0.0.1", "10.0.0.1"))
	all := []string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"}
	for _, each := range []struct {
		set      Set
		after    string
		expected []string
	}{
		{five, "", all},
		{five, "10.0.0.4", []string{"10.0.0.5", "10.0.0.6", "10.0.0.2", "10.0.0.3", "10.0.0.4"}},
		{five, "10.0.0.6", all},
		{five, "192.168.0.1", all},
		{two(t), "10.0.0.10", []string{"10.0.0.11", "10.0.1.2", "10.0.0.10"}},
		{gateway, "", []string{}},
		{gateway, "10.0.0.1", []string{}},
	} {
		if found := round(each.set, each.after); !slices.Equal(found, each.expected) {
			t.Errorf("%v after %q: found %q", each.set, each.after, found)
		}
	}
}

func TestIPv6RangesAreNotWalkedThroughToBegin(t *testing.T) {
	wide := set(t, made(t, "fd00::/64", "", ""))
	for address := range wide.After(netip.MustParseAddr("fd00::ffff:ffff:ffff:ffff")) {
		if address.String() != "fd00::2" {
			t.Error(address)
		}
		break
	}
}

func TestEveryUsableAddressComesOnce(t *testing.T) {
	isRight := func(start, length, other, last uint8) bool {
		start, length, other = 1+start%119, length%40, 130+other%70
		subnet, second := netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.0.1.0/24")
		in := func(third, octet uint8) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, third, octet}) }
		sets, err := Read("ranges", [][]Keys{{
			{Subnet: subnet, RangeStart: in(0, start), RangeEnd: in(0, start+length)},
			{Subnet: second, RangeStart: in(1, other), RangeEnd: in(1, other+20)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		both, after := sets[0], in(last&1, last)
		seen := map[netip.Addr]bool{}
		var latest netip.Addr
		for latest = range both.After(after) {
			if seen[latest] || !both.Contains(latest) || both.IsGateway(latest) {
				return false
			}
			seen[latest] = true
		}
		usable := int(length) + 1 + 21
		if start == 1 {
			usable--
		}
		isIn := both.Contains(after) && !both.IsGateway(after)
		return len(seen) == usable && (!isIn || latest == after)
	}
	if err := quick.Check(isRight, nil); err != nil {
		t.Error(err)
	}
}

func TestAddressesAreCountedFromRangeToRange(t *testing.T) {
	two, all := two(t), set(t, made(t, "::/0", "::", ""))
	last := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	if two.Size().Int64() != 4 || all.Size().Cmp(new(big.Int).Add(last, big.NewInt(1))) != 0 {
		t.Error(two.Size(), all.Size())
	}
	for _, each := range []struct {
		set      Set
		number   *big.Int
		expected string
	}{
		{two, big.NewInt(0), "10.0.0.10"},
		{two, big.NewInt(2), "10.0.1.1"},
		{two, big.NewInt(3), "10.0.1.2"},
		{two, big.NewInt(4), "invalid IP"},
		{two, big.NewInt(-1), "invalid IP"},
		{all, big.NewInt(0), "::"},
		{all, last, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	} {
		if found := each.set.At(each.number); found.String() != each.expected {
			t.Errorf("%v of %v: found %v", each.number, each.set, found)
		}
	}
}
