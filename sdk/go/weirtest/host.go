//go:build !wasm

// Package weirtest answers the functions of the contract in tests on the machine that builds a plugin.
//
// [New] makes a fake host: links, addresses, routes, parameters, stores and so on in memory, which the calls change. A test runs
// whole commands on it with [Add], [Del], [Check], [Status] and [GC], and arranges and looks with the same packages as the plugin:
//
//	host := weirtest.New(t)
//	host.CreatePair("veth0", "eth0")
//	_, err := weirtest.Add(host, plugin, weirtest.Attachment(`{"type": "mtu-limit", "mtu": 1400}`).After(weir.Result{}))
//
// The fake host refuses what the kernel refuses: a name that is taken, a gateway that no subnet contains, an IPv6 address on a link
// without IPv6. It has:
//
//	link              all functions except those of a bridge's VLANs; WaitUp does not wait
//	address           all functions; duplicate address detection takes no time
//	route             all functions, except a second gateway to an IPv6 destination; Get does not use policy rules
//	policy-rule       all functions
//	neighbour         entries; announcements are only recorded
//	sysctl            the parameters that plugins usually set; [Host.SetParameter] makes others
//	store             all functions; what is committed stays for the next command
//	firewall, traffic  what is set up is kept, and no packet meets it
//	conntrack         requests are recorded
//	firewalld         zones, once [Host.RunFirewalld] has it run
//	device            the devices of [Host.PutDevice]
//	ipam              what [Host.Assign] and [Host.AnswerIPAM] say
//	log               lines, in [Host.Log]
//
// [Attach], [AssertDetaches], [AssertRefuses], [AssertReleasesAlone] and [EachFailing] are what the tests of many plugins have in common.
//
// Every other function fails with [weir.Unsupported] and its name. There are no grants and no limits: `weir plugin test` has them, and
// the real kernel.
//
// [Use] makes a host without any state, whose every answer the test gives.
package weirtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/internal/abi"
	"weir.dev/weir/log"
)

// Answer answers a function, whose arguments it gets: a value of the type that the function answers with, nil for one that answers
// with nothing.
type Answer func(arguments []any) (any, error)

// Host answers functions, each by its name in the contract, such as `link.get`.
type Host struct {
	// Calls has each call that was made: the function and its arguments.
	Calls []string

	// Log has the lines that were written to the log.
	Log []LogLine

	test    testing.TB
	answers map[string]Answer

	// The calls that succeeded and changed something.
	changes []string

	// What the fake host has; nil for a host that only has answers.
	machine *machine

	// The functions that are to fail, each as often as it is here.
	faults []fault

	// What the IPAM plugin answers to ADD; nil where the test does not say.
	ipam func() (weir.Result, error)
}

// LogLine is a line of the log.
type LogLine struct {
	Level   log.Level
	Message string

	// Keys and values.
	Fields [][2]string
}

type fault struct {
	function string
	code     weir.ErrorCode
}

// New makes a fake host and a container, each with the link `lo`, which is down. It answers until the test ends. Tests that use one do
// not run in parallel.
func New(t testing.TB) *Host {
	host := install(t)
	host.machine = newMachine()
	return host
}

// Use makes a host that answers until the test ends. A function without an answer fails, except that what is written to the log needs
// none. Tests that use one do not run in parallel.
func Use(t testing.TB, answers map[string]Answer) *Host {
	host := install(t)
	host.answers = answers
	return host
}

func install(t testing.TB) *Host {
	host := &Host{test: t}
	abi.Host = host.answer
	t.Cleanup(func() {
		abi.Host = nil
		for _, fault := range host.faults {
			t.Errorf("%s was to fail and was not called", fault.function)
		}
	})
	return host
}

// FailNext has the next call of a function, such as `link.create`, fail with this code, and change nothing. Asked several times, as
// many calls fail. The test fails where a call does not come.
func (host *Host) FailNext(function string, code weir.ErrorCode) {
	if !isFunction(function) {
		host.test.Fatalf("`%s` is not a function of the contract, such as `link.create`", function)
	}
	host.faults = append(host.faults, fault{function, code})
}

// Answer has a function answer this, in place of what the fake host would.
func (host *Host) Answer(function string, answer Answer) {
	if host.answers == nil {
		host.answers = make(map[string]Answer)
	}
	host.answers[function] = answer
}

func (host *Host) answer(function string, arguments []any) (any, error) {
	if function == "log.write" {
		return nil, host.writeLog(arguments)
	}
	call := host.describe(function, arguments)
	host.Calls = append(host.Calls, call)
	value, err := host.carryOut(function, arguments)
	if err == nil && isChange(function) {
		host.changes = append(host.changes, call)
	}
	return value, err
}

func (host *Host) writeLog(arguments []any) error {
	level, _ := arguments[0].(log.Level)
	message, _ := arguments[1].(string)
	fields, _ := arguments[2].([][2]string)
	host.Log = append(host.Log, LogLine{level, message, fields})
	return nil
}

func (host *Host) carryOut(function string, arguments []any) (any, error) {
	isIt := func(fault fault) bool { return fault.function == function }
	if at := slices.IndexFunc(host.faults, isIt); at >= 0 {
		code := host.faults[at].code
		host.faults = slices.Delete(host.faults, at, at+1)
		return nil, weir.OperationError{Code: code, Message: function + ": the test has it fail"}
	}
	if answer, is := host.answers[function]; is {
		return answer(arguments)
	}
	if host.machine == nil {
		return nil, weir.OperationError{Code: weir.Unsupported, Message: "the test does not answer " + function}
	}
	if strings.HasPrefix(function, "ipam.") {
		return host.runIPAM(function)
	}
	return host.act(function, arguments)
}

// act has the machine do all that a function does, or nothing.
func (host *Host) act(function string, arguments []any) (any, error) {
	act, is := functions[function]
	if !is {
		const message = "%s: the fake host does not have this function: test it with `weir plugin test`"
		return nil, weir.OperationError{Code: weir.Unsupported, Message: fmt.Sprintf(message, function)}
	}
	before := host.machine.clone()
	value, err := act(host.machine, arguments)
	if err == nil {
		return value, nil
	}
	host.machine = before
	failed, is := err.(weir.OperationError)
	if !is {
		return nil, err
	}
	failed.Message = host.describe(function, arguments) + ": " + failed.Message
	return nil, failed
}

// Changes returns the calls that succeeded and changed something, each as the function and its arguments, such as
// `link.update container eth0 MTU=1400`.
func (host *Host) Changes() []string {
	return slices.Clone(host.changes)
}

// ForgetCalls forgets the calls that were made.
func (host *Host) ForgetCalls() {
	host.Calls, host.changes = nil, nil
}

// Arrange does something to the host that is not among the calls, and meets none of the failures that [Host.FailNext] asked for.
func (host *Host) Arrange(act func()) {
	calls, changes, faults := host.Calls, host.changes, host.faults
	host.faults = nil
	act()
	host.Calls, host.changes, host.faults = calls, changes, faults
}

// Called tells whether a function was called.
func (host *Host) Called(function string) bool {
	return slices.ContainsFunc(host.Calls, func(call string) bool {
		name, _, _ := strings.Cut(call, " ")
		return name == function
	})
}

// isChange tells whether a function is one that changes something.
func isChange(function string) bool {
	word := function[strings.LastIndexByte(function, '.')+1:]
	reads := []string{"get", "list", "read", "find", "keys", "open", "close", "wait", "settle", "is-", "zone-of", "by-", "check", "status"}
	return !slices.ContainsFunc(reads, func(read string) bool { return strings.HasPrefix(word, read) })
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
