package weir

import "testing"

func TestUnknownArgumentsAreAnErrorUnlessTheyAreToBeIgnored(t *testing.T) {
	const unknown = "CNI_ARGS: unknown keys BAR, FOO: known keys are MAC, IP, GATEWAY; with IgnoreUnknown=1 others are ignored"
	for _, each := range []struct {
		args     Args
		expected string
	}{
		{nil, ""},
		{Args{"IP": "10.0.0.1", "MAC": "x", "GATEWAY": ""}, ""},
		{Args{"K8S_POD_NAME": "a", "IgnoreUnknown": "1"}, ""},
		{Args{"K8S_POD_NAME": "a", "IgnoreUnknown": "true"}, ""},
		{Args{"K8S_POD_NAME": "a", "IgnoreUnknown": "TRUE"}, ""},
		{Args{"IP": "10.0.0.1", "FOO": "a", "BAR": "b"}, unknown},
		{Args{"FOO": "a", "BAR": "b", "IgnoreUnknown": "0"}, unknown},
		{Args{"FOO": "a", "BAR": "b", "IgnoreUnknown": "false"}, unknown},
		{Args{"IgnoreUnknown": "maybe"}, "CNI_ARGS: IgnoreUnknown=`maybe`: expected 1, true, 0 or false"},
		{Args{"IgnoreUnknown": "a\nb"}, "CNI_ARGS: IgnoreUnknown=`a\\nb`: expected 1, true, 0 or false"},
	} {
		err := each.args.CheckKnown()
		if each.expected == "" && err == nil {
			continue
		}
		if err == nil || err.Error() != each.expected || CodeOf(err) != CodeInvalidEnvironment {
			t.Errorf("%v: found %v", each.args, err)
		}
	}
}
