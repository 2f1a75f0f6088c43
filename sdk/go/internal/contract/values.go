// Package contract has the contract's types that capabilities share, and those of commands: most are made of wit/ in contract.go.
package contract

import (
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"unsafe"

	"weir.dev/weir/internal/abi"
)

// MAC is a link-layer address: 6 bytes for Ethernet, 20 for InfiniBand.
type MAC []byte

// String returns it as text, such as `aa:bb:cc:dd:ee:ff`.
func (mac MAC) String() string {
	parts := make([]string, len(mac))
	for i, value := range mac {
		parts[i] = hex.EncodeToString([]byte{value})
	}
	return strings.Join(parts, ":")
}

// LinkReference names a link in a request, by its name or, where that is empty, by its index. The zero value names none.
type LinkReference struct {
	// 1 to 15 bytes. Alternative names are not looked up.
	Name string

	// The kernel's interface index in that namespace.
	Index uint32
}

// IsGiven tells whether it names a link.
func (link LinkReference) IsGiven() bool {
	return link != LinkReference{}
}

// String returns the name in backticks, or the index.
func (link LinkReference) String() string {
	if link.Name != "" {
		return "`" + link.Name + "`"
	}
	return "number " + strconv.FormatUint(uint64(link.Index), 10)
}

// Error returns what was asked and what is wrong with it.
func (err OperationError) Error() string {
	return err.Message
}

// Error returns what failed, in one line, and why.
func (err Error) Error() string {
	if err.Details == "" {
		return err.Msg
	}
	return err.Msg + ": " + err.Details
}

// The cases of an address and of a reference in the contract.
const (
	caseIPv4 = iota
	caseIPv6
)

const (
	caseName = iota
	caseIndex
)

// Where an address has its bytes or groups, and a subnet the length of its prefix.
const (
	addrPayload  = 2
	prefixLength = 18
)

// LoadAddr reads an IP address.
func LoadAddr(at unsafe.Pointer) netip.Addr {
	payload := unsafe.Add(at, addrPayload)
	if abi.Load[uint8](at) == caseIPv4 {
		return netip.AddrFrom4(*(*[4]byte)(payload))
	}
	var octets [16]byte
	for i := range 8 {
		group := abi.Load[uint16](unsafe.Add(payload, 2*i))
		octets[2*i], octets[2*i+1] = byte(group>>8), byte(group)
	}
	return netip.AddrFrom16(octets)
}

// groups returns the groups of an IPv6 address.
func groups(address netip.Addr) (all [8]uint16) {
	octets := address.As16()
	for i := range all {
		all[i] = uint16(octets[2*i])<<8 | uint16(octets[2*i+1])
	}
	return all
}

// StoreAddr writes an IP address.
func StoreAddr(at unsafe.Pointer, address netip.Addr) {
	payload := unsafe.Add(at, addrPayload)
	if address.Is4() {
		abi.Store[uint8](at, caseIPv4)
		*(*[4]byte)(payload) = address.As4()
		return
	}
	abi.Store[uint8](at, caseIPv6)
	*(*[8]uint16)(payload) = groups(address)
}

// PassAddr passes an IP address.
func PassAddr(call *abi.Call, address netip.Addr) {
	if address.Is4() {
		call.Push(caseIPv4)
		for _, octet := range address.As4() {
			call.Push(uint64(octet))
		}
		call.Pad(4)
		return
	}
	call.Push(caseIPv6)
	for _, group := range groups(address) {
		call.Push(uint64(group))
	}
}

// LoadPrefix reads an address with the length of its prefix.
func LoadPrefix(at unsafe.Pointer) netip.Prefix {
	return netip.PrefixFrom(LoadAddr(at), int(abi.Load[uint8](unsafe.Add(at, prefixLength))))
}

// StorePrefix writes an address with the length of its prefix.
func StorePrefix(at unsafe.Pointer, prefix netip.Prefix) {
	StoreAddr(at, prefix.Addr())
	abi.Store(unsafe.Add(at, prefixLength), uint8(prefix.Bits()))
}

// PassPrefix passes an address with the length of its prefix.
func PassPrefix(call *abi.Call, prefix netip.Prefix) {
	PassAddr(call, prefix.Addr())
	call.Push(uint64(prefix.Bits()))
}

// LoadMAC reads a link-layer address.
func LoadMAC(at unsafe.Pointer) MAC {
	return abi.LoadBytes(at)
}

// StoreMAC writes a link-layer address.
func StoreMAC(at unsafe.Pointer, mac MAC) {
	abi.StoreBytes(at, mac)
}

// PassMAC passes a link-layer address.
func PassMAC(call *abi.Call, mac MAC) {
	abi.PassBytes(call, mac)
}

// linkPayload is where a reference has its name or index.
const linkPayload = 4

// LoadLinkReference reads a reference.
func LoadLinkReference(at unsafe.Pointer) LinkReference {
	payload := unsafe.Add(at, linkPayload)
	if abi.Load[uint8](at) == caseName {
		return LinkReference{Name: abi.LoadString(payload)}
	}
	return LinkReference{Index: abi.Load[uint32](payload)}
}

// StoreLinkReference writes a reference.
func StoreLinkReference(at unsafe.Pointer, link LinkReference) {
	payload := unsafe.Add(at, linkPayload)
	if link.Name != "" {
		abi.Store[uint8](at, caseName)
		abi.StoreString(payload, link.Name)
		return
	}
	abi.Store[uint8](at, caseIndex)
	abi.Store(payload, link.Index)
}

// PassLinkReference passes a reference.
func PassLinkReference(call *abi.Call, link LinkReference) {
	if link.Name != "" {
		call.Push(caseName)
		abi.PassString(call, link.Name)
		return
	}
	call.Push(caseIndex)
	call.Push(uint64(link.Index))
	call.Pad(1)
}
