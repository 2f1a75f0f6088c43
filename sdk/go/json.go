package weir

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The reader of JSON here is smaller than that of the standard library, which would double the size of a plugin and the time that its
// compilation takes. A configuration is written by weir, so a mistake in it has no place.

// number is a number in JSON, as it is written.
type number string

var errNotJSON = errors.New("not JSON")

// parseJSON returns a value: nil, a bool, a number, a string, []any or map[string]any.
func parseJSON(text string) (any, error) {
	rest := scanner{rest: text}
	value, err := rest.value()
	if err == nil && rest.skip() != "" {
		err = errNotJSON
	}
	return value, err
}

// scanner has what is left of a text.
type scanner struct {
	rest string
}

// skip returns what is left after white space.
func (scanner *scanner) skip() string {
	scanner.rest = strings.TrimLeft(scanner.rest, " \t\r\n")
	return scanner.rest
}

// take takes this text where it is next, after white space.
func (scanner *scanner) take(text string) bool {
	rest, is := strings.CutPrefix(scanner.skip(), text)
	if is {
		scanner.rest = rest
	}
	return is
}

func (scanner *scanner) value() (any, error) {
	switch {
	case scanner.take("{"):
		return scanner.object()
	case scanner.take("["):
		return scanner.list()
	case scanner.take(`"`):
		return scanner.text()
	case scanner.take("null"):
		return nil, nil
	case scanner.take("true"):
		return true, nil
	case scanner.take("false"):
		return false, nil
	default:
		return scanner.number()
	}
}

func (scanner *scanner) object() (any, error) {
	all := make(map[string]any)
	err := scanner.until("}", func() error {
		if !scanner.take(`"`) {
			return errNotJSON
		}
		key, err := scanner.text()
		if err != nil || !scanner.take(":") {
			return errNotJSON
		}
		all[key], err = scanner.value()
		return err
	})
	return all, err
}

func (scanner *scanner) list() (any, error) {
	all := []any{}
	err := scanner.until("]", func() error {
		value, err := scanner.value()
		all = append(all, value)
		return err
	})
	return all, err
}

// until reads items with commas between them, up to an end.
func (scanner *scanner) until(end string, item func() error) error {
	if scanner.take(end) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if scanner.take(end) {
			return nil
		}
		if !scanner.take(",") {
			return errNotJSON
		}
	}
}

func (scanner *scanner) number() (any, error) {
	length := len(scanner.rest) - len(strings.TrimLeft(scanner.rest, "+-.0123456789eE"))
	text := scanner.rest[:length]
	scanner.rest = scanner.rest[length:]
	if _, err := strconv.ParseFloat(text, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, errNotJSON
	}
	return number(text), nil
}

// text reads what is left of a string, whose first quotation mark is taken.
func (scanner *scanner) text() (string, error) {
	var text strings.Builder
	for {
		end := strings.IndexAny(scanner.rest, "\"\\")
		if end < 0 {
			return "", errNotJSON
		}
		text.WriteString(scanner.rest[:end])
		mark := scanner.rest[end]
		scanner.rest = scanner.rest[end+1:]
		if mark == '"' {
			return text.String(), nil
		}
		escaped, err := scanner.escaped()
		if err != nil {
			return "", err
		}
		text.WriteRune(escaped)
	}
}

// escaped reads what follows a backslash.
func (scanner *scanner) escaped() (rune, error) {
	if scanner.rest == "" {
		return 0, errNotJSON
	}
	mark := scanner.rest[0]
	scanner.rest = scanner.rest[1:]
	if mark == 'u' {
		return scanner.unit()
	}
	if at := strings.IndexByte(`"\/bfnrt`, mark); at >= 0 {
		return rune("\"\\/\b\f\n\r\t"[at]), nil
	}
	return 0, errNotJSON
}

// unit reads the four digits of a code unit, and the second one of a pair.
func (scanner *scanner) unit() (rune, error) {
	unit, err := scanner.hex()
	if err != nil || !utf16.IsSurrogate(unit) {
		return unit, err
	}
	rest, is := strings.CutPrefix(scanner.rest, `\u`)
	if !is {
		return utf8.RuneError, nil
	}
	scanner.rest = rest
	second, err := scanner.hex()
	return utf16.DecodeRune(unit, second), err
}

func (scanner *scanner) hex() (rune, error) {
	const digits = 4
	if len(scanner.rest) < digits {
		return 0, errNotJSON
	}
	unit, err := strconv.ParseUint(scanner.rest[:digits], 16, 16)
	scanner.rest = scanner.rest[digits:]
	if err != nil {
		return 0, errNotJSON
	}
	return rune(unit), nil
}

// writeJSON writes a value as JSON, with keys in order, for messages.
func writeJSON(out *strings.Builder, value any) {
	switch value := value.(type) {
	case nil:
		out.WriteString("null")
	case string:
		out.WriteString(strconv.Quote(value))
	case number:
		out.WriteString(string(value))
	case []any:
		writeItems(out, "[", "]", len(value), func(i int) { writeJSON(out, value[i]) })
	case map[string]any:
		keys := sortedKeys(value)
		writeItems(out, "{", "}", len(keys), func(i int) {
			out.WriteString(strconv.Quote(keys[i]) + ":")
			writeJSON(out, value[keys[i]])
		})
	case bool:
		out.WriteString(strconv.FormatBool(value))
	}
}

func writeItems(out *strings.Builder, begin, end string, count int, item func(i int)) {
	out.WriteString(begin)
	for i := range count {
		if i > 0 {
			out.WriteString(",")
		}
		item(i)
	}
	out.WriteString(end)
}
