//go:build !wasm

// Package weirtest answers the functions of the contract in tests on the machine that builds a plugin. What a plugin really does to
// a kernel, `weir plugin test` shows.
package weirtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/internal/abi"
)

// Answer answers a function, whose arguments it gets: a value of the type that the function answers with, nil for one that answers
// with nothing.
type Answer func(arguments []any) (any, error)

// Host answers functions, each by its name in the contract, such as `link.get`. A function without an answer fails, except that what
// is written to the log needs none.
type Host struct {
	// Calls has each call that was made: the function and its arguments, as fmt prints them.
	Calls []string

	answers map[string]Answer
}

// Use makes a host that answers until the test ends. Tests that use one do not run in parallel.
func Use(t testing.TB, answers map[string]Answer) *Host {
	host := &Host{answers: answers}
	abi.Host = host.answer
	t.Cleanup(func() { abi.Host = nil })
	return host
}

func (host *Host) answer(function string, arguments []any) (any, error) {
	words := []string{function}
	for _, argument := range arguments {
		words = append(words, fmt.Sprintf("%+v", argument))
	}
	host.Calls = append(host.Calls, strings.Join(words, " "))
	if answer, is := host.answers[function]; is {
		return answer(arguments)
	}
	if function == "log.write" {
		return nil, nil
	}
	return nil, weir.OperationError{Code: weir.Unsupported, Message: "the test does not answer " + function}
}

// Called tells whether a function was called.
func (host *Host) Called(function string) bool {
	return slices.ContainsFunc(host.Calls, func(call string) bool {
		name, _, _ := strings.Cut(call, " ")
		return name == function
	})
}

// Value answers with a value, whatever the arguments.
func Value(value any) Answer {
	return func([]any) (any, error) { return value, nil }
}

// Fails answers with an error.
func Fails(code weir.ErrorCode) Answer {
	return func([]any) (any, error) {
		return nil, weir.OperationError{Code: code, Message: "as the test says"}
	}
}
