// Package veth makes the pair of an attachment: the container's interface, and its other end on the host.
package veth

import (
	"fmt"
	"hash/fnv"

	"weir.dev/weir"
	"weir.dev/weir/iface"
	"weir.dev/weir/link"
	"weir.dev/weir/sysctl"
)

// ContainerInterface is the index of the container's interface in [Pair.Interfaces].
const ContainerInterface uint32 = 1

// names is how many names to try for the host's end.
const names = 8

// Pair is both ends.
type Pair struct {
	// The host's end.
	Host link.Link

	// The container's interface.
	Container link.Link
}

// Settings are what a pair is created with.
type Settings struct {
	// The MTU of both ends, in bytes; nil for the kernel's default.
	MTU *uint32

	// The MAC of the container's interface; nil for a random one.
	MAC weir.MAC

	// The link that the host's end is a port of; the zero value for none.
	Master weir.LinkReference

	// Whether the host's end is set up.
	HostUp bool

	// Whether the container's interface is set up.
	ContainerUp bool
}

// Create creates the pair of an attachment as [CreateWith] does, both ends up, with the kernel's defaults.
func Create[C any](request *weir.Request[C]) (Pair, error) {
	return CreateWith(request, Settings{HostUp: true, ContainerUp: true})
}

// CreateWith creates the pair of an attachment. The host's end ignores router advertisements: its routes are the plugin's.
//
// Errors: [weir.CodeExists] for an interface of that name in the container. Grant: `link`, verb `create` for both ends and `read`;
// `sysctl`, verb `write` for accept_ra of the host's end.
func CreateWith[C any](request *weir.Request[C], settings Settings) (pair Pair, err error) {
	if pair.Host, err = create(request, settings); err != nil {
		return pair, err
	}
	if pair.Container, err = request.ContainerInterface(); err != nil {
		return pair, err
	}
	return pair, sysctl.Set(weir.Host, sysctl.OfLink("ipv6.conf", pair.Host.Name, "accept_ra"), "0")
}

// create tries names for the host's end that follow from the attachment: choosing vethN makes the kernel search all links.
func create[C any](request *weir.Request[C], settings Settings) (link.Link, error) {
	peer := link.NewPeer{
		Namespace: weir.Container,
		Name:      request.Ifname,
		MAC:       settings.MAC,
		MTU:       settings.MTU,
		Up:        settings.ContainerUp,
	}
	for attempt := range names {
		created, err := link.Create(link.NewLink{
			Namespace: weir.Host,
			Name:      hostName(request, attempt),
			Kind:      link.NewKindVeth(peer),
			MTU:       settings.MTU,
			Up:        settings.HostUp,
			Master:    settings.Master,
		})
		if err == nil {
			return created, nil
		}
		if !weir.Is(err, weir.Exists) {
			return created, fmt.Errorf("cannot create `%s`: %w", request.Ifname, err)
		}
		if err := iface.RefuseExisting(request.Ifname); err != nil {
			return created, err
		}
	}
	const message = "cannot create `%s`: no name for the host's end is free"
	return link.Link{}, weir.Fail(weir.CodeTryAgainLater, message, request.Ifname)
}

func hostName[C any](request *weir.Request[C], attempt int) string {
	hash := fnv.New32a()
	fmt.Fprintf(hash, "%s %s %d", request.ContainerID, request.Ifname, attempt)
	return fmt.Sprintf("veth%08x", hash.Sum32())
}

// Interfaces returns both ends for the result: the host's, then the container's.
func (pair *Pair) Interfaces(sandbox string) []weir.Interface {
	return []weir.Interface{weir.InterfaceOf(pair.Host, ""), weir.InterfaceOf(pair.Container, sandbox)}
}

// Delete deletes the container's interface, and with it the host's end, as [iface.Delete] does.
func Delete[C any](request *weir.Request[C]) error {
	_, err := iface.Delete(request)
	return err
}
