//go:build !wasm

package weirtest

import (
	"fmt"

	"weir.dev/weir"
)

// What the kernel answers.
var (
	noEntry      = kernel(weir.NotFound, 2, "No such file or directory (ENOENT)")
	noProcess    = kernel(weir.NotFound, 3, "No such process (ESRCH)")
	noPermission = kernel(weir.Failed, 13, "Permission denied (EACCES)")
	busy         = kernel(weir.Busy, 16, "Device or resource busy (EBUSY)")
	exists       = kernel(weir.Exists, 17, "File exists (EEXIST)")
	noDevice     = kernel(weir.NotFound, 19, "No such device (ENODEV)")
	badArgument  = kernel(weir.Invalid, 22, "Invalid argument (EINVAL)")
	loop         = kernel(weir.Invalid, 40, "Too many levels of links (ELOOP)")
	notSupported = kernel(weir.Unsupported, 95, "Operation not supported (EOPNOTSUPP)")
	noAddress    = kernel(weir.NotFound, 99, "Cannot assign requested address (EADDRNOTAVAIL)")
	networkDown  = kernel(weir.Failed, 100, "Network is down (ENETDOWN)")
	unreachable  = kernel(weir.Invalid, 101, "Network is unreachable (ENETUNREACH)")
	noHost       = kernel(weir.Invalid, 113, "No route to host (EHOSTUNREACH)")
)

func kernel(code weir.ErrorCode, number int32, text string) error {
	return weir.OperationError{Code: code, Message: text, Errno: &number}
}

// refuse makes an error that is not the kernel's.
func refuse(code weir.ErrorCode, format string, arguments ...any) error {
	return weir.OperationError{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

func invalid(format string, arguments ...any) error {
	return refuse(weir.Invalid, format, arguments...)
}
