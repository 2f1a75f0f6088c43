//go:build !wasm

package abi

import "fmt"

// IsNative tells whether this is a test on the machine that builds the plugin, where no function of the contract is.
const IsNative = true

func mayLeave(int32) {}

// Host answers the functions of the contract in a native test: of the name `link.get`, with its arguments in Go.
var Host func(function string, arguments []any) (any, error)

func ask(function string, arguments []any) (any, error) {
	if Host == nil {
		return nil, fmt.Errorf("%s: no host answers: a native test needs a weirtest.Host", function)
	}
	return Host(function, arguments)
}

// Ask calls a function that answers with a value.
func Ask[T any](function string, arguments ...any) (T, error) {
	answer, err := ask(function, arguments)
	value, is := answer.(T)
	if err == nil && !is {
		err = fmt.Errorf("%s: the test answers with %T, and the function with %T", function, answer, value)
	}
	return value, err
}

// Tell calls a function that answers with nothing.
func Tell(function string, arguments ...any) error {
	_, err := ask(function, arguments)
	return err
}

// Exit ends the initialisation.
func Exit() {}
