package weir

import (
	"weir.dev/weir/internal/abi"
	"weir.dev/weir/internal/contract"
	"weir.dev/weir/log"
)

// Plugin is what a network plugin with the configuration C does: the commands of CNI section 2.
//
// Keys of C are named by its json tags. An unknown key is reported in weir's log, and is an error in a configuration with
// "weir.dev/strict": true. DEL and GC ignore unknown keys and do not validate, so that what an earlier configuration made can
// always be removed.
type Plugin[C any] struct {
	// The plugin's name, as `type` in a configuration.
	Name string

	// Its semantic version.
	Version string

	// What it does, in one sentence.
	Description string

	// The configuration in which nothing is given.
	Defaults C

	// Whether it is an IPAM plugin. It gets the configuration of the plugin that runs it, and only the keys inside `ipam` are its
	// own.
	IPAM bool

	// Checks what the types of the configuration cannot say. Its errors have code 7 and begin with the key. May be nil.
	Validate func(config *C) error

	// ADD: attaches the container to the network, or changes an attachment. It returns the plugin's own result or the previous one
	// with its changes. If it fails, weir removes everything that it created.
	Add func(request *Request[C]) (Result, error)

	// DEL: undoes Add. Must succeed if nothing is left to remove. May be nil if everything that Add makes disappears with the
	// container's interface.
	Del func(request *Request[C]) error

	// CHECK: fails if the attachment is not as the previous result says.
	Check func(request *Request[C]) error

	// STATUS: fails if the plugin cannot serve an ADD now. May be nil.
	Status func(request *StatusRequest[C]) error

	// GC: removes what belongs to no valid attachment. May be nil.
	GC func(request *GCRequest[C]) error
}

// exported is the plugin that this program is.
var exported struct {
	about contract.About
	Commands
}

// Commands are a plugin's commands as weir runs them: with the configuration as text. The package weirtest runs them in tests.
type Commands struct {
	Add    func(contract.Request) (Result, error)
	Del    func(contract.Request) error
	Check  func(contract.Request) error
	Status func(contract.StatusRequest) error
	GC     func(contract.GCRequest) error
}

// Commands returns the plugin's commands. Each error is an [Error], with the code that weir reports.
func (plugin Plugin[C]) Commands() Commands {
	return Commands{
		Add: func(raw contract.Request) (Result, error) {
			result, err := plugin.add(raw)
			return result, reported(err)
		},
		Del:    func(raw contract.Request) error { return reported(plugin.del(raw)) },
		Check:  func(raw contract.Request) error { return reported(plugin.check(raw)) },
		Status: func(raw contract.StatusRequest) error { return reported(plugin.status(raw)) },
		GC:     func(raw contract.GCRequest) error { return reported(plugin.gc(raw)) },
	}
}

// Export makes a plugin what this program is. It is called once, by an init function.
func Export[C any](plugin Plugin[C]) {
	if exported.about.Name != "" {
		panic("weir.Export: called twice")
	}
	if plugin.Name == "" || plugin.Add == nil || plugin.Check == nil {
		panic("weir.Export: a plugin needs Name, Add and Check")
	}
	exported.about = contract.About{Name: plugin.Name, Version: plugin.Version, Description: plugin.Description}
	exported.Commands = plugin.Commands()
	abi.Exit()
}

func (plugin *Plugin[C]) add(raw contract.Request) (Result, error) {
	config, err := plugin.config(raw.Config)
	if err != nil {
		return Result{}, err
	}
	return plugin.Add(makeRequest(raw, config))
}

func (plugin *Plugin[C]) del(raw contract.Request) error {
	config, err := plugin.configForRemoval(raw.Config)
	if err != nil || plugin.Del == nil {
		return err
	}
	return plugin.Del(makeRequest(raw, config))
}

func (plugin *Plugin[C]) check(raw contract.Request) error {
	config, err := plugin.config(raw.Config)
	if err != nil {
		return err
	}
	return whatIsGone(plugin.Check(makeRequest(raw, config)))
}

func (plugin *Plugin[C]) status(raw contract.StatusRequest) error {
	config, err := plugin.config(raw.Config)
	if err != nil || plugin.Status == nil {
		return err
	}
	return plugin.Status(&StatusRequest[C]{Network: raw.Network, Config: config})
}

func (plugin *Plugin[C]) gc(raw contract.GCRequest) error {
	config, err := plugin.configForRemoval(raw.Config)
	if err != nil || plugin.GC == nil {
		return err
	}
	return plugin.GC(&GCRequest[C]{
		Network:          raw.Network,
		KnownAs:          raw.KnownAs,
		Config:           config,
		ValidAttachments: raw.ValidAttachments,
	})
}

// ReadConfig reads a configuration as ADD does, for tests.
func (plugin Plugin[C]) ReadConfig(text string) (C, error) {
	return plugin.config(text)
}

// config reads the configuration for ADD, CHECK and STATUS, and logs its unknown keys.
func (plugin *Plugin[C]) config(text string) (C, error) {
	config, unknown, err := parse(text, plugin.Defaults, rules{isIPAM: plugin.IPAM})
	for _, message := range unknown {
		log.Write(log.LevelWarn, message, nil)
	}
	if err == nil && plugin.Validate != nil {
		err = plugin.Validate(&config)
	}
	return config, err
}

func (plugin *Plugin[C]) configForRemoval(text string) (C, error) {
	config, _, err := parse(text, plugin.Defaults, rules{isIPAM: plugin.IPAM, isLenient: true})
	return config, err
}
