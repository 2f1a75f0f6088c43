// Package traffic is the capability `traffic`: queueing disciplines, classes and filters.
//
// This redirects everything that arrives at one link to another one, which limits its rate:
//
//	bucket := traffic.TokenBucket{Rate: 1_000_000, Burst: 20_000, Latency: 25_000}
//	err := traffic.AddQdisc(weir.Host, ifb, traffic.TBF(bucket))
//	…
//	err = traffic.AddQdisc(weir.Host, host, traffic.IngressQdisc())
//	…
//	err = traffic.AddFilter(weir.Host, host, traffic.Redirect(traffic.Ingress, ifb))
package traffic

import "weir.dev/weir/internal/contract"

const (
	// Root is the place of the discipline that everything leaves through (TC_H_ROOT).
	Root uint32 = 0xffff_ffff

	// IngressPlace is the place of `ingress` and `clsact` (TC_H_INGRESS).
	IngressPlace uint32 = 0xffff_fff1

	// Ingress is the handle of `ingress`, which filters of arriving packets belong to.
	Ingress uint32 = 0xffff_0000

	// major has the bits of the first part of a handle.
	major uint32 = 0xffff_0000
)

// Handle makes a handle of its two parts.
func Handle(major, minor uint16) uint32 {
	return uint32(major)<<16 | uint32(minor)
}

// TBF makes a token bucket filter at the root, with the handle `1:`.
func TBF(bucket TokenBucket) Qdisc {
	return Qdisc{Handle: Handle(1, 0), Parent: Root, Discipline: DisciplineTBF(bucket)}
}

// HTB makes a hierarchy token bucket at the root, with the handle `1:`. Packets that no filter matches are in the class with the minor
// number given.
func HTB(class uint16) Qdisc {
	return Qdisc{Handle: Handle(1, 0), Parent: Root, Discipline: DisciplineHTB(class)}
}

// IngressQdisc makes the discipline of the ingress hook.
func IngressQdisc() Qdisc {
	return Qdisc{Handle: Ingress, Parent: IngressPlace, Discipline: DisciplineIngress{}}
}

// NewClass makes a class of the discipline with the same major number. It gets rate bytes per second and no more, and burst bytes at
// once.
func NewClass(handle uint32, rate uint64, burst uint32) Class {
	return Class{Handle: handle, Parent: handle & major, Rate: rate, Ceil: rate, Burst: burst, Cburst: burst}
}

// Redirect makes a filter that sends every packet out of another link.
func Redirect(parent uint32, target contract.LinkReference) Filter {
	return Filter{Parent: parent, Action: ActionRedirect(target)}
}

// Classify makes a filter that puts every packet into a class of the discipline with the same major number.
func Classify(class uint32) Filter {
	return Filter{Parent: class & major, Action: ActionClassify(class)}
}
