package weir

import "testing"

func TestAMACThatNoInterfaceCanHaveIsRefused(t *testing.T) {
	for _, text := range []string{
		"nonsense", "", "01:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "02:00:00:00:00:00:00:01", "02:00:00:00:00:0", "02:0:0:0:0:1",
	} {
		if mac, err := ParseMAC(text); err == nil {
			t.Errorf("%q: %v", text, mac)
		}
	}
	if mac, err := ParseMAC("02-00-00-00-00-AA"); err != nil || mac.String() != "02:00:00:00:00:aa" {
		t.Error(mac, err)
	}
}

func TestTheRuntimeIsAskedForAMACFirstAndCNIArgsLast(t *testing.T) {
	request := &Request[struct{}]{Args: map[string]string{"MAC": "02:00:00:00:00:03"}}
	key := func(last string) MACKey { return MACKey{MAC: "02:00:00:00:00:" + last} }
	for _, each := range []struct {
		runtime  MACKey
		args     CNIArgs
		expected string
	}{
		{key("01"), CNIArgs{key("02")}, "02:00:00:00:00:01"},
		{MACKey{}, CNIArgs{key("02")}, "02:00:00:00:00:02"},
		{MACKey{}, CNIArgs{}, "02:00:00:00:00:03"},
	} {
		if mac, err := request.RequestedMAC(each.runtime, each.args); err != nil || mac.String() != each.expected {
			t.Errorf("%+v: %v, %v", each, mac, err)
		}
	}
	if _, err := request.RequestedMAC(key("0x"), CNIArgs{}); CodeOf(err) != CodeInvalidConfig {
		t.Error(err)
	}
	for _, args := range []Args{{"MAC": "nonsense"}, {"MAC": "01:00:00:00:00:01"}, {"NONE": "1"}} {
		request.Args = args
		if _, err := request.RequestedMAC(MACKey{}, CNIArgs{}); CodeOf(err) != CodeInvalidEnvironment {
			t.Errorf("%v: found %v", args, err)
		}
	}
	request.Args = nil
	if mac, err := request.RequestedMAC(MACKey{}, CNIArgs{}); mac != nil || err != nil {
		t.Error(mac, err)
	}
}
