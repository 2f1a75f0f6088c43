// Package sysctl is the capability `sysctl`: kernel parameters below net.
package sysctl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/contract"
)

// OfLink names a parameter of a link: net.ipv6.conf.eth0.accept_ra for the group ipv6.conf. A dot in the link's name is a slash there.
func OfLink(group, link, parameter string) string {
	return "net." + group + "." + strings.ReplaceAll(link, ".", "/") + "." + parameter
}

// Set sets a parameter where it exists: a kernel without IPv6 has none of its parameters.
func Set(namespace contract.Namespace, key, value string) error {
	err := Write(namespace, key, value)
	var failed contract.OperationError
	if err == nil || errors.As(err, &failed) && failed.Code == contract.ErrorCodeNotFound {
		return nil
	}
	return fmt.Errorf("cannot set %s: %w", key, err)
}

// Ensure sets a parameter unless it has the value already. Errors: `not-found`, `invalid`. Grant: verbs `read` and `write`.
func Ensure(namespace contract.Namespace, key, value string) error {
	found, err := Read(namespace, key)
	if err == nil && found != value {
		err = Write(namespace, key, value)
	}
	if err != nil {
		return fmt.Errorf("cannot set %s: %w", key, err)
	}
	return nil
}

// Forward makes the host forward packets of a family. Grant: verbs `read` and `write` for net.ipv4.ip_forward or
// net.ipv6.conf.all.forwarding.
func Forward(family contract.IPFamily) error {
	key := "net.ipv4.ip_forward"
	if family == contract.IPFamilyIPv6 {
		key = "net.ipv6.conf.all.forwarding"
	}
	return Ensure(contract.NamespaceHost, key, "1")
}

// ForwardFor makes the host forward packets of the families of a result's addresses. Grant: see [Forward].
func ForwardFor(ips []contract.IP) error {
	for _, family := range []contract.IPFamily{contract.IPFamilyIPv4, contract.IPFamilyIPv6} {
		isOf := func(ip contract.IP) bool { return ip.Address.Addr().Is6() == (family == contract.IPFamilyIPv6) }
		if !slices.ContainsFunc(ips, isOf) {
			continue
		}
		if err := Forward(family); err != nil {
			return err
		}
	}
	return nil
}
