package weir

import (
	"fmt"
	"net/netip"
	"strings"
)

// readAddr reads an address. One of IPv4 that is written as IPv6, such as `::ffff:10.1.0.5`, is of IPv4.
func readAddr(at place, value any, into *netip.Addr) error {
	const what = "an IP address"
	if err := readText(at, value, into, what); err != nil {
		return err
	}
	if into.Zone() != "" {
		return expected(at, what+" without a zone", value)
	}
	*into = into.Unmap()
	return nil
}

// readPrefix reads an address with its prefix length.
func readPrefix(at place, value any, into *netip.Prefix) error {
	text, _ := value.(string)
	return readText(at, value, into, prefixInPlaceOf(text))
}

// prefixInPlaceOf says what is expected in place of a text: a prefix length where there is only an address. That of the example is one
// that subnets have.
func prefixInPlaceOf(text string) string {
	address, _, hasLength := strings.Cut(text, "/")
	parsed, err := netip.ParseAddr(address)
	usual := 64
	if parsed.Is4() {
		usual = 24
	}
	switch {
	case err != nil || parsed.Zone() != "":
		return "an IP address with a prefix length, such as `10.1.0.5/16`"
	case hasLength:
		return fmt.Sprintf("a prefix length from 0 to %d after the address", parsed.BitLen())
	default:
		return fmt.Sprintf("a prefix length after the address, such as `%v/%d`", parsed, usual)
	}
}
