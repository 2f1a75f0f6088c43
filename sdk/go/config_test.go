package weir

import (
	"net/netip"
	"strings"
	"testing"
)

type trunk struct {
	ID uint16 `json:"id"`
}

type config struct {
	Bridge    string     `json:"bridge"`
	IsGateway bool       `json:"isGateway"`
	MTU       uint16     `json:"mtu"`
	Offset    int8       `json:"offset"`
	Gateway   netip.Addr `json:"gateway"`
	Trunk     []trunk    `json:"trunk"`
	Routes    []Route    `json:"routes"`
	IPAM      struct {
		Type string `json:"type"`
	} `json:"ipam"`
}

func read(text string) (config, []string, error) {
	return parse(text, config{MTU: 1500}, rules{})
}

func TestAConfigurationIsRead(t *testing.T) {
	found, unknown, err := read(`{"cniVersion": "1.0.0", "name": "n", "type": "t", "bridge": "br\u00e4\n", "isgateway": true, "mtu": null,
		"offset": -3, "gateway": "10.0.0.1", "trunk": [{"id": 7}], "ipam": {"type": "x", "subnet": "10.0.0.0/24"},
		"routes": [{"dst": "10.1.0.0/16", "gw": "", "mtu": 1400}, {"dst": "0.0.0.0/0", "gw": "::ffff:10.1.0.1"}],
		"args": {"cni": {"x": 1}}, "_why": 1, "example.org/x": [{}]}`)
	if err != nil || len(unknown) > 0 {
		t.Fatal(err, unknown)
	}
	if found.Bridge != "brä\n" || !found.IsGateway || found.MTU != 1500 || found.Offset != -3 || found.Gateway.String() != "10.0.0.1" {
		t.Errorf("%+v", found)
	}
	if found.Trunk[0].ID != 7 || found.IPAM.Type != "x" {
		t.Errorf("%+v", found)
	}
	if route := found.Routes[0]; route.Dst.String() != "10.1.0.0/16" || route.GW.IsValid() || *route.MTU != 1400 {
		t.Errorf("%+v", route)
	}
	if gateway := found.Routes[1].GW; gateway != netip.MustParseAddr("10.1.0.1") {
		t.Error(gateway)
	}
}

func TestAWrongTypeIsNamedWithItsPlaceAndWhatIsExpected(t *testing.T) {
	for text, expected := range map[string]string{
		`{"bridge": 7}`:                        `bridge: expected a string, found 7`,
		`{"isGateway": "yes"}`:                 `isGateway: expected true or false, found "yes"`,
		`{"mtu": "1500"}`:                      `mtu: expected an integer from 0 to 65535, found "1500"`,
		`{"mtu": 70000}`:                       `mtu: expected an integer from 0 to 65535, found 70000`,
		`{"mtu": 1.5}`:                         `mtu: expected an integer from 0 to 65535, found 1.5`,
		`{"offset": -129}`:                     `offset: expected an integer from -128 to 127, found -129`,
		`{"trunk": [{"id": 1}, {"id": true}]}`: `trunk[1].id: expected an integer from 0 to 65535, found true`,
		`{"trunk": {"id": 1}}`:                 `trunk: expected a list, found {"id":1}`,
		`{"gateway": "10.0.0"}`:                `gateway: expected an IP address, found "10.0.0"`,
		`{"gateway": "fe80::1%eth0"}`:          `gateway: expected an IP address without a zone, found "fe80::1%eth0"`,
		`{"routes": [{"dst": "10.0.0.0"}]}`:    "routes[0].dst: expected a prefix length after the address, such as `10.0.0.0/24`, found \"10.0.0.0\"",
		`{"routes": [{"dst": "fd00::"}]}`:      "routes[0].dst: expected a prefix length after the address, such as `fd00::/64`, found \"fd00::\"",
		`{"routes": [{"dst": "10.0.0.0/33"}]}`: `routes[0].dst: expected a prefix length from 0 to 32 after the address, found "10.0.0.0/33"`,
		`{"routes": [{"dst": "fd00::/"}]}`:     `routes[0].dst: expected a prefix length from 0 to 128 after the address, found "fd00::/"`,
		`{"routes": [{"dst": "10.0.0/8"}]}`:    "routes[0].dst: expected an IP address with a prefix length, such as `10.1.0.5/16`, found \"10.0.0/8\"",
		`{"routes": [{"dst": 10}]}`:            `routes[0].dst: expected a string, found 10`,
		`{"ipam": {"type": 5}}`:                `ipam.type: expected a string, found 5`,
		`[1]`:                                  `configuration: expected an object, found [1]`,
	} {
		_, _, err := read(text)
		if err == nil || err.Error() != expected || failure(err).Code != CodeInvalidConfig {
			t.Errorf("%s: expected %s, found %v", text, expected, err)
		}
	}
}

func TestAnUnknownKeyIsNamedWithTheNearestOne(t *testing.T) {
	for text, expected := range map[string]string{
		`{"isGatway": true}`:                     "isGatway: unknown key; did you mean `isGateway`?",
		`{"trunk": [{"id": 1, "idd": 2}]}`:       "trunk[0].idd: unknown key; did you mean `id`?",
		`{"trunk": [{"id": 1, "colour": 2}]}`:    "trunk[0].colour: unknown key; the keys are id",
		`{"mtu": 1, "mut": 2, "MTU": 3, "x": 1}`: "mut: unknown key; did you mean `mtu`?",
	} {
		_, unknown, err := read(text)
		if err != nil || len(unknown) == 0 || unknown[0] != expected {
			t.Errorf("%s: expected %s, found %v, %v", text, expected, unknown, err)
		}
		inStrict := strings.Replace(text, "{", `{"weir.dev/strict": true, `, 1)
		if _, _, err := read(inStrict); err == nil || err.Error() != expected {
			t.Errorf("%s: expected %s, found %v", inStrict, expected, err)
		}
		if _, unknown, err := parse(inStrict, config{}, rules{isLenient: true}); err != nil || len(unknown) > 0 {
			t.Errorf("%s: found %v, %v", inStrict, unknown, err)
		}
	}
}

func TestAnIPAMPluginOwnsTheKeysInIpam(t *testing.T) {
	type keys struct {
		IPAM struct {
			Subnet string `json:"subnet"`
		} `json:"ipam"`
	}
	text := `{"bridge": "b", "ipam": {"type": "x", "subnet": "s", "subnets": 1}}`
	found, unknown, err := parse(text, keys{}, rules{isIPAM: true})
	if err != nil || found.IPAM.Subnet != "s" {
		t.Error(found, err)
	}
	if len(unknown) != 1 || unknown[0] != "ipam.subnets: unknown key; did you mean `subnet`?" {
		t.Error(unknown)
	}
}

func TestWhatIsNotJSONIsADecodingFailure(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"`, `{"a": }`, `{"a": 1,}`, `[1 2]`, `{"a": "\x"}`, `{"a": "\u00"}`, `{} {}`, `{"a": -}`, `"`} {
		if _, _, err := read(text); err == nil || failure(err).Code != CodeDecodingFailure {
			t.Errorf("%s: found %v", text, err)
		}
	}
}

func TestEscapesAreRead(t *testing.T) {
	value, err := parseJSON(`"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\ud83d"`)
	if value != "\"\\/\b\f\n\r\tA😀\uFFFD" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
}
