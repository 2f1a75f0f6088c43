package weir

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// MACKey is an object of a configuration with the key `mac`, such as `runtimeConfig`.
type MACKey struct {
	// The MAC of the container's interface; empty for none.
	MAC string `json:"mac"`
}

// CNIArgs is the key `args` of a configuration, whose key `cni` has the arguments of CNI's conventions.
type CNIArgs struct {
	CNI MACKey `json:"cni"`
}

// ParseMAC reads a MAC that an interface can have: 6 bytes, unicast, as `02:00:5e:10:00:01` or with hyphens.
func ParseMAC(text string) (MAC, error) {
	groups := strings.Split(strings.ReplaceAll(text, "-", ":"), ":")
	mac := make(MAC, 0, len(groups))
	for _, group := range groups {
		octet, err := hex.DecodeString(group)
		if err != nil || len(octet) != 1 {
			return nil, fmt.Errorf("`%s` is not a hardware address: expected 6 bytes such as `02:00:5e:10:00:01`", text)
		}
		mac = append(mac, octet[0])
	}
	isZero := !slices.ContainsFunc(mac, func(octet byte) bool { return octet != 0 })
	if len(mac) != 6 || mac[0]&1 == 1 || isZero {
		return nil, fmt.Errorf("%v cannot be an interface's MAC: expected 6 bytes, unicast", mac)
	}
	return mac, nil
}

// RequestedMAC returns the MAC that an attachment asks for: of runtimeConfig, else of args.cni, else of CNI_ARGS; nil for none.
//
// Errors: code 7 for a key that is not a MAC that an interface can have; code 4 for such a one of CNI_ARGS, and for unknown arguments
// there, as [Args.CheckKnown] has it.
func (request *Request[C]) RequestedMAC(runtimeConfig MACKey, args CNIArgs) (MAC, error) {
	if err := request.Args.CheckKnown(); err != nil {
		return nil, err
	}
	for _, each := range []struct {
		key, text string
		code      uint32
	}{
		{"runtimeConfig.mac", runtimeConfig.MAC, CodeInvalidConfig},
		{"args.cni.mac", args.CNI.MAC, CodeInvalidConfig},
		{"CNI_ARGS: MAC", request.Args["MAC"], CodeInvalidEnvironment},
	} {
		if each.text == "" {
			continue
		}
		mac, err := ParseMAC(each.text)
		if err != nil {
			return nil, Fail(each.code, "%s: %v", each.key, err)
		}
		return mac, nil
	}
	return nil, nil
}
