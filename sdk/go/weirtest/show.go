//go:build !wasm

package weirtest

import (
	"fmt"
	"reflect"
	"strings"

	"weir.dev/weir"
)

// describe returns a call as text: the function, and its arguments without what they leave out.
func (host *Host) describe(function string, arguments []any) string {
	words := []string{function}
	namespace, _ := first(arguments).(weir.Namespace)
	for _, argument := range arguments {
		word := shown(reflect.ValueOf(argument))
		if link, is := argument.(weir.LinkReference); is {
			word = host.nameOf(namespace, link)
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

func first(arguments []any) any {
	if len(arguments) == 0 {
		return nil
	}
	return arguments[0]
}

// nameOf returns the name of a link that may be known by its index.
func (host *Host) nameOf(namespace weir.Namespace, link weir.LinkReference) string {
	if link.Name == "" && host.machine != nil {
		if network, err := host.machine.network(namespace); err == nil {
			if device, err := network.find(link); err == nil {
				return device.Name
			}
		}
	}
	if link.Name == "" {
		return fmt.Sprintf("#%d", link.Index)
	}
	return link.Name
}

// shown returns a value as text: a struct as its fields that are given, a pointer as what it points to.
func shown(value reflect.Value) string {
	if !value.IsValid() {
		return ""
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return ""
		}
		return shown(value.Elem())
	}
	if link, is := value.Interface().(weir.LinkReference); is {
		return strings.Trim(link.String(), "`")
	}
	if text, is := value.Interface().(fmt.Stringer); is {
		return text.String()
	}
	switch {
	case value.Kind() == reflect.Struct:
		return shownStruct(value)
	case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8:
		return string(value.Bytes())
	case value.Kind() == reflect.Slice:
		return shownList(value)
	default:
		return fmt.Sprint(value.Interface())
	}
}

func shownStruct(value reflect.Value) string {
	var words []string
	for number := range value.NumField() {
		field := value.Type().Field(number)
		if !field.IsExported() || value.Field(number).IsZero() {
			continue
		}
		words = append(words, field.Name+"="+inner(value.Field(number)))
	}
	return strings.Join(words, " ")
}

func shownList(value reflect.Value) string {
	words := make([]string, value.Len())
	for number := range value.Len() {
		words[number] = inner(value.Index(number))
	}
	return strings.Join(words, " ")
}

// inner returns a value inside another one. Where a field can have several types, its type is named.
func inner(value reflect.Value) string {
	text := shown(value)
	if value.Kind() == reflect.Interface && !value.IsNil() {
		of := value.Elem().Type()
		text = strings.TrimSpace(of.Name() + " " + text)
	}
	if strings.Contains(text, " ") {
		return "{" + text + "}"
	}
	return text
}
