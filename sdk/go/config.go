package weir

import (
	"encoding"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
)

// strict is the key that makes unknown keys an error.
const strict = "weir.dev/strict"

// rules say how a configuration is read.
type rules struct {
	// The keys outside `ipam` are those of the plugin that runs this one.
	isIPAM bool

	// Unknown keys are ignored, even in a strict configuration.
	isLenient bool
}

// parse reads a plugin's configuration, and returns it with a message about each unknown key.
func parse[C any](text string, config C, rules rules) (C, []string, error) {
	tree, err := parseJSON(text)
	if err != nil {
		return config, nil, Fail(CodeDecodingFailure, "configuration: %v", err)
	}
	reader := reader{rules: rules}
	if err := reader.read(place{}, tree, reflect.ValueOf(&config).Elem()); err != nil {
		return config, nil, Error{Code: CodeInvalidConfig, Msg: err.Error()}
	}
	object, _ := tree.(map[string]any)
	if object[strict] == true && !rules.isLenient && len(reader.unknown) > 0 {
		return config, nil, Fail(CodeInvalidConfig, "%s", reader.unknown[0])
	}
	return config, reader.unknown, nil
}

// place is where a value is in the configuration: the keys and numbers that lead to it.
type place []string

func (at place) String() string {
	if len(at) == 0 {
		return "configuration"
	}
	return strings.Join(at, "")
}

func (at place) key(key string) place {
	if len(at) > 0 {
		key = "." + key
	}
	return append(at[:len(at):len(at)], key)
}

func (at place) index(number int) place {
	return append(at[:len(at):len(at)], fmt.Sprintf("[%d]", number))
}

// reader reads values of a configuration into values of Go.
type reader struct {
	rules   rules
	unknown []string
}

func (reader *reader) read(at place, value any, into reflect.Value) error {
	if value == nil && len(at) > 0 {
		return nil
	}
	switch target := into.Addr().Interface().(type) {
	case *netip.Addr:
		return readAddr(at, value, target)
	case *netip.Prefix:
		return readPrefix(at, value, target)
	case encoding.TextUnmarshaler:
		return readText(at, value, target, "")
	}
	switch into.Kind() {
	case reflect.Bool:
		return readAs(at, value, "true or false", into.SetBool)
	case reflect.String:
		return readAs(at, value, "a string", into.SetString)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return readInteger(at, value, into)
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return reader.read(at, value, into.Elem())
	case reflect.Struct:
		return readObject(at, value, func(object map[string]any) error {
			return reader.readStruct(at, object, into)
		})
	case reflect.Slice:
		return reader.readList(at, value, into)
	case reflect.Map:
		return readObject(at, value, func(object map[string]any) error {
			return reader.readMap(at, object, into)
		})
	case reflect.Interface:
		into.Set(reflect.ValueOf(value))
		return nil
	default:
		panic(fmt.Sprintf("%v: a configuration cannot have a %v", at, into.Type()))
	}
}

func expected(at place, what string, found any) error {
	return fmt.Errorf("%v: expected %s, found %s", at, what, shown(found))
}

// shown returns a value for a message, or its beginning.
func shown(value any) string {
	const most = 80
	var text strings.Builder
	writeJSON(&text, value)
	runes := []rune(text.String())
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

func readAs[T any](at place, value any, what string, set func(T)) error {
	found, is := value.(T)
	if !is {
		return expected(at, what, value)
	}
	set(found)
	return nil
}

// readText reads a type that is a string in JSON. What it should be is in its own error where what is empty. An empty string is the
// zero value, as in the reference plugins.
func readText(at place, value any, into encoding.TextUnmarshaler, what string) error {
	text, is := value.(string)
	if !is {
		return expected(at, "a string", value)
	}
	if text == "" {
		return nil
	}
	err := into.UnmarshalText([]byte(text))
	if err != nil && what == "" {
		what = "another value: " + err.Error()
	}
	if err != nil {
		return expected(at, what, value)
	}
	return nil
}

func readInteger(at place, value any, into reflect.Value) error {
	least, most := bounds(into.Type())
	what := fmt.Sprintf("an integer from %d to %d", least, most)
	number, is := value.(number)
	if !is {
		return expected(at, what, value)
	}
	if into.CanInt() {
		wide, err := strconv.ParseInt(string(number), 10, into.Type().Bits())
		if err != nil {
			return expected(at, what, value)
		}
		into.SetInt(wide)
		return nil
	}
	wide, err := strconv.ParseUint(string(number), 10, into.Type().Bits())
	if err != nil {
		return expected(at, what, value)
	}
	into.SetUint(wide)
	return nil
}

// bounds returns the least and the largest number of a type.
func bounds(of reflect.Type) (least int64, most uint64) {
	if kind := of.Kind(); kind >= reflect.Uint && kind <= reflect.Uint64 {
		return 0, math.MaxUint64 >> (64 - of.Bits())
	}
	return math.MinInt64 >> (64 - of.Bits()), math.MaxInt64 >> (64 - of.Bits())
}

func (reader *reader) readList(at place, value any, into reflect.Value) error {
	items, is := value.([]any)
	if !is {
		return expected(at, "a list", value)
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		if err := reader.read(at.index(i), item, list.Index(i)); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

func readObject(at place, value any, read func(map[string]any) error) error {
	object, is := value.(map[string]any)
	if !is {
		return expected(at, "an object", value)
	}
	return read(object)
}

func (reader *reader) readMap(at place, object map[string]any, into reflect.Value) error {
	all := reflect.MakeMap(into.Type())
	for _, key := range sortedKeys(object) {
		read := reflect.New(into.Type().Elem()).Elem()
		if err := reader.read(at.key(key), object[key], read); err != nil {
			return err
		}
		all.SetMapIndex(reflect.ValueOf(key).Convert(into.Type().Key()), read)
	}
	into.Set(all)
	return nil
}

func (reader *reader) readStruct(at place, object map[string]any, into reflect.Value) error {
	fields := fieldsOf(into.Type())
	reader.noteUnknown(at, object, fields)
	for i, name := range fields.names {
		key, is := keyOf(object, name)
		if !is {
			continue
		}
		if err := reader.read(at.key(key), object[key], into.Field(fields.numbers[i])); err != nil {
			return err
		}
	}
	return nil
}
