package veth

import (
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir"
	"weir.dev/weir/link"
)

// kind is the kind of both ends.
const kind = "veth"

// Attached returns the pair, for CHECK. It fails unless the attachment is as ADD left it: the container's interface as
// [weir.CheckAttached] has it, and the host's end, with its MAC, which the result of ADD must list.
//
// Grant: that of [weir.CheckAttached], and `link`, verb `read` for the host's end.
func Attached[C any](request *weir.Request[C]) (pair Pair, err error) {
	if pair.Container, err = weir.CheckAttached(request, kind); err != nil {
		return pair, err
	}
	added, err := request.Added()
	if err != nil {
		return pair, err
	}
	pair.Host, err = hostEnd(request, &added, pair.Container)
	return pair, err
}

// hostEnd returns the other end of the container's interface, among the interfaces of the result on the host.
func hostEnd[C any](request *weir.Request[C], added *weir.Result, inContainer link.Link) (link.Link, error) {
	for _, listed := range onHost(request, added) {
		found, err := link.Get(weir.Host, weir.LinkName(listed.Name))
		switch {
		case weir.IsGone(err):
			continue
		case err != nil:
			return found, fmt.Errorf("cannot read interface `%s`: %w", listed.Name, err)
		case !isPair(found, inContainer):
			continue
		case listed.MAC != "" && !strings.EqualFold(listed.MAC, found.MAC.String()):
			return found, weir.Wrong("interface `%s`: expected MAC %s, found %v", found.Name, listed.MAC, found.MAC)
		default:
			return found, nil
		}
	}
	return link.Link{}, weir.Wrong("the host's end of `%s` does not exist, or prevResult does not list it", inContainer.Name)
}

// onHost returns the interfaces of a result on the host: first the one with a name that [Create] gives, so that no other has to be read.
func onHost[C any](request *weir.Request[C], added *weir.Result) (listed []weir.Interface) {
	for _, one := range added.Interfaces {
		if one.Sandbox == "" {
			listed = append(listed, one)
		}
	}
	slices.SortStableFunc(listed, func(one, other weir.Interface) int {
		switch isOne, isOther := IsNamedByUs(request, one.Name), IsNamedByUs(request, other.Name); {
		case isOne == isOther:
			return 0
		case isOne:
			return -1
		default:
			return 1
		}
	})
	return listed
}

// IsNamedByUs tells whether the host's end of an attachment has a name that [Create] chooses. If not, another program attached the
// container, and what else it set up is unknown.
func IsNamedByUs[C any](request *weir.Request[C], hostEnd string) bool {
	for attempt := range names {
		if hostName(request, attempt) == hostEnd {
			return true
		}
	}
	return false
}

// isPair tells whether two links are the ends of one pair.
func isPair(host, inContainer link.Link) bool {
	isEnd := func(of link.Link, other link.Link) bool {
		return of.Kind == kind && of.Lower != nil && *of.Lower == other.Index
	}
	return isEnd(host, inContainer) && isEnd(inContainer, host)
}
