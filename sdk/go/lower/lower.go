// Package lower makes the container's interface over a lower device, its master: what the plugins macvlan, ipvlan and vlan share.
//
//	master := lower.Master{Name: "eth1"}
//	under, err := master.Find()
//	…
//	kind := link.NewKindMacvlan{Lower: under.Reference(), LowerNamespace: under.Namespace, Mode: link.MacvlanModeBridge}
//	made, err := lower.Create(request, under, kind, lower.Settings{})
//	…
//	assigned, err := request.Config.IPAM.Assign(iface.ContainerInterface)
//	…
//	err = lower.Configure(under, made, &assigned, lower.AnnounceAlways)
//	…
//	return lower.Result(request, made, assigned, request.Config.DNS), nil
package lower

import (
	"fmt"
	"slices"

	"weir.dev/weir"
	"weir.dev/weir/iface"
	"weir.dev/weir/link"
)

// Lower is the device that the container's interface is made over.
type Lower struct {
	Link link.Link

	// Where it is.
	Namespace weir.Namespace
}

// Reference names the device, by its index.
func (lower Lower) Reference() weir.LinkReference {
	return weir.LinkIndex(lower.Link.Index)
}

// hasCarrier tells whether packets can come and go. A device that cannot say, such as a dummy, counts.
func (lower Lower) hasCarrier() bool {
	return lower.Link.OperState == link.OperStateUp || lower.Link.OperState == link.OperStateUnknown
}

// CheckMTU checks that an interface over the device can have this MTU, in bytes. Errors: code 7.
func (lower Lower) CheckMTU(mtu uint32) error {
	if mtu <= lower.Link.MTU {
		return nil
	}
	const message = "mtu: expected 0 to %d, the MTU of master `%s`, found %d"
	return weir.Fail(weir.CodeInvalidConfig, message, lower.Link.MTU, lower.Link.Name, mtu)
}

// Settings are what the interface is created with.
type Settings struct {
	// In bytes; 0 for the master's.
	MTU uint32

	// nil for the kernel's choice.
	MAC weir.MAC
}

// Create creates the container's interface, which [Configure] sets up. A failure leaves nothing behind.
//
// Errors: code 7 for an MTU above the master's; those of [iface.CreateDown]. Grant: that of [iface.CreateDown], and `link`, verb
// `update` for the master.
func Create[C any](request *weir.Request[C], lower Lower, kind link.NewKind, settings Settings) (link.Link, error) {
	if err := lower.CheckMTU(settings.MTU); err != nil {
		return link.Link{}, err
	}
	wanted := link.NewLink{Kind: kind, MAC: settings.MAC}
	if settings.MTU != 0 {
		wanted.MTU = &settings.MTU
	}
	created, err := iface.CreateDown(request, wanted)
	if err != nil {
		return created, fmt.Errorf("master `%s`: %w", lower.Link.Name, err)
	}
	return created, nil
}

// Announcement says when the kernel tells the neighbours which addresses an interface has.
type Announcement uint8

const (
	// AnnounceOnce is when ADD sets the interface up.
	AnnounceOnce Announcement = iota

	// AnnounceAlways is whenever the interface comes up.
	AnnounceAlways
)

// Configure gives the interface the addresses of a result, sets it up, and gives it the routes. It waits until IPv6 addresses are known
// to be free, if the master has a carrier.
//
// The kernel announces IPv4 addresses that are there when the interface comes up, and an IPv6 address as soon as it is known to be free.
//
// Errors: an address that is in use; a route that the kernel refuses. Grant: that of [iface.AddAddresses] and [iface.AddRoutes]; `link`,
// verb `update`; `address`, verb `read`; `sysctl`, verb `write` for arp_notify and ndisc_notify of the interface, without which it is not
// announced.
func Configure(lower Lower, made link.Link, result *weir.Result, announcement Announcement) error {
	announcement.set(made, result.IPs, "1")
	if err := iface.AddAddresses(made, result.IPs); err != nil {
		return err
	}
	if err := link.Update(weir.Container, weir.LinkIndex(made.Index), link.Changes{Up: new(true)}); err != nil {
		return fmt.Errorf("cannot set `%s` up: %w", made.Name, err)
	}
	if iface.HasIPv6(result.IPs) && lower.hasCarrier() {
		if err := iface.Settle(made); err != nil {
			return err
		}
	}
	if announcement == AnnounceOnce {
		announcement.set(made, result.IPs, "0")
	}
	return iface.AddRoutes(made, result.Routes, result.IPs)
}

// set sets whether the interface announces its addresses: those of the families that it has, or of both if it continues to.
func (announcement Announcement) set(of link.Link, ips []weir.IP, value string) {
	isOf := func(isIPv6 bool) bool {
		has := func(ip weir.IP) bool { return announcement == AnnounceAlways || ip.Address.Addr().Is6() == isIPv6 }
		return slices.ContainsFunc(ips, has)
	}
	if isOf(false) {
		iface.SetParameter(of.Name, "ipv4.conf", "arp_notify", value)
	}
	if isOf(true) {
		iface.SetParameter(of.Name, "ipv6.conf", "ndisc_notify", value)
	}
}

// Result returns a result with the interface, of what was assigned: the addresses and routes. The DNS settings are the configuration's
// alone, as with the reference plugins.
func Result[C any](request *weir.Request[C], made link.Link, assigned weir.Result, dns weir.DNSKeys) weir.Result {
	own := weir.Result{IPs: assigned.IPs, Routes: assigned.Routes}
	return iface.Result(weir.InterfaceOf(made, request.Sandbox), own, dns)
}

// Check returns the interface, for CHECK. It fails unless the interface is as ADD left it, as [weir.CheckAttached] has it, and over the
// master, if the configuration names it.
func Check[C any](request *weir.Request[C], master Master, kind string) (link.Link, error) {
	found, err := weir.CheckAttached(request, kind)
	if err != nil || master.Name == "" {
		return found, err
	}
	lower, err := master.Find()
	if err != nil {
		return found, err
	}
	// Over a device of its own kind, the kernel puts it beside that one.
	isOver := found.Lower != nil && *found.Lower == lower.Link.Index
	if !isOver && found.Kind != lower.Link.Kind {
		return found, weir.Wrong("interface `%s` is not over master `%s`", found.Name, lower.Link.Name)
	}
	return found, nil
}
