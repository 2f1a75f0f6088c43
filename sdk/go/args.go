package weir

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Args are the arguments of an attachment: CNI_ARGS of CNI section 2. Of a key that is given more than once it has the last value.
type Args map[string]string

// ignoreUnknown is the argument with which unknown ones are no error.
const ignoreUnknown = "IgnoreUnknown"

// knownArgs are those that the standard plugins know. Every plugin of a list and its IPAM plugin get the same arguments.
var knownArgs = []string{"MAC", "IP", "GATEWAY"}

// CheckKnown fails for arguments other than MAC, IP, GATEWAY and IgnoreUnknown, unless IgnoreUnknown is `1` or `true`. weir does not
// check them: a plugin that reads arguments does.
//
// Errors: code 4, which names all other arguments in the order of their names, or IgnoreUnknown if it is neither of those nor `0` or
// `false`.
func (args Args) CheckKnown() error {
	ignores, err := args.ignoresUnknown()
	if err != nil || ignores {
		return err
	}
	isKnown := func(key string) bool { return key == ignoreUnknown || slices.Contains(knownArgs, key) }
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(args)), isKnown)
	if len(unknown) == 0 {
		return nil
	}
	return Error{
		Code:    CodeInvalidEnvironment,
		Msg:     "CNI_ARGS: unknown keys " + strings.Join(unknown, ", "),
		Details: "known keys are " + strings.Join(knownArgs, ", ") + "; with IgnoreUnknown=1 others are ignored",
	}
}

func (args Args) ignoresUnknown() (bool, error) {
	value, is := args[ignoreUnknown]
	if !is {
		return false, nil
	}
	switch strings.ToLower(value) {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	default:
		const message = "CNI_ARGS: %s=`%s`: expected 1, true, 0 or false"
		return false, Fail(CodeInvalidEnvironment, message, ignoreUnknown, escaped(value))
	}
}

// escaped returns a text of the caller for a message, on one line.
func escaped(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
