// The plugin `{{name}}`: caps the MTU of the container's interface.
//
// It creates nothing, and comes after the plugin that makes the interface. Its keys:
//
//	mtu  bytes, 1400 by default; an interface with more gets this, one with less keeps its own
package main

import (
	"fmt"

	"weir.dev/weir"
	"weir.dev/weir/link"
)

// leastMTU is what every link must carry (RFC 791).
const leastMTU = 68

// Config has the plugin's keys of the network configuration.
type Config struct {
	// In bytes.
	MTU uint32 `json:"mtu"`
}

var plugin = weir.Plugin[Config]{
	Name:    "{{name}}",
	Version: "0.1.0",
	// `weir plugin inspect` and VERSION show it: say what your plugin does.
	Description: "{{description}}",
	Defaults:    Config{MTU: 1400},
	Validate:    validate,
	Add:         add,
	Check:       check,
	// No Del: the MTU disappears with the interface.
}

func validate(config *Config) error {
	if config.MTU < leastMTU {
		return weir.Fail(weir.CodeInvalidConfig, "mtu: expected at least %d, found %d", leastMTU, config.MTU)
	}
	return nil
}

func add(request *weir.Request[Config]) (weir.Result, error) {
	result, err := request.Chained()
	if err != nil {
		return result, err
	}
	container, err := request.ContainerInterface()
	if err != nil || container.MTU <= request.Config.MTU {
		return result, err
	}
	mtu := &request.Config.MTU
	if err := link.Update(weir.Container, weir.LinkName(request.Ifname), link.Changes{MTU: mtu}); err != nil {
		return result, fmt.Errorf("cannot set the MTU: %w", err)
	}
	if capped := request.ResultInterface(&result); capped != nil {
		capped.MTU = mtu
	}
	return result, nil
}

func check(request *weir.Request[Config]) error {
	container, err := request.ContainerInterface()
	if err != nil {
		return err
	}
	if most := request.Config.MTU; container.MTU > most {
		return weir.Wrong("`%s` has an MTU of %d; expected at most %d", container.Name, container.MTU, most)
	}
	return nil
}

func init() { weir.Export(plugin) }

// What a plugin does begins with a command.
func main() {}
