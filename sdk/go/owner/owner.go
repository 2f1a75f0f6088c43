// Package owner marks what belongs to an attachment, so that DEL and GC find it. A mark is the comment of an element of a firewall set,
// the alias of the container's interface, and the alias that weir gives to links of the host.
package owner

import (
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/internal/contract"
)

// MarkMax is the longest mark, in bytes.
const MarkMax = contract.MarkMax

// Owner is an attachment, as named by what belongs to it.
type Owner struct {
	mark string

	// The mark with the network's name in its configuration, where the network is known by another one: earlier versions wrote it.
	former string
}

// Of names the attachment of a request.
func Of[C any](request *weir.Request[C]) Owner {
	named := New(request.KnownAs, request.ContainerID, request.Ifname)
	named.former = contract.MarkOfAttachment(request.Network, request.ContainerID, request.Ifname)
	return named
}

// New names an attachment to a network, by what identifies the network on the node.
func New(network, containerID, ifname string) Owner {
	mark := contract.MarkOfAttachment(network, containerID, ifname)
	return Owner{mark: mark, former: mark}
}

// Mark returns the mark of what belongs to the attachment: at most [MarkMax] bytes.
func (owner Owner) Mark() string {
	return owner.mark
}

// Has tells whether something with this mark is the attachment's.
func (owner Owner) Has(mark string) bool {
	return mark == owner.mark || mark == owner.former
}

// Valid has the valid attachments of a network.
type Valid struct {
	network string
	owners  []Owner
}

// ValidOf returns the attachments that are valid in a garbage collection.
func ValidOf[C any](request *weir.GCRequest[C]) Valid {
	valid := Valid{network: request.KnownAs}
	for _, attachment := range request.ValidAttachments {
		valid.owners = append(valid.owners, New(request.KnownAs, attachment.ContainerID, attachment.Ifname))
	}
	return valid
}

// IsGarbage tells whether something with this mark belongs to the network, and to none of its valid attachments.
func (valid Valid) IsGarbage(mark string) bool {
	isOwn := func(owner Owner) bool { return owner.Has(mark) }
	return contract.IsOfNetwork(mark, valid.network) && !slices.ContainsFunc(valid.owners, isOwn)
}
