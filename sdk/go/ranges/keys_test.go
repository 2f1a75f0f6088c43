package ranges

import (
	"fmt"
	"net/netip"
	"testing"

	"weir.dev/weir"
)

// config is that of an IPAM plugin.
type config struct {
	IPAM struct {
		Ranges [][]Keys `json:"ranges"`
		Others [][]Keys `json:"others"`
	} `json:"ipam"`
}

// read reads a configuration's keys in `ipam`, and the range sets of them.
func read(keys string) (sets Sets, err error) {
	plugin := weir.Plugin[config]{IPAM: true}
	config, err := plugin.ReadConfig(`{"ipam": {` + keys + `}}`)
	if err != nil {
		return nil, err
	}
	if err := sets.Add("ipam.ranges", config.IPAM.Ranges); err != nil {
		return nil, err
	}
	if err := sets.Add("ipam.others", config.IPAM.Others); err != nil {
		return nil, err
	}
	return sets, sets.Require("`ranges` or `others`")
}

func TestSetsOfSeveralKeysStayInOrder(t *testing.T) {
	sets, err := read(`"ranges": [[{"subnet": "10.2.0.0/16"}]],
		"others": [[{"subnet": "fd00::/64", "rangeStart": "fd00::5", "rangeEnd": "fd00::6"}],
			[{"subnet": "10.1.0.0/16", "gateway": "10.1.0.9"}]]`)
	if err != nil {
		t.Fatal(err)
	}
	if found := fmt.Sprint(sets); found != "[10.2.0.1-10.2.255.254 fd00::5-fd00::6 10.1.0.1-10.1.255.254]" {
		t.Error(found)
	}
	if !sets[2].IsGateway(netip.MustParseAddr("10.1.0.9")) {
		t.Error("the gateway is another one")
	}
}

func TestFaultsNameTheirKey(t *testing.T) {
	for keys, expected := range map[string]string{
		`"ranges": []`: "ipam: no IP ranges specified: give `ranges` or `others`",
		`"ranges": [[{"subnet": "10.0.0.0/24"}], []]`:                       "ipam.ranges[1]: empty range set",
		`"ranges": [[{"subnet": "10.0.0.0/24"}, {"gateway": "10.0.0.1"}]]`:  "ipam.ranges[0][1]: key `subnet` is missing",
		`"others": [[{"subnet": "10.0.0.0/24", "rangeStart": "10.0.1.5"}]]`: "ipam.others[0][0]: rangeStart 10.0.1.5 is not in subnet 10.0.0.0/24",
		`"ranges": [[{"subnet": "10.0.0.0"}]]`:                              "ipam.ranges[0][0].subnet: expected a prefix length after the address, such as `10.0.0.0/24`, found \"10.0.0.0\"",
		`"ranges": [[{"subnet": "10.0.0.0/16"}]],
			"others": [[{"subnet": "10.1.0.0/16"}], [{"subnet": "10.0.5.0/24"}]]`: "range set 0 (ipam.ranges[0]: 10.0.0.1-10.0.255.254) overlaps with 2 (ipam.others[1]: 10.0.5.1-10.0.5.254)",
	} {
		_, err := read(keys)
		if err == nil || err.Error() != expected || weir.CodeOf(err) != weir.CodeInvalidConfig {
			t.Errorf("%s: expected %s, found %v", keys, expected, err)
		}
	}
	if _, err := Read("ipam.ranges", nil); err == nil || err.Error() != "ipam: no IP ranges specified: give `ipam.ranges`" {
		t.Error(err)
	}
}
