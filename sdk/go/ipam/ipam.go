// Package ipam is the capability `ipam`: the IPAM plugin that the configuration names.
package ipam

import "weir.dev/weir"

// dhcp is the IPAM plugin that asks a DHCP server.
const dhcp = "dhcp"

// Keys is the key `ipam` of a main plugin's configuration. Its other keys are the IPAM plugin's.
type Keys struct {
	// The IPAM plugin's name; empty for none, which makes the network a layer-2 one.
	Type string `json:"type"`
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

// Main returns a main plugin that runs the IPAM plugin's commands besides its own, if its configuration names one. keys returns the
// key `ipam` of a configuration.
//
//	ADD            Add calls Keys.Assign where it needs the addresses
//	DEL            Del, then the IPAM plugin; the other way round for dhcp, which gives an address back over the interface
//	CHECK, STATUS  the IPAM plugin, then Check or Status unless the first fails
//	GC             GC, then the IPAM plugin in any case
//
// Where Del fails, the addresses stay assigned.
func Main[C any](plugin weir.Plugin[C], keys func(config *C) Keys) weir.Plugin[C] {
	del, check, status, gc := plugin.Del, plugin.Check, plugin.Status, plugin.GC
	plugin.Del = func(request *weir.Request[C]) error {
		own := func() error { return optional(del, request) }
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
