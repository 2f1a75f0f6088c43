// The plugin `{{name}}`: connects a container and the host by a veth pair of their own.
//
// The IPAM plugin assigns the container's addresses, IPv4 and IPv6, each with a gateway, which becomes the address of the host's end.
// Whether the host forwards what the container sends there is left as it is. Its keys:
//
//	ipam  type names the IPAM plugin; the other keys are that plugin's
package main

import (
	"weir.dev/weir"
	"weir.dev/weir/ipam"
	"weir.dev/weir/veth"
)

// Config has the plugin's keys of the network configuration.
type Config struct {
	IPAM ipam.Keys `json:"ipam"`
}

// It runs the IPAM plugin's commands besides its own.
var plugin = ipam.Main(weir.Plugin[Config]{
	Name:    "{{name}}",
	Version: "0.1.0",
	// `weir plugin inspect` and VERSION show it: say what your plugin does.
	Description: "{{description}}",
	Add:         add,
	Del:         veth.Delete[Config],
	Check:       check,
}, "veth", func(config *Config) ipam.Keys { return config.IPAM })

// What it makes before an error is removed by weir, and the addresses are released. They are also released after Del.
func add(request *weir.Request[Config]) (weir.Result, error) {
	result, err := request.Config.IPAM.Assign(veth.ContainerInterface)
	if err != nil {
		return result, err
	}
	pair, err := veth.Create(request)
	if err != nil {
		return result, err
	}
	result.Interfaces = pair.Interfaces(request.Sandbox)
	return result, pair.Configure(&result)
}

func check(request *weir.Request[Config]) error {
	_, err := veth.Attached(request)
	return err
}

func init() { weir.Export(plugin) }

// What a plugin does begins with a command.
func main() {}
