package weir

import (
	"fmt"

	"weir.dev/weir/internal/contract"
	"weir.dev/weir/link"
)

// Request is one invocation of ADD, DEL or CHECK of a plugin whose configuration is C.
type Request[C any] struct {
	// CNI_CONTAINERID.
	ContainerID string

	// CNI_IFNAME: the interface to create or to look at in the container.
	Ifname string

	// The network's name.
	Network string

	// What identifies the network on the node. Whoever writes a NetworkAttachmentDefinition chooses the name in it, so this marks
	// what belongs to an attachment.
	KnownAs string

	// CNI_ARGS.
	Args Args

	// The plugin's configuration.
	Config C

	// The result of the plugin before this one in the list (ADD), or of the whole list's ADD (CHECK and DEL).
	Previous *Result

	// Whether the container's namespace exists. False in DEL only.
	HasContainer bool

	// What a result's Sandbox must be for interfaces in the container.
	Sandbox string
}

// StatusRequest is one invocation of STATUS.
type StatusRequest[C any] struct {
	// The network's name.
	Network string

	// The plugin's configuration.
	Config C
}

// GCRequest is one invocation of GC.
type GCRequest[C any] struct {
	// The network's name.
	Network string

	// What identifies the network on the node.
	KnownAs string

	// The plugin's configuration.
	Config C

	// The attachments of this network that exist. What belongs to any other is to be removed.
	ValidAttachments []Attachment
}

// Chained returns a copy of the result of the plugin before this one in the list, for a plugin that cannot be the first.
// Errors: code 7.
func (request *Request[C]) Chained() (Result, error) {
	return request.previous("this plugin changes what another one made, so it must come after that one in the list of plugins")
}

// Added returns the result of ADD, for CHECK. Errors: code 7.
func (request *Request[C]) Added() (Result, error) {
	return request.previous("CHECK compares with the result of ADD")
}

func (request *Request[C]) previous(why string) (Result, error) {
	if request.Previous == nil {
		return Result{}, Fail(CodeInvalidConfig, "prevResult: missing: %s", why)
	}
	return *request.Previous, nil
}

// ContainerInterface returns the container's interface, which CNI_IFNAME names. Errors: [CodeNotFound] where it does not exist.
func (request *Request[C]) ContainerInterface() (link.Link, error) {
	found, err := link.Get(Container, LinkName(request.Ifname))
	if IsGone(err) {
		return found, Error{
			Code:    CodeNotFound,
			Msg:     fmt.Sprintf("the container has no interface `%s`", request.Ifname),
			Details: "it is made by another plugin, which comes earlier in the list",
		}
	}
	if err != nil {
		return found, fmt.Errorf("cannot look up the container's interface `%s`: %w", request.Ifname, err)
	}
	return found, nil
}

// ResultInterface returns the container's interface in a result; nil where the result has none.
func (request *Request[C]) ResultInterface(result *Result) *Interface {
	return result.Interface(request.Ifname, request.Sandbox)
}

// InterfaceOf returns a link as an interface of the result. The sandbox is the request's for a link of the container, and empty
// for one of the host.
func InterfaceOf(of link.Link, sandbox string) Interface {
	return Interface{Name: of.Name, MAC: of.MAC.String(), MTU: &of.MTU, Sandbox: sandbox}
}

func makeRequest[C any](raw contract.Request, config C) *Request[C] {
	args := make(Args, len(raw.Args))
	for _, pair := range raw.Args {
		args[pair[0]] = pair[1]
	}
	return &Request[C]{
		ContainerID:  raw.ContainerID,
		Ifname:       raw.Ifname,
		Network:      raw.Network,
		KnownAs:      raw.KnownAs,
		Args:         args,
		Config:       config,
		Previous:     raw.Previous,
		HasContainer: raw.HasContainer,
		Sandbox:      raw.Sandbox,
	}
}
