package masquerade_test

import (
	"net/netip"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/firewall"
	"weir.dev/weir/masquerade"
	"weir.dev/weir/owner"
	"weir.dev/weir/weirtest"
)

var (
	mine   = owner.New("test", "5f3c", "eth0")
	theirs = owner.New("test", "dead", "eth0")
)

func ips(texts ...string) (ips []weir.IP) {
	for _, text := range texts {
		ips = append(ips, weir.IP{Address: netip.MustParsePrefix(text)})
	}
	return ips
}

// elements returns how many elements a set has.
func elements(t *testing.T, set string) int {
	t.Helper()
	found, err := firewall.ListElements(weir.Host, firewall.FamilyInet, set)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAddressesOfBothFamiliesAreMasqueradedUntilDEL(t *testing.T) {
	host := weirtest.New(t)
	both := ips("10.1.0.5/24", "fd00::5/64")
	if err := masquerade.Check(mine, both); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Error(err)
	}
	succeeds(t, masquerade.Add(mine, both))
	succeeds(t, masquerade.Check(mine, both))
	if len(host.Changes()) != 1 {
		t.Errorf("more than one transaction: %q", host.Changes())
	}
	if err := masquerade.Check(theirs, both); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Error(err)
	}
	for range 2 {
		succeeds(t, masquerade.Remove(mine, &weir.Result{IPs: both}))
	}
	if elements(t, "pods4") != 0 || elements(t, "pods6") != 0 || elements(t, "local4") != 1 {
		t.Error("elements are left, or the network is gone")
	}
}

func TestWhatStaysInANetworkAndMulticastIsSparedBeforeTheRestIsMasqueraded(t *testing.T) {
	weirtest.New(t)
	succeeds(t, masquerade.Add(mine, ips("10.1.0.5/24")))
	rules, err := firewall.ListRules(weir.Host, firewall.FamilyInet, "postrouting")
	succeeds(t, err)
	var comments []string
	for _, rule := range rules {
		comments = append(comments, *rule.Comment)
	}
	if order := strings.Join(comments, " "); order != "local4 224.0.0.0/4 pods4 local6 ff00::/8 pods6" {
		t.Error(order)
	}
}

func TestRulesThatRootHasRemovedAreMadeAgain(t *testing.T) {
	host := weirtest.New(t)
	succeeds(t, masquerade.Add(mine, ips("10.1.0.5/24")))
	flush := []firewall.Command{firewall.CommandFlushChain("postrouting")}
	succeeds(t, firewall.Apply(weir.Host, firewall.FamilyInet, flush))
	err := masquerade.Check(mine, ips("10.1.0.5/24"))
	if weir.CodeOf(err) != weir.CodeNotAsAttached || !strings.Contains(err.Error(), "chain `postrouting` lacks `local4`") {
		t.Error(err)
	}
	succeeds(t, masquerade.Add(mine, ips("10.1.0.6/24")))
	succeeds(t, masquerade.Check(mine, ips("10.1.0.5/24", "10.1.0.6/24")))
	if len(host.Log) != 1 {
		t.Errorf("%+v", host.Log)
	}
}

func TestAnElementOfAContainerWithoutDELIsReplaced(t *testing.T) {
	weirtest.New(t)
	succeeds(t, masquerade.Add(theirs, ips("10.1.0.5/24")))
	succeeds(t, masquerade.Add(mine, ips("10.1.0.5/24")))
	succeeds(t, masquerade.Check(mine, ips("10.1.0.5/24")))
	if err := masquerade.Check(theirs, ips("10.1.0.5/24")); weir.CodeOf(err) != weir.CodeNotAsAttached {
		t.Error(err)
	}
	succeeds(t, masquerade.Remove(theirs, &weir.Result{IPs: ips("10.1.0.5/24")}))
	if elements(t, "pods4") != 1 {
		t.Error("the element of another attachment is removed")
	}
}

func TestWithoutAResultTheElementsAreSearched(t *testing.T) {
	weirtest.New(t)
	succeeds(t, masquerade.Remove(mine, nil))
	succeeds(t, masquerade.Add(mine, ips("10.1.0.5/24")))
	succeeds(t, masquerade.Add(theirs, ips("10.1.0.6/24")))
	succeeds(t, masquerade.Remove(mine, nil))
	if elements(t, "pods4") != 1 {
		t.Error("not one element is left")
	}
}

func TestAttachmentsThatAreNotValidAreRemoved(t *testing.T) {
	weirtest.New(t)
	succeeds(t, masquerade.Add(mine, ips("10.1.0.5/24")))
	succeeds(t, masquerade.Add(theirs, ips("10.1.0.6/24")))
	succeeds(t, masquerade.Add(owner.New("other", "dead", "eth0"), ips("10.2.0.6/24")))
	request := &weir.GCRequest[struct{}]{
		KnownAs:          "test",
		ValidAttachments: []weir.Attachment{{ContainerID: "5f3c", Ifname: "eth0"}},
	}
	succeeds(t, masquerade.Retain(request))
	succeeds(t, masquerade.Check(mine, ips("10.1.0.5/24")))
	if elements(t, "pods4") != 2 {
		t.Error("not the two other elements are left")
	}
}

func TestAKernelWithoutNftablesHasNothingToRemove(t *testing.T) {
	host := weirtest.New(t)
	host.Answer("firewall.get-element", weirtest.Fails(weir.Unsupported))
	host.Answer("firewall.list-elements", weirtest.Fails(weir.Unsupported))
	succeeds(t, masquerade.Remove(mine, &weir.Result{IPs: ips("10.1.0.5/24")}))
	host.FailNext("firewall.apply", weir.Denied)
	if err := masquerade.Add(mine, ips("10.1.0.5/24")); weir.CodeOf(err) != weir.CodeDenied {
		t.Error(err)
	}
}

func TestABackendIsOneOfTheReferencePlugins(t *testing.T) {
	for backend, isValid := range map[string]bool{"": true, "nftables": true, "iptables": true, "ebtables": false} {
		if err := masquerade.ValidateBackend(backend); (err == nil) != isValid {
			t.Errorf("%q: %v", backend, err)
		}
	}
}
