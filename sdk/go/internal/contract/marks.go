package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MarkMax is the longest mark, in bytes: as long as a comment of nftables may be.
const MarkMax = 128

// MarkOfAttachment returns the mark of what belongs to an attachment: `NETWORK CONTAINER-ID INTERFACE` or, where that is too long,
// digests of the network and of the attachment.
func MarkOfAttachment(network, containerID, ifname string) string {
	own := containerID + " " + ifname
	if mark := network + " " + own; len(mark) <= MarkMax {
		return mark
	}
	return "#" + digest(network) + " " + digest(own)
}

// MarkOfNetwork returns the mark of what all attachments to a network share.
func MarkOfNetwork(network string) string {
	if len(network) <= MarkMax {
		return network
	}
	return "#" + digest(network)
}

// IsOfNetwork tells whether a mark is the network's, or one of its attachments'.
func IsOfNetwork(mark, network string) bool {
	owner, _, _ := strings.Cut(mark, " ")
	return owner != "" && (owner == network || owner == "#"+digest(network))
}

// digest returns the first 32 hexadecimal digits of a text's SHA-256.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
