//go:build !wasm

package weirtest

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"weir.dev/weir"
	"weir.dev/weir/store"
)

// values are those of a store, by their keys.
type values map[string][]byte

// openStore is the store that is open. In a test a plugin has one open at once: the functions of a transaction do not say which one
// they are of.
type openStore struct {
	directory  string
	isWritable bool

	// As they are to be committed.
	values values
}

const largestValue = 64 << 10

func (opened *openStore) clone() *openStore {
	if opened == nil {
		return nil
	}
	copied := *opened
	copied.values = maps.Clone(opened.values)
	return &copied
}

// PutFile puts a file on the host, which store.ReadFile reads.
func (host *Host) PutFile(path string, content []byte) {
	host.fake().files[path] = content
}

func readFile(machine *machine, name string) (any, error) {
	content, is := machine.files[name]
	switch {
	case !path.IsAbs(name):
		return nil, invalid("the path is not absolute")
	case !is:
		return nil, noEntry
	case len(content) > largestValue:
		return nil, invalid("the file is larger than %d bytes", largestValue)
	default:
		return slices.Clone(content), nil
	}
}

func openStoreAt(machine *machine, location store.Location, access store.Access) (any, error) {
	directory, err := machine.directory(location)
	if err != nil {
		return nil, err
	}
	if machine.open != nil && machine.open.directory == directory {
		return nil, refuse(weir.Busy, "the store is open already")
	}
	if machine.open != nil {
		return nil, refuse(weir.Unsupported, "the fake host has one store open at once, and `%s` is open", machine.open.directory)
	}
	kept := maps.Clone(machine.stores[directory])
	if kept == nil {
		kept = make(values)
	}
	machine.open = &openStore{directory: directory, isWritable: access == store.AccessWrite, values: kept}
	return &store.Transaction{}, nil
}

func (machine *machine) directory(location store.Location) (string, error) {
	var directory string
	switch named := location.(type) {
	case store.LocationPrivate:
		return "private/" + machine.marks.name, nil
	case store.LocationDirectory:
		directory = string(named) + "/" + machine.marks.name
	case store.LocationSharedDirectory:
		directory = string(named)
	}
	if !path.IsAbs(directory) {
		return "", invalid("`%s` is not an absolute path", directory)
	}
	return directory, nil
}

// opened returns the open store, for a change where isChange.
func (machine *machine) opened(isChange bool) (*openStore, error) {
	switch {
	case machine.open == nil:
		return nil, refuse(weir.Failed, "the store is not open")
	case isChange && !machine.open.isWritable:
		return nil, invalid("the store was opened for reading")
	default:
		return machine.open, nil
	}
}

func getValue(machine *machine, key string) (any, error) {
	opened, err := machine.opened(false)
	if err != nil {
		return nil, err
	}
	value, is := opened.values[key]
	if !is {
		return nil, refuse(weir.NotFound, "no such key: `%s`", key)
	}
	return slices.Clone(value), checkEntry(key, nil)
}

func putValue(machine *machine, key string, value []byte) (any, error) {
	opened, err := machine.opened(true)
	if err != nil {
		return nil, err
	}
	if err := checkEntry(key, value); err != nil {
		return nil, err
	}
	opened.values[key] = slices.Clone(value)
	return nil, nil
}

func claimKey(machine *machine, keys []string, value []byte) (any, error) {
	opened, err := machine.opened(true)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := checkEntry(key, value); err != nil {
			return nil, err
		}
	}
	for _, key := range keys {
		if _, isTaken := opened.values[key]; !isTaken {
			opened.values[key] = slices.Clone(value)
			return &key, nil
		}
	}
	return (*string)(nil), nil
}

func deleteKey(machine *machine, key string) (any, error) {
	opened, err := machine.opened(true)
	if err != nil {
		return nil, err
	}
	if _, is := opened.values[key]; !is {
		return nil, refuse(weir.NotFound, "no such key: `%s`", key)
	}
	delete(opened.values, key)
	return nil, nil
}

func listKeys(machine *machine) (any, error) {
	opened, err := machine.opened(false)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(opened.values)), nil
}

func findKeys(machine *machine, value []byte) (any, error) {
	opened, err := machine.opened(false)
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, key := range slices.Sorted(maps.Keys(opened.values)) {
		if bytes.Equal(bytes.TrimSpace(opened.values[key]), value) {
			found = append(found, key)
		}
	}
	return found, nil
}

func commitStore(machine *machine) (any, error) {
	opened, err := machine.opened(false)
	if err != nil {
		return nil, err
	}
	machine.stores[opened.directory] = maps.Clone(opened.values)
	return nil, nil
}

// closeStore undoes what was not committed.
func closeStore(machine *machine) (any, error) {
	machine.open = nil
	return nil, nil
}

// checkEntry fails for what cannot be a key, or a value.
func checkEntry(key string, value []byte) error {
	isForbidden := func(c rune) bool {
		isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !isLetter && !strings.ContainsRune("._:-", c)
	}
	if key == "" || len(key) > 255 || strings.ContainsFunc(key, isForbidden) || slices.Contains([]string{".", "..", "lock"}, key) {
		return invalid("%q is not a key: expected 1 to 255 bytes of `A-Z a-z 0-9 . _ : -`", key)
	}
	if len(value) > largestValue {
		return invalid("a value of %d bytes: expected at most %d", len(value), largestValue)
	}
	return nil
}
