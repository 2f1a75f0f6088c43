// Package sysctl is the capability `sysctl`: kernel parameters below net.
package sysctl

import (
	"errors"
	"fmt"
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
