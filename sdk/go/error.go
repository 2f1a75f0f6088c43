package weir

import (
	"errors"
	"fmt"

	"weir.dev/weir/internal/contract"
)

// Error is the error of a command: a code of CNI, what failed and, in Details, why and what to do.
type Error = contract.Error

// OperationError is the error of an operation.
type OperationError = contract.OperationError

// ErrorCode says why an operation failed.
type ErrorCode = contract.ErrorCode

// Why operations fail.
const (
	Denied      = contract.ErrorCodeDenied
	NotFound    = contract.ErrorCodeNotFound
	Exists      = contract.ErrorCodeExists
	Invalid     = contract.ErrorCodeInvalid
	Busy        = contract.ErrorCodeBusy
	Unsupported = contract.ErrorCodeUnsupported
	Exhausted   = contract.ErrorCodeExhausted
	NoNamespace = contract.ErrorCodeNoNamespace
	TimedOut    = contract.ErrorCodeTimedOut
	Failed      = contract.ErrorCodeFailed
)

// Codes of CNI: those of the specification that plugins use, and those that all plugins of weir share. A plugin's own are 110 to
// 199.
const (
	CodeUnsupportedField   = 2
	CodeInvalidEnvironment = 4
	CodeIOFailure          = 5
	CodeDecodingFailure    = 6
	CodeInvalidConfig      = 7
	CodeInvalidNetns       = 8
	CodeTryAgainLater      = 11
	// STATUS: an ADD would fail now.
	CodeNotAvailable = 50
	CodeDenied       = 100
	CodeNotFound     = 101
	CodeExists       = 102
	CodeInvalid      = 103
	CodeUnsupported  = 104
	CodeExhausted    = 105
	// CHECK: something is not as ADD left it.
	CodeNotAsAttached = 106
	CodeNoAddress     = 107
	// The IPAM plugin returned an address without a gateway, and the network needs one.
	CodeNoGateway = 108
	// An error of which nothing else is known.
	CodeInternal = 999
)

// Fail makes the error of a command. The message is one line, as of fmt.Sprintf.
func Fail(code uint32, format string, arguments ...any) error {
	return Error{Code: code, Msg: fmt.Sprintf(format, arguments...)}
}

// Wrong makes the error of CHECK for what is not as ADD left it.
func Wrong(format string, arguments ...any) error {
	return Fail(CodeNotAsAttached, format, arguments...)
}

// Is tells whether an operation failed for this reason.
func Is(err error, code ErrorCode) bool {
	var operation OperationError
	return errors.As(err, &operation) && operation.Code == code
}

// IsGone tells whether the object of an operation is gone: it does not exist, or its namespace does not.
func IsGone(err error) bool {
	return Is(err, NotFound) || Is(err, NoNamespace)
}

// codes has the code of CNI for each reason.
var codes = [...]uint32{
	Denied:      CodeDenied,
	NotFound:    CodeNotFound,
	Exists:      CodeExists,
	Invalid:     CodeInvalid,
	Busy:        CodeTryAgainLater,
	Unsupported: CodeUnsupported,
	Exhausted:   CodeExhausted,
	NoNamespace: CodeInvalidNetns,
	TimedOut:    CodeTryAgainLater,
	Failed:      CodeIOFailure,
}

// CodeOf returns the code of CNI that weir reports an error with; 0 for none.
func CodeOf(err error) uint32 {
	if err == nil {
		return 0
	}
	return failure(err).Code
}

// reported returns an error as weir reports it; nil for none.
func reported(err error) error {
	if err == nil {
		return nil
	}
	return failure(err)
}

// failure returns an error of a command as weir gets it. What was added to an error is in its message.
func failure(err error) Error {
	var failed Error
	if errors.As(err, &failed) {
		if failed.Error() != err.Error() {
			failed = Error{Code: failed.Code, Msg: err.Error()}
		}
		return failed
	}
	var operation OperationError
	if errors.As(err, &operation) {
		return Error{Code: codes[operation.Code], Msg: err.Error()}
	}
	return Error{Code: CodeInternal, Msg: err.Error()}
}

// whatIsGone makes CHECK's error of what was not found: it is not as ADD left it.
func whatIsGone(err error) error {
	if err == nil {
		return nil
	}
	failed := failure(err)
	if failed.Code == CodeNotFound {
		failed.Code = CodeNotAsAttached
	}
	return failed
}
