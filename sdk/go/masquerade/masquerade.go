// Package masquerade masquerades the containers' traffic to other networks, in the plugin's table of the family `inet`: what the key `ipMasq`
// of a main plugin does.
//
// A packet costs three look-ups, and an ADD one transaction, however many containers there are:
//
//	chain postrouting {
//		type nat hook postrouting priority srcnat
//		ip saddr . ip daddr @local4 return
//		ip daddr 224.0.0.0/4 return
//		ip saddr @pods4 masquerade
//		(and the same for IPv6)
//	}
//	set local4 { 10.1.0.0/16 . 10.1.0.0/16 }
//	set pods4 { 10.1.0.5 comment "<attachment>" }
//
// Grant: `firewall` on the host for the family `inet`, verbs `read` and `write`, with the hook `postrouting` and the statement `masquerade`.
package masquerade

import (
	"fmt"
	"net/netip"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
	"weir.dev/weir/firewall/owned"
	"weir.dev/weir/owner"
)

const (
	family      = firewall.FamilyInet
	postrouting = "postrouting"

	// srcnat, as nft calls it.
	priority = 100
)

// half is what there is of one IP family.
type half struct {
	pods, local         string
	key                 firewall.DataType
	source, destination firewall.Field
	multicast           netip.Prefix
}

var (
	ipv4 = half{
		pods:        "pods4",
		local:       "local4",
		key:         firewall.DataTypeIPv4Address,
		source:      firewall.FieldIPv4Source,
		destination: firewall.FieldIPv4Destination,
		multicast:   netip.MustParsePrefix("224.0.0.0/4"),
	}
	ipv6 = half{
		pods:        "pods6",
		local:       "local6",
		key:         firewall.DataTypeIPv6Address,
		source:      firewall.FieldIPv6Source,
		destination: firewall.FieldIPv6Destination,
		multicast:   netip.MustParsePrefix("ff00::/8"),
	}

	// The sets with elements of attachments.
	sets = []string{ipv4.pods, ipv6.pods}
)

// ValidateBackend checks the key `ipMasqBackend`: `nftables`, `iptables` or empty. weir uses nftables for each. Errors: code 2.
func ValidateBackend(backend string) error {
	switch backend {
	case "", "nftables", "iptables":
		return nil
	default:
		return weir.Error{
			Code:    weir.CodeUnsupportedField,
			Msg:     fmt.Sprintf("field `ipMasqBackend` with value `%q` is not supported", backend),
			Details: "weir uses nftables for `iptables` as well",
		}
	}
}

// Add masquerades what these addresses send to other networks.
func Add(owner owner.Owner, ips []weir.IP) error {
	shared := shared()
	var commands []firewall.Command
	for _, ip := range ips {
		commands = append(commands, adding(owner, ip.Address)...)
	}
	err := owned.Apply(shared, commands)
	if weir.Is(err, weir.Exists) {
		// An element is in the way: they are added one by one, and each sees what the one before did.
		err = addEach(shared, owner, ips)
	}
	if err != nil {
		return fmt.Errorf("cannot set up masquerading: %w", err)
	}
	return nil
}

func addEach(shared *owned.Shared, owner owner.Owner, ips []weir.IP) error {
	for _, ip := range ips {
		replacing := func() ([]firewall.Command, error) { return replacing(owner, ip.Address) }
		if err := owned.Add(shared, adding(owner, ip.Address), replacing); err != nil {
			return err
		}
	}
	return nil
}

// adding returns what an address adds: its own element, and its network, to which nothing is masqueraded.
func adding(owner owner.Owner, address netip.Prefix) []firewall.Command {
	return []firewall.Command{pod(owner, address.Addr()).Creation(), owned.AddingNetwork(halfOf(address.Addr()).local, address)}
}

// replacing returns what an address adds where something is in the way: the element of another container, which had no DEL, or a network
// that contains this one or lies in it.
func replacing(owner owner.Owner, address netip.Prefix) ([]firewall.Command, error) {
	commands, err := owned.Replacing(family, pod(owner, address.Addr()))
	if err != nil {
		return nil, err
	}
	network, err := owned.ReplacingNetwork(family, halfOf(address.Addr()).local, address)
	return append(commands, network...), err
}

// pod returns the element of an address.
func pod(owner owner.Owner, address netip.Addr) owned.Found {
	return owned.Of(owner, halfOf(address).pods, firewall.NewElement(firewall.ValueAddress(address)))
}

func halfOf(address netip.Addr) half {
	if address.Is4() {
		return ipv4
	}
	return ipv6
}

// shared returns what all networks share.
func shared() *owned.Shared {
	made := owned.Shared{
		Family: family,
		Chains: []firewall.Chain{
			firewall.HookedChain(postrouting, firewall.ChainTypeNAT, firewall.HookPostrouting, priority),
		},
	}
	for _, half := range []half{ipv4, ipv6} {
		made.Sets = append(made.Sets, firewall.NewSet(half.pods, half.key), owned.NetworkSet(half.local, half.key))
		made.Rules = append(made.Rules, half.rules()...)
	}
	return &made
}

func (half half) rules() []firewall.Rule {
	when := func(condition firewall.Condition) firewall.Rule { return firewall.NewRule(postrouting).When(condition) }
	return []firewall.Rule{
		when(firewall.InSet(half.local, half.source, half.destination)).
			KnownAs(half.local).Then(firewall.StatementReturnToCaller{}),
		when(firewall.Within(half.destination, half.multicast)).
			KnownAs(half.multicast.String()).Then(firewall.StatementReturnToCaller{}),
		when(firewall.InSet(half.pods, half.source)).
			KnownAs(half.pods).Then(firewall.Masquerade()),
	}
}

// Check fails unless everything that [Add] set up for these addresses is there, with the rules that use it. Errors:
// [weir.CodeNotAsAttached].
func Check(owner owner.Owner, ips []weir.IP) error {
	err := shared().Check()
	for i := 0; i < len(ips) && err == nil; i++ {
		err = checkOne(owner, ips[i].Address)
	}
	if err != nil {
		return fmt.Errorf("masquerading: %w", err)
	}
	return nil
}

func checkOne(owner owner.Owner, address netip.Prefix) error {
	own, local := pod(owner, address.Addr()), halfOf(address.Addr()).local
	if err := owned.Check(family, own.Set, own.Element.Key, owner); err != nil {
		return err
	}
	has, err := owned.HasNetwork(family, local, address)
	if err == nil && !has {
		err = weir.Wrong("network %v is missing in set `%s`", address.Masked(), local)
	}
	return err
}

// Remove removes the attachment's elements, for DEL: by the addresses of the previous result or, without these or where one is missing, by
// searching the sets.
func Remove(owner owner.Owner, previous *weir.Result) error {
	var known []owned.Found
	if previous != nil {
		for _, ip := range previous.IPs {
			known = append(known, pod(owner, ip.Address.Addr()))
		}
	}
	if _, err := owned.Remove(family, owner, known, sets); err != nil {
		return fmt.Errorf("cannot remove masquerading: %w", err)
	}
	return nil
}

// Retain removes the elements of attachments that are not valid, for GC.
func Retain[C any](request *weir.GCRequest[C]) error {
	if err := owned.Retain(family, sets, owner.ValidOf(request)); err != nil {
		return fmt.Errorf("cannot remove leftover masquerading: %w", err)
	}
	return nil
}
