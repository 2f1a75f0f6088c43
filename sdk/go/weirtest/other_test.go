package weirtest

import (
	"net/netip"
	"slices"
	"testing"

	"weir.dev/weir"
	hardware "weir.dev/weir/device"
	"weir.dev/weir/firewalld"
	"weir.dev/weir/policyrule"
)

func TestPolicyRulesAreInTheKernelsOrder(t *testing.T) {
	New(t)
	from := func(source string, table uint32) policyrule.Rule {
		return policyrule.FromSource(netip.MustParseAddr(source), table)
	}
	first, later := from("10.1.0.2", 100), from("10.1.0.2", 101)
	first.Priority, later.Priority = new(uint32(100)), new(uint32(200))
	succeeded(t, policyrule.Add(weir.Container, first))
	failed(t, policyrule.Add(weir.Container, first), weir.Exists)
	succeeded(t, policyrule.Add(weir.Container, later))
	succeeded(t, policyrule.Add(weir.Container, from("fd00::2", 100)))
	// Without a priority it is before all but the first.
	succeeded(t, policyrule.Add(weir.Container, from("10.1.0.3", 99)))
	rules, err := policyrule.List(weir.Container, new(weir.IPv4))
	succeeded(t, err)
	var tables []uint32
	for _, rule := range rules {
		tables = append(tables, rule.Table)
	}
	if !slices.Equal(tables, []uint32{255, 99, 100, 101, 254, 253}) {
		t.Errorf("%v", rules)
	}
	succeeded(t, policyrule.Delete(weir.Container, policyrule.Rule{Family: weir.IPv4, Table: 101}))
	failed(t, policyrule.Delete(weir.Container, later), weir.NotFound)
	first.Source = netip.MustParsePrefix("10.1.0.2/24")
	failed(t, policyrule.Add(weir.Container, first), weir.Invalid)
}

func TestADeviceIsFoundByWhatItIs(t *testing.T) {
	host := New(t)
	const path = "/sys/devices/pci0000:00/0000:00:1f.6"
	card := hardware.Device{PCIAddress: "0000:00:1f.6", Link: "eth1", Siblings: []string{"eth2"}, Driver: "vfio-pci"}
	host.PutDevice(path, card)
	for name, find := range map[string]func() (hardware.Device, error){
		"eth1": func() (hardware.Device, error) { return hardware.ByPCIAddress("0000:00:1f.6") },
		"eth2": func() (hardware.Device, error) { return hardware.ByLink("eth2") },
	} {
		found, err := find()
		if err != nil || found.Link != name || len(found.Siblings) != 1 || !found.IsInUserspace() {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if found, err := hardware.ByKernelPath(path + "/net/eth2"); err != nil || found.Link != "eth2" {
		t.Errorf("%+v, %v", found, err)
	}
	_, err := hardware.ByLink("eth3")
	failed(t, err, weir.NotFound)
	_, err = hardware.ByAuxiliaryName("mlx5")
	failed(t, err, weir.Invalid)
}

func TestFirewalldRunsWhereTheTestSaysSo(t *testing.T) {
	host := New(t)
	source := netip.MustParseAddr("10.1.0.2")
	if runs, err := firewalld.IsRunning(); err != nil || runs {
		t.Error(runs, err)
	}
	failed(t, firewalld.AddSource("trusted", source), weir.Unsupported)
	host.RunFirewalld("public", "trusted")
	succeeded(t, firewalld.AddSource("trusted", source))
	failed(t, firewalld.AddSource("public", source), weir.Exists)
	if zone, err := firewalld.ZoneOfSource(source); err != nil || *zone != "trusted" {
		t.Error(zone, err)
	}
	failed(t, firewalld.RemoveSource("public", source), weir.NotFound)
	succeeded(t, firewalld.RemoveSource("trusted", source))
	if zone, err := firewalld.ZoneOfSource(source); err != nil || zone != nil {
		t.Error(zone, err)
	}
}
