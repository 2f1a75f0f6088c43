//go:build !wasm

package weirtest

import (
	"slices"
	"testing"

	"weir.dev/weir"
)

// Attach runs ADD, which must succeed, and returns its result, and the invocation for CHECK and DEL.
func Attach[C any](host *Host, plugin weir.Plugin[C], invocation Invocation) (weir.Result, Invocation) {
	host.test.Helper()
	result, err := Add(host, plugin, invocation)
	if err != nil {
		host.test.Fatalf("ADD fails: %v", err)
	}
	return result, invocation.After(result)
}

// OnlyInterface returns the interface of a result that has no other: the container's `eth0`. It fails the test if it is something else.
func OnlyInterface(t testing.TB, result weir.Result) weir.Interface {
	t.Helper()
	if len(result.Interfaces) != 1 || result.Interface("eth0", Sandbox) == nil {
		t.Fatalf("expected the container's interface `eth0` alone, found %+v", result.Interfaces)
	}
	return result.Interfaces[0]
}

// AssertDetaches fails the test unless CHECK succeeds, and DEL twice, after which the container has no interface except `lo`.
func AssertDetaches[C any](host *Host, plugin weir.Plugin[C], attached Invocation) {
	host.test.Helper()
	if err := Check(host, plugin, attached); err != nil {
		host.test.Errorf("CHECK fails: %v", err)
	}
	for _, nth := range []string{"first", "second"} {
		if err := Del(host, plugin, attached); err != nil {
			host.test.Errorf("the %s DEL fails: %v", nth, err)
		}
		if names := host.LinkNames(weir.Container); !slices.Equal(names, []string{"lo"}) {
			host.test.Errorf("after the %s DEL the container has %q", nth, names)
		}
	}
}

// AssertRefuses fails the test unless ADD fails with this code and this message, without details, and changes nothing.
func AssertRefuses[C any](host *Host, plugin weir.Plugin[C], invocation Invocation, code uint32, message string) {
	host.test.Helper()
	before := len(host.changes)
	_, err := Add(host, plugin, invocation)
	if failed, is := err.(weir.Error); !is || failed.Code != code || failed.Msg != message {
		host.test.Errorf("expected error %d, `%s`, found %+v", code, message, err)
	}
	if changes := host.changes[before:]; len(changes) > 0 {
		host.test.Errorf("ADD fails and has changed %q", changes)
	}
}

// AssertReleasesAlone fails the test unless DEL without the container changes nothing, and has the IPAM plugin release the addresses. It
// removes the container.
func AssertReleasesAlone[C any](host *Host, plugin weir.Plugin[C], attached Invocation) {
	host.test.Helper()
	host.RemoveContainer()
	before := len(host.changes)
	if err := Del(host, plugin, attached); err != nil {
		host.test.Errorf("DEL fails: %v", err)
	}
	if changes := host.changes[before:]; !slices.Equal(changes, []string{"ipam.del"}) {
		host.test.Errorf("expected ipam.del alone, found %q", changes)
	}
}

// EachFailing runs ADD on a host of newHost for each of the functions, whose next call fails with [weir.Exhausted]. ADD must fail, and
// check gets what is left, and the function.
func EachFailing[C any](
	newHost func() *Host, plugin weir.Plugin[C], invocation Invocation, functions []string, check func(host *Host, function string),
) {
	for _, function := range functions {
		host := newHost()
		host.test.Helper()
		host.FailNext(function, weir.Exhausted)
		if _, err := Add(host, plugin, invocation); err == nil {
			host.test.Errorf("ADD succeeds although %s fails", function)
		}
		check(host, function)
	}
}
