//go:build !wasm

package weirtest

import (
	"maps"
	"strconv"
	"strings"
	"unicode"

	"weir.dev/weir"
	"weir.dev/weir/sysctl"
)

// parametersOfNamespace are those of the kernel that a fresh namespace has, with their defaults.
var parametersOfNamespace = map[string]string{
	"net.bridge.bridge-nf-call-ip6tables": "1",
	"net.bridge.bridge-nf-call-iptables":  "1",
	"net.core.somaxconn":                  "4096",
	"net.ipv4.ip_forward":                 "0",
	"net.ipv4.ip_local_port_range":        "32768\t60999",
	"net.ipv4.ip_unprivileged_port_start": "1024",
	"net.ipv4.ping_group_range":           "1\t0",
	"net.ipv4.tcp_rfc1337":                "0",
	"net.ipv4.tcp_syncookies":             "1",
}

// parametersOfLink are those of a link that are 0 and those that are 1, below net.ipv4.conf and net.ipv6.conf.
var parametersOfLink = map[string][2]string{
	"ipv4.conf": {
		"accept_local arp_announce arp_filter arp_ignore arp_notify forwarding log_martians promote_secondaries proxy_arp " +
			"route_localnet rp_filter",
		"accept_redirects send_redirects",
	},
	"ipv6.conf": {
		"addr_gen_mode disable_ipv6 forwarding keep_addr_on_down ndisc_notify proxy_ndp",
		"accept_dad accept_ra accept_redirects autoconf enhanced_dad",
	},
}

// SetParameter gives a namespace a kernel parameter, also one that a fresh host lacks.
func (host *Host) SetParameter(namespace weir.Namespace, key, value string) {
	network, err := host.fake().network(namespace)
	if err != nil {
		host.test.Fatal(err)
	}
	network.parameters[key] = value
}

// addParameters gives a new link its parameters: those of `default`, once that has some.
func (network *network) addParameters(link string) {
	if link != "default" && link != "all" && network.parameters["net.ipv6.conf.default.accept_ra"] != "" {
		network.copyParameters("default", link)
		return
	}
	for group, byValue := range parametersOfLink {
		for value, names := range byValue {
			for name := range strings.FieldsSeq(names) {
				network.parameters[sysctl.OfLink(group, link, name)] = strconv.Itoa(value)
			}
		}
	}
}

func (network *network) copyParameters(from, to string) {
	for key, value := range maps.Clone(network.parameters) {
		if group, name, is := ofLink(key, from); is {
			network.parameters[sysctl.OfLink(group, to, name)] = value
		}
	}
}

func (network *network) removeParameters(link string) {
	maps.DeleteFunc(network.parameters, func(key, _ string) bool {
		_, _, is := ofLink(key, link)
		return is
	})
}

// ofLink tells whether a parameter is a link's, and returns its group and its name.
func ofLink(key, link string) (group, name string, is bool) {
	parts := strings.Split(key, ".")
	is = len(parts) == 5 && parts[2] == "conf" && parts[3] == strings.ReplaceAll(link, ".", "/")
	if !is {
		return "", "", false
	}
	return parts[1] + "." + parts[2], parts[4], true
}

func (network *network) isWithoutIPv6(link string) bool {
	value, is := network.parameters[sysctl.OfLink("ipv6.conf", link, "disable_ipv6")]
	return is && value != "0"
}

func readParameter(network *network, key string) (any, error) {
	return network.parameter(key)
}

func (network *network) parameter(key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	value, is := network.parameters[key]
	if !is {
		return "", refuse(weir.NotFound, "no such parameter: `%s`", key)
	}
	return value, nil
}

func checkKey(key string) error {
	isForbidden := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }
	isKey := strings.HasPrefix(key, "net.") && !strings.ContainsFunc(key, isForbidden)
	for segment := range strings.SplitSeq(strings.ReplaceAll(key, "/", "."), ".") {
		isKey = isKey && segment != ""
	}
	if !isKey {
		return invalid("%q is not a key below `net.`", key)
	}
	return nil
}

func writeParameter(network *network, key, value string) (any, error) {
	before, err := network.parameter(key)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(value, func(c rune) bool { return unicode.IsControl(c) && c != '\t' }) {
		return nil, invalid("the value has control characters")
	}
	value = strings.TrimSpace(value)
	if isNumber(before) && !isNumber(value) {
		return nil, badArgument
	}
	network.parameters[key] = value
	network.followParameter(key, value)
	return nil, nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// followParameter changes what the kernel changes with a parameter.
func (network *network) followParameter(key, value string) {
	switch key {
	case "net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding":
		network.setOfAllLinks("ipv4.conf", "forwarding", value)
		network.parameters["net.ipv4.ip_forward"] = value
	case "net.ipv6.conf.all.forwarding":
		network.setOfAllLinks("ipv6.conf", "forwarding", value)
	case "net.ipv6.conf.all.disable_ipv6":
		network.setOfAllLinks("ipv6.conf", "disable_ipv6", value)
	}
	if !strings.HasSuffix(key, ".disable_ipv6") {
		return
	}
	for _, device := range network.links {
		if network.isWithoutIPv6(device.Name) {
			network.dropIPv6(device.Index)
		}
	}
}

func (network *network) setOfAllLinks(group, name, value string) {
	for key := range network.parameters {
		if strings.HasPrefix(key, "net."+group+".") && strings.HasSuffix(key, "."+name) {
			network.parameters[key] = value
		}
	}
}
