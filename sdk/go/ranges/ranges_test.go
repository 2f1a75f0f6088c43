package ranges

import (
	"net/netip"
	"strings"
	"testing"
	"testing/quick"

	"weir.dev/weir"
)

// keys are those of a range; an empty text is an absent key.
func keys(subnet, start, end, gateway string) Keys {
	address := func(text string) (address netip.Addr) {
		if text != "" {
			address = netip.MustParseAddr(text)
		}
		return address
	}
	return Keys{netip.MustParsePrefix(subnet), address(start), address(end), address(gateway)}
}

// made returns the range of keys, which must be valid.
func made(t *testing.T, subnet, start, end string) Range {
	t.Helper()
	one, err := keys(subnet, start, end, "").Range()
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func TestDefaultsLeaveOutNetworkAndBroadcastAddress(t *testing.T) {
	for _, each := range []struct{ subnet, first, last string }{
		{"10.0.0.0/24", "10.0.0.1", "10.0.0.254"},
		{"10.0.0.0/30", "10.0.0.1", "10.0.0.2"},
		{"10.8.0.0/13", "10.8.0.1", "10.15.255.254"},
		{"0.0.0.0/0", "0.0.0.1", "255.255.255.254"},
		{"fd00::/120", "fd00::1", "fd00::ff"},
	} {
		found := made(t, each.subnet, "", "")
		if found.String() != each.first+"-"+each.last || found.Gateway != found.Start {
			t.Errorf("%s: found %v, gateway %v", each.subnet, found, found.Gateway)
		}
	}
}

func TestFaultsNameKeyAndValue(t *testing.T) {
	for _, each := range []struct{ subnet, start, end, gateway, expected string }{
		{"10.0.0.0/31", "", "", "", "subnet 10.0.0.0/31 is too small to allocate from: expected at least 4 addresses"},
		{"fd00::/127", "", "", "", "subnet fd00::/127 is too small"},
		{"10.0.0.7/24", "", "", "", "subnet 10.0.0.7/24 has host bits set: the network address for a prefix length of 24 is 10.0.0.0"},
		{"::ffff:10.0.0.0/120", "", "", "", "subnet ::ffff:10.0.0.0/120 is of IPv4 addresses: write it as IPv4"},
		{"10.0.0.0/24", "10.0.1.2", "", "", "rangeStart 10.0.1.2 is not in subnet 10.0.0.0/24"},
		{"10.0.0.0/24", "", "10.0.1.2", "", "rangeEnd 10.0.1.2 is not in subnet 10.0.0.0/24"},
		{"10.0.0.0/24", "", "", "10.1.0.1", "gateway 10.1.0.1 is not in subnet 10.0.0.0/24"},
		{"10.0.0.0/24", "fd00::5", "", "", "rangeStart fd00::5 is not in subnet 10.0.0.0/24"},
		{"10.0.0.0/24", "10.0.0.9", "10.0.0.8", "", "rangeEnd 10.0.0.8 is before rangeStart 10.0.0.9"},
	} {
		_, err := keys(each.subnet, each.start, each.end, each.gateway).Range()
		if err == nil || !strings.HasPrefix(err.Error(), each.expected) || weir.CodeOf(err) != weir.CodeInvalidConfig {
			t.Errorf("expected %s, found %v", each.expected, err)
		}
	}
}

func TestARangeHasAddressesOfItsFamily(t *testing.T) {
	ipv4, ipv6 := made(t, "10.0.0.0/24", "", ""), made(t, "::/0", "::", "")
	for _, each := range []struct {
		of      Range
		address string
		is      bool
	}{
		{ipv4, "10.0.0.1", true},
		{ipv4, "10.0.0.254", true},
		{ipv4, "10.0.0.0", false},
		{ipv4, "10.0.0.255", false},
		{ipv4, "::ffff:10.0.0.5", false},
		{ipv6, "::", true},
		{ipv6, "10.0.0.5", false},
	} {
		if each.of.Contains(netip.MustParseAddr(each.address)) != each.is {
			t.Errorf("%v: %s", each.of, each.address)
		}
	}
	if ipv4.Contains(netip.Addr{}) || ipv4.Overlaps(ipv6) {
		t.Error("families are mixed")
	}
}

// lastOctet returns an address of 10.0.0.0/24.
func lastOctet(octet uint8) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, 0, octet})
}

func TestOverlapIsACommonAddress(t *testing.T) {
	subnet := netip.MustParsePrefix("10.0.0.0/24")
	of := func(one, other uint8) Range {
		keys := Keys{Subnet: subnet, RangeStart: lastOctet(min(one, other)), RangeEnd: lastOctet(max(one, other))}
		made, err := keys.Range()
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	isRight := func(a, b, c, d uint8) bool {
		first, second := of(a, b), of(c, d)
		hasCommon := false
		for octet := range 256 {
			address := lastOctet(uint8(octet))
			hasCommon = hasCommon || first.Contains(address) && second.Contains(address)
		}
		return first.Overlaps(second) == hasCommon && second.Overlaps(first) == hasCommon
	}
	if err := quick.Check(isRight, nil); err != nil {
		t.Error(err)
	}
}

func TestARangeContainsWhatItStepsThrough(t *testing.T) {
	isRight := func(number uint8, network [4]byte) bool {
		bits := 20 + int(number%11)
		subnet := netip.PrefixFrom(netip.AddrFrom4(network), bits).Masked()
		one, err := Keys{Subnet: subnet}.Range()
		if err != nil {
			t.Fatal(err)
		}
		count := 1
		for address := one.Start; address != one.End; address = address.Next() {
			if !one.Contains(address) || !subnet.Contains(address) {
				return false
			}
			count++
		}
		return count == 1<<(32-bits)-2 && !one.Contains(subnet.Addr()) && !one.Contains(one.End.Next())
	}
	if err := quick.Check(isRight, nil); err != nil {
		t.Error(err)
	}
}
