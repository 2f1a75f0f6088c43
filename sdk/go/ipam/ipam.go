// Package ipam is the capability `ipam`: the IPAM plugin that the configuration names.
package ipam

import (
	"weir.dev/weir"
	"weir.dev/weir/iface"
)

// dhcp is the IPAM plugin that asks a DHCP server.
const dhcp = "dhcp"

// Keys is the key `ipam` of a main plugin's configuration. Its other keys are the IPAM plugin's.
type Keys struct {
	// The IPAM plugin's name; empty for none, which makes the network a layer-2 one.
	Type string `json:"type"`
}

// Require fails unless an IPAM plugin is named. why says why the plugin needs one. Errors: code 7.
func (keys Keys) Require(why string) error {
	if keys.Type != "" {
		return nil
	}
	return weir.Fail(weir.CodeInvalidConfig, "ipam: key `type` is missing or empty: %s", why)
}

// Assign runs ADD for a main plugin: the addresses become those of the interface with this index in its result. If the plugin's ADD
// fails later, weir runs DEL.
//
// Errors: [weir.CodeNoAddress] where the IPAM plugin returns none.
func (keys Keys) Assign(index uint32) (weir.Result, error) {
	assigned, err := Add()
	if err == nil && len(assigned.IPs) == 0 {
		err = weir.Fail(weir.CodeNoAddress, "IPAM plugin `%s` returned no IP address", keys.Type)
	}
	for i := range assigned.IPs {
		assigned.IPs[i].Interface = &index
	}
	return assigned, err
}

// run runs a command, where an IPAM plugin is named.
func (keys Keys) run(command func() error) error {
	if keys.Type == "" {
		return nil
	}
	return command()
}

// Main returns a main plugin that runs the IPAM plugin's commands besides its own, if its configuration names one. kind is the kernel's
// name of the kind of the interface that Add makes, such as `macvlan`; keys returns the key `ipam` of a configuration.
//
//	ADD            Add calls Keys.Assign where it needs the addresses
//	DEL            Del, then the IPAM plugin; the other way round for dhcp, which gives an address back over the interface
//	CHECK, STATUS  the IPAM plugin, then Check or Status unless the first fails
//	GC             GC, then the IPAM plugin in any case
//
// Where Del fails, the addresses stay assigned. Where Add fails after Keys.Assign, weir runs DEL of the IPAM plugin.
//
// What the plugin leaves out: Del is [iface.DeleteOwn], Check is [weir.CheckAttached], and Validate is [Keys.Require]. A plugin that also
// makes interfaces without addresses has a Validate of its own.
func Main[C any](plugin weir.Plugin[C], kind string, keys func(config *C) Keys) weir.Plugin[C] {
	plugin = withDefaults(plugin, kind, keys)
	del, check, status, gc := plugin.Del, plugin.Check, plugin.Status, plugin.GC
	plugin.Del = func(request *weir.Request[C]) error {
		own := func() error { return del(request) }
		named := keys(&request.Config)
		if named.Type == dhcp {
			return both(Del, own)
		}
		if err := own(); err != nil {
			return err
		}
		return named.run(Del)
	}
	plugin.Check = func(request *weir.Request[C]) error {
		if err := keys(&request.Config).run(Check); err != nil {
			return err
		}
		return check(request)
	}
	plugin.Status = func(request *weir.StatusRequest[C]) error {
		if err := keys(&request.Config).run(Status); err != nil {
			return err
		}
		return optional(status, request)
	}
	plugin.GC = func(request *weir.GCRequest[C]) error {
		own := func() error { return optional(gc, request) }
		return both(own, func() error { return keys(&request.Config).run(GC) })
	}
	return plugin
}

// withDefaults returns a plugin with what a main plugin may leave out.
func withDefaults[C any](plugin weir.Plugin[C], kind string, keys func(config *C) Keys) weir.Plugin[C] {
	if plugin.Del == nil {
		plugin.Del = func(request *weir.Request[C]) error { return iface.DeleteOwn(request, kind) }
	}
	if plugin.Check == nil {
		plugin.Check = func(request *weir.Request[C]) error {
			_, err := weir.CheckAttached(request, kind)
			return err
		}
	}
	if plugin.Validate == nil {
		plugin.Validate = func(config *C) error { return keys(config).Require("its interface needs addresses") }
	}
	return plugin
}

// optional runs a command that the plugin may leave out.
func optional[R any](command func(R) error, request R) error {
	if command == nil {
		return nil
	}
	return command(request)
}

// both runs two commands, the second even if the first fails, and returns the first error.
func both(first, second func() error) error {
	failed := first()
	if err := second(); failed == nil {
		failed = err
	}
	return failed
}
