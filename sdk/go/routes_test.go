package weir

import (
	"net/netip"
	"testing"
)

func TestRoutesOfAResultBecomeTheKernels(t *testing.T) {
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	ips := []IP{
		{Address: prefix("10.0.0.5/24"), Gateway: addr("10.0.0.1")},
		{Address: prefix("fd00::5/64"), Gateway: addr("fd00::1")},
	}
	routes := []Route{
		{Dst: prefix("10.1.2.3/16"), MTU: new(uint32(0)), Table: new(uint32(7))},
		{Dst: prefix("::/0")},
		{Dst: prefix("192.0.2.0/24"), GW: addr("10.0.0.8")},
		{Dst: prefix("192.0.2.0/24"), GW: addr("10.0.0.9")},
		{Dst: prefix("192.0.2.0/24"), GW: addr("10.0.0.8")},
	}
	made := RoutesOf(routes, ips, LinkName("eth0"))
	if len(made) != 3 {
		t.Fatalf("%v", made)
	}
	if first := made[0]; first.String() != "route 10.1.0.0/16 via 10.0.0.1 over `eth0`" || first.MTU != nil || *first.Table != 7 {
		t.Errorf("%+v", first)
	}
	if made[1].Gateway != addr("fd00::1") || *made[1].Scope != 0 {
		t.Errorf("%+v", made[1])
	}
	if several := made[2]; several.Gateway.IsValid() || several.Link.IsGiven() || len(several.NextHops) != 2 ||
		several.NextHops[1].Gateway != addr("10.0.0.9") || several.NextHops[1].Link.Name != "eth0" {
		t.Errorf("%+v", several)
	}
}

func TestEachFamilyGetsOneDefaultRoute(t *testing.T) {
	result := Result{
		IPs: []IP{
			{Address: netip.MustParsePrefix("10.0.0.5/24"), Gateway: netip.MustParseAddr("10.0.0.1")},
			{Address: netip.MustParsePrefix("10.1.0.5/24"), Gateway: netip.MustParseAddr("10.1.0.1")},
			{Address: netip.MustParsePrefix("fd00::5/64"), Gateway: netip.MustParseAddr("fd00::1")},
		},
		Routes: []Route{{Dst: netip.MustParsePrefix("::/0"), GW: netip.MustParseAddr("fd00::9")}},
	}
	AddDefaultRoutes(&result)
	if len(result.Routes) != 2 || result.Routes[0].GW.String() != "fd00::9" || result.Routes[1].GW.String() != "10.0.0.1" {
		t.Errorf("%+v", result.Routes)
	}
}
