// Package iface makes, configures and deletes the container's interface: the link where nothing on the host belongs to it, addresses,
// routes, announcements. A main plugin that makes one link in the container is:
//
//	func add(request *weir.Request[Config]) (weir.Result, error) {
//		made, err := iface.Create(request, link.NewLink{Kind: link.NewKindDummy{}})
//		if err != nil {
//			return weir.Result{}, err
//		}
//		assigned, err := request.Config.IPAM.Assign(iface.ContainerInterface)
//		if err != nil {
//			return weir.Result{}, err
//		}
//		if err := iface.Configure(made, &assigned); err != nil {
//			return weir.Result{}, err
//		}
//		return iface.Result(weir.InterfaceOf(made, request.Sandbox), assigned, request.Config.DNS), nil
//	}
//
// Main of the package ipam runs DeleteOwn for DEL, and weir.CheckAttached for CHECK, where the plugin has nothing else to do.
package iface

import (
	"fmt"

	"weir.dev/weir"
	"weir.dev/weir/link"
	"weir.dev/weir/log"
	"weir.dev/weir/owner"
)

// ContainerInterface is the index of the container's interface in the result of a plugin that makes no other.
const ContainerInterface uint32 = 0

// Create creates the container's interface and sets it up. Errors and grant: those of [CreateDown].
func Create[C any](request *weir.Request[C], wanted link.NewLink) (link.Link, error) {
	wanted.Up = true
	return CreateDown(request, wanted)
}

// CreateDown creates the container's interface. Namespace, name and alias of the link are set here: the alias names the attachment, so
// that [DeleteOwn] finds the link when the container has renamed it.
//
// Errors: [weir.CodeExists] for an interface of that name in the container, and for one that there can be once, such as that of a VLAN
// over its lower device; what the kernel refuses. Grant: `link`, verb `create` for the kind, and `read`.
func CreateDown[C any](request *weir.Request[C], wanted link.NewLink) (link.Link, error) {
	wanted.Namespace, wanted.Name = weir.Container, request.Ifname
	wanted.Alias = new(owner.Of(request).Mark())
	created, err := link.Create(wanted)
	if weir.Is(err, weir.Exists) {
		if err := RefuseExisting(request.Ifname); err != nil {
			return created, err
		}
	}
	if err != nil {
		return created, fmt.Errorf("cannot create `%s`: %w", request.Ifname, err)
	}
	return created, nil
}

// RefuseExisting fails if the container has an interface of this name already, also one that the grant does not show.
//
// Errors: [weir.CodeExists].
func RefuseExisting(ifname string) error {
	if _, err := link.Get(weir.Container, weir.LinkName(ifname)); weir.IsGone(err) {
		return nil
	}
	return weir.Fail(weir.CodeExists, "interface `%s` exists already in the container", ifname)
}

// Delete deletes the container's interface where it exists. One that the grant does not let the plugin delete, because it is of another
// kind, is not the plugin's: it made ADD fail, and stays. Returns whether it was there. Grant: `link`, verb `delete`.
func Delete[C any](request *weir.Request[C]) (bool, error) {
	if !request.HasContainer {
		return false, nil
	}
	err := link.Delete(weir.Container, weir.LinkName(request.Ifname))
	switch {
	case weir.IsGone(err):
		return false, nil
	case weir.Is(err, weir.Denied):
		message := "the container's interface is not the plugin's and was left alone"
		log.Write(log.LevelWarn, message, [][2]string{{"link", request.Ifname}, {"error", err.Error()}})
		return true, nil
	case err != nil:
		return false, fmt.Errorf("cannot delete `%s`: %w", request.Ifname, err)
	default:
		return true, nil
	}
}

// DeleteOwn deletes the link that [Create] made, of this kind, also where the container has renamed it. Grant: `link`, verbs `read` and
// `delete`, for any name to find a renamed one.
func DeleteOwn[C any](request *weir.Request[C], kind string) error {
	wasThere, err := Delete(request)
	if err != nil || wasThere || !request.HasContainer {
		return err
	}
	links, err := link.List(weir.Container, &kind, nil)
	if err != nil {
		return fmt.Errorf("cannot list the container's interfaces: %w", err)
	}
	var own []weir.LinkReference
	for _, one := range links {
		if owner.Of(request).Has(one.Alias) {
			own = append(own, weir.LinkIndex(one.Index))
		}
	}
	if len(own) == 0 {
		return nil
	}
	if err := link.DeleteAll(weir.Container, own); err != nil {
		return fmt.Errorf("cannot delete the renamed interface: %w", err)
	}
	return nil
}

// Result returns the result of a plugin that makes no other interface, with what was assigned and the configuration's DNS settings in
// place of the IPAM plugin's.
func Result(made weir.Interface, assigned weir.Result, dns weir.DNSKeys) weir.Result {
	assigned.Interfaces = []weir.Interface{made}
	dns.Apply(&assigned.DNS)
	return assigned
}
