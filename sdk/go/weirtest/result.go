//go:build !wasm

package weirtest

import (
	"fmt"
	"net/netip"

	"weir.dev/weir"
)

// checkResult fails for a result that weir refuses. Errors: code 999, as it is the plugin's fault.
func checkResult(result weir.Result) error {
	for i, ip := range result.IPs {
		if count := len(result.Interfaces); ip.Interface != nil && int(*ip.Interface) >= count {
			const message = "result: ips[%d].interface: no interface has the index %d; the result has %d"
			return weir.Fail(weir.CodeInternal, message, i, *ip.Interface, count)
		}
		if err := checkFamily(fmt.Sprintf("ips[%d].gateway", i), ip.Address, ip.Gateway); err != nil {
			return err
		}
	}
	for i, route := range result.Routes {
		if err := checkFamily(fmt.Sprintf("routes[%d].gw", i), route.Dst, route.GW); err != nil {
			return err
		}
	}
	return nil
}

func checkFamily(key string, of netip.Prefix, gateway netip.Addr) error {
	if !gateway.IsValid() || gateway.Is4() == of.Addr().Is4() {
		return nil
	}
	return weir.Fail(weir.CodeInternal, "result: %s: %v is not of the address family of %v", key, gateway, of)
}
