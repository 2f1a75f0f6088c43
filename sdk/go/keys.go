package weir

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// wellKnown has the keys that CNI sections 1 and 3, its conventions and the multiple networks' specification define for every
// plugin.
var wellKnown = [...]string{
	"cniVersion", "cniVersions", "name", "type", "args", "ipMasq", "ipam", "dns", "capabilities", "runtimeConfig", "prevResult",
	"disableCheck", "disableGC", "loadOnlyInlinedPlugins", "deviceID", "pciBusID",
}

// fields are the keys of a struct.
type fields struct {
	names []string

	// Of each, which field of the struct it is.
	numbers []int
}

func fieldsOf(of reflect.Type) fields {
	var all fields
	for number := range of.NumField() {
		field := of.Field(number)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		all.names = append(all.names, name)
		all.numbers = append(all.numbers, number)
	}
	return all
}

// keyOf returns the key of an object that means a field: of that name, or else in any case.
func keyOf(object map[string]any, name string) (string, bool) {
	if _, is := object[name]; is {
		return name, true
	}
	for _, key := range sortedKeys(object) {
		if strings.EqualFold(key, name) {
			return key, true
		}
	}
	return "", false
}

// sortedKeys returns the keys of an object in order, so that the same configuration has the same messages.
func sortedKeys(object map[string]any) []string {
	return slices.Sorted(maps.Keys(object))
}

// noteUnknown notes the keys of an object that mean nothing.
func (reader *reader) noteUnknown(at place, object map[string]any, known fields) {
	if reader.rules.isLenient {
		return
	}
	for _, key := range sortedKeys(object) {
		isField := func(name string) bool { return strings.EqualFold(name, key) }
		if !slices.ContainsFunc(known.names, isField) && !reader.accepts(at, key) {
			reader.unknown = append(reader.unknown, fmt.Sprintf("%v: unknown key%s", at.key(key), meant(key, known.names)))
		}
	}
}

// accepts tells whether a key that is no field is somebody else's.
func (reader *reader) accepts(at place, key string) bool {
	if strings.HasPrefix(key, "_") || strings.ContainsAny(key, "./:") {
		return true
	}
	is := func(name string) bool { return strings.EqualFold(name, key) }
	if len(at) == 0 {
		return reader.rules.isIPAM || slices.ContainsFunc(wellKnown[:], is)
	}
	switch strings.ToLower(at[0]) {
	case "args", "runtimeconfig":
		return true
	case "ipam":
		// The keys are the IPAM plugin's, except the one by which it was found.
		return !reader.rules.isIPAM || len(at) == 1 && is("type")
	default:
		return false
	}
}

// meant returns which field an unknown key is likely to mean, or which there are.
func meant(key string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		if apart := distance(strings.ToLower(key), strings.ToLower(name)); best == "" || apart < least {
			best, least = name, apart
		}
	}
	switch {
	case best == "":
		return ""
	case least <= 1+len(best)/4:
		return fmt.Sprintf("; did you mean `%s`?", best)
	default:
		return "; the keys are " + strings.Join(names, ", ")
	}
}

// distance returns how many letters have to be put in, left out, replaced, or exchanged with the next one.
func distance(one, other string) int {
	rows := make([][]int, len(one)+1)
	for i := range rows {
		rows[i] = make([]int, len(other)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			replaced := rows[i-1][j-1]
			if one[i-1] != other[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && one[i-1] == other[j-2] && one[i-2] == other[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(one)][len(other)]
}
