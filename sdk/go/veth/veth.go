// Package veth makes the pair of an attachment: the container's interface, and its other end on the host.
package veth

import (
	"fmt"
	"hash/fnv"

	"weir.dev/weir"
	"weir.dev/weir/link"
	"weir.dev/weir/log"
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

// Create creates the pair of an attachment, both ends up. The host's end ignores router advertisements: its routes are the plugin's.
func Create[C any](request *weir.Request[C]) (pair Pair, err error) {
	if pair.Host, err = create(request); err != nil {
		return pair, err
	}
	if pair.Container, err = request.ContainerInterface(); err != nil {
		return pair, err
	}
	return pair, sysctl.Set(weir.Host, sysctl.OfLink("ipv6.conf", pair.Host.Name, "accept_ra"), "0")
}

// create tries names for the host's end that follow from the attachment: choosing vethN makes the kernel search all links.
func create[C any](request *weir.Request[C]) (link.Link, error) {
	peer := link.NewPeer{Namespace: weir.Container, Name: request.Ifname, Up: true}
	for attempt := 0; ; attempt++ {
		created, err := link.Create(link.NewLink{
			Namespace: weir.Host,
			Name:      hostName(request, attempt),
			Kind:      link.NewKindVeth(peer),
			Up:        true,
		})
		if err == nil {
			return created, nil
		}
		if !weir.Is(err, weir.Exists) || attempt+1 == names {
			return created, fmt.Errorf("cannot create `%s`: %w", request.Ifname, err)
		}
	}
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

// Delete deletes the container's interface, and with it the host's end, where they exist. One that the grant does not let the plugin
// delete, because it is of another kind, is not the plugin's: it made ADD fail, and stays.
func Delete[C any](request *weir.Request[C]) error {
	if !request.HasContainer {
		return nil
	}
	err := link.Delete(weir.Container, weir.LinkName(request.Ifname))
	if err == nil || weir.IsGone(err) {
		return nil
	}
	if weir.Is(err, weir.Denied) {
		message := "the container's interface is not the plugin's and was left alone"
		log.Write(log.LevelWarn, message, [][2]string{{"link", request.Ifname}, {"error", err.Error()}})
		return nil
	}
	return fmt.Errorf("cannot delete `%s`: %w", request.Ifname, err)
}
