//go:build !wasm

package weirtest

import (
	"maps"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/internal/contract"
)

// Sandbox is what a result's Sandbox is for interfaces in the container.
const Sandbox = "/run/netns/test"

// Invocation is what a command is run with.
type Invocation struct {
	// The plugin's configuration, as JSON.
	Config string

	ContainerID string
	Ifname      string
	Network     string

	// What identifies the network on the node; empty for its name.
	KnownAs string

	// CNI_ARGS.
	Args weir.Args

	// The result of the plugin before this one for ADD, of the whole list for CHECK and DEL; nil for none.
	Previous *weir.Result
}

// Attachment makes an invocation with a plugin's configuration, for interface `eth0` of container `5f3c` on network `test`.
func Attachment(config string) Invocation {
	return Invocation{Config: config, ContainerID: "5f3c", Ifname: "eth0", Network: "test"}
}

// After returns the same invocation with a previous result.
func (invocation Invocation) After(previous weir.Result) Invocation {
	invocation.Previous = &previous
	return invocation
}

func (invocation Invocation) knownAs() string {
	if invocation.KnownAs != "" {
		return invocation.KnownAs
	}
	return invocation.Network
}

// Add runs ADD. Where it fails, what it created is removed and what it changed in the container is put back, as weir does, and DEL of
// the IPAM plugin is run if its ADD was. Errors: the plugin's, as weir reports them; code 999 for a result that weir refuses; code 8 after
// [Host.RemoveContainer].
func Add[C any](host *Host, plugin weir.Plugin[C], invocation Invocation) (weir.Result, error) {
	request, err := host.begin(invocation, true)
	if err != nil {
		return weir.Result{}, err
	}
	before, assigned := host.machine.clone(), host.assigned()
	result, err := plugin.Commands().Add(request)
	host.end()
	if err == nil {
		err = checkResult(result)
	}
	if err == nil {
		return result, nil
	}
	host.machine.undo(before)
	if host.assigned() > assigned {
		// weir does not report an error of this either.
		_, _ = host.answer("ipam.del", nil)
	}
	return weir.Result{}, err
}

// Del runs DEL, without a container after [Host.RemoveContainer]. Errors: the plugin's, as weir reports them.
func Del[C any](host *Host, plugin weir.Plugin[C], invocation Invocation) error {
	return host.during(invocation, false, plugin.Commands().Del)
}

// Check runs CHECK. Errors: the plugin's, as weir reports them; code 8 after [Host.RemoveContainer].
func Check[C any](host *Host, plugin weir.Plugin[C], invocation Invocation) error {
	return host.during(invocation, true, plugin.Commands().Check)
}

// during runs a command that has no result.
func (host *Host) during(invocation Invocation, needsContainer bool, command func(contract.Request) error) error {
	request, err := host.begin(invocation, needsContainer)
	if err != nil {
		return err
	}
	defer host.end()
	return command(request)
}

// Status runs STATUS. Errors: the plugin's, as weir reports them.
func Status[C any](host *Host, plugin weir.Plugin[C], invocation Invocation) error {
	host.mark(invocation)
	defer host.end()
	return plugin.Commands().Status(contract.StatusRequest{Network: invocation.Network, Config: invocation.Config})
}

// GC runs GC with the attachments to keep. Errors: the plugin's, as weir reports them.
func GC[C any](host *Host, plugin weir.Plugin[C], invocation Invocation, valid ...weir.Attachment) error {
	host.mark(invocation)
	defer host.end()
	return plugin.Commands().GC(contract.GCRequest{
		Network:          invocation.Network,
		KnownAs:          invocation.knownAs(),
		Config:           invocation.Config,
		ValidAttachments: valid,
	})
}

func (host *Host) begin(invocation Invocation, needsContainer bool) (contract.Request, error) {
	host.mark(invocation)
	hasContainer := host.machine.container != nil
	if needsContainer && !hasContainer {
		return contract.Request{}, weir.Fail(weir.CodeInvalidNetns, "the container's namespace is gone")
	}
	request := contract.Request{
		ContainerID:  invocation.ContainerID,
		Ifname:       invocation.Ifname,
		Network:      invocation.Network,
		KnownAs:      invocation.knownAs(),
		Config:       invocation.Config,
		Previous:     copyOf(invocation.Previous),
		HasContainer: hasContainer,
	}
	if hasContainer {
		request.Sandbox = Sandbox
	}
	for _, key := range slices.Sorted(maps.Keys(invocation.Args)) {
		request.Args = append(request.Args, [2]string{key, invocation.Args[key]})
	}
	return request, nil
}

// copyOf returns a copy of a result, which a command may change.
func copyOf(result *weir.Result) *weir.Result {
	if result == nil {
		return nil
	}
	copied := *result
	copied.Interfaces, copied.IPs = slices.Clone(result.Interfaces), slices.Clone(result.IPs)
	copied.Routes = slices.Clone(result.Routes)
	return &copied
}

// mark has links of the host marked as weir marks them in this invocation.
func (host *Host) mark(invocation Invocation) {
	known := invocation.knownAs()
	host.fake().marks = marks{
		attachment: contract.MarkOfAttachment(known, invocation.ContainerID, invocation.Ifname),
		network:    contract.MarkOfNetwork(known),
		name:       invocation.Network,
	}
}

// end closes the store that a command left open, as the end of an instance does.
func (host *Host) end() {
	host.machine.open = nil
}

// assigned counts the successful ADDs of the IPAM plugin.
func (host *Host) assigned() (count int) {
	for _, change := range host.changes {
		if change == "ipam.add" {
			count++
		}
	}
	return count
}
