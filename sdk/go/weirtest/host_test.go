package weirtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/address"
	"weir.dev/weir/link"
	"weir.dev/weir/log"
	"weir.dev/weir/packet"
	"weir.dev/weir/route"
	"weir.dev/weir/store"
	"weir.dev/weir/sysctl"
)

// failed fails the test unless an operation failed for this reason.
func failed(t *testing.T, err error, code weir.ErrorCode) {
	t.Helper()
	if !weir.Is(err, code) {
		t.Errorf("expected %v, found %v", code, err)
	}
}

func succeeded(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestEveryFunctionOfTheContractIsKnown(t *testing.T) {
	files, err := filepath.Glob("../*/contract.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	call := regexp.MustCompile(`abi\.(?:Ask\[.*\]|Tell)\("([^"]+)"`)
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range call.FindAllStringSubmatch(string(text), -1) {
			if name := match[1]; name != "log.write" {
				found = append(found, name)
			}
		}
	}
	for _, name := range found {
		if !isFunction(name) {
			t.Errorf("%s is not known", name)
		}
	}
	if known := len(functions) + len(others); known != len(found) {
		t.Errorf("the contract has %d functions, and %d are known", len(found), known)
	}
}

func TestWhatTheHostDoesNotHaveNamesTheFunction(t *testing.T) {
	New(t)
	_, ofPacket := packet.OpenUDP("lo", 68, true)
	_, ofVLANs := link.ListVLANs(weir.Host, weir.LinkName("lo"))
	for name, err := range map[string]error{"packet.open-udp": ofPacket, "link.list-vlans": ofVLANs} {
		failed(t, err, weir.Unsupported)
		if err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestAFunctionIsMadeToFailOnce(t *testing.T) {
	host := New(t)
	host.FailNext("link.get", weir.Denied)
	_, err := link.Get(weir.Host, weir.LinkName("lo"))
	failed(t, err, weir.Denied)
	_, err = link.Get(weir.Host, weir.LinkName("lo"))
	succeeded(t, err)
}

// recorder is a test that notes how it fails.
type recorder struct {
	testing.TB
	errors   int
	cleanups []func()
}

func (recorder *recorder) Errorf(string, ...any) { recorder.errors++ }
func (recorder *recorder) Fatalf(string, ...any) { recorder.errors++ }
func (recorder *recorder) Cleanup(run func())    { recorder.cleanups = append(recorder.cleanups, run) }
func (recorder *recorder) end()                  { recorder.cleanups[0]() }

func TestAFailureThatIsNotMetFailsTheTest(t *testing.T) {
	for function, expected := range map[string]int{"link.delete": 1, "link.get": 0} {
		recorder := &recorder{TB: t}
		host := New(recorder)
		host.FailNext(function, weir.Busy)
		_, _ = link.Get(weir.Host, weir.LinkName("lo"))
		recorder.end()
		if recorder.errors != expected {
			t.Errorf("%s: %d errors", function, recorder.errors)
		}
	}
	recorder := &recorder{TB: t}
	New(recorder).FailNext("link.rename", weir.Busy)
	if recorder.errors != 1 {
		t.Error("a failure of no function is accepted")
	}
}

func TestChangesAreInWords(t *testing.T) {
	host := New(t)
	host.CreatePair("veth0", "eth0")
	eth0 := weir.LinkName("eth0")
	succeeded(t, link.Update(weir.Container, eth0, link.Changes{MTU: new(uint32(1400)), Up: new(false)}))
	succeeded(t, sysctl.Write(weir.Host, "net.ipv4.ip_forward", "1"))
	found, err := link.Get(weir.Container, eth0)
	succeeded(t, err)
	succeeded(t, link.Delete(weir.Container, weir.LinkIndex(found.Index)))
	failed(t, link.Delete(weir.Container, eth0), weir.NotFound)
	expected := []string{
		"link.update container eth0 Up=false MTU=1400",
		"sysctl.write host net.ipv4.ip_forward 1",
		"link.delete container eth0",
	}
	if changes := host.Changes(); !slices.Equal(changes, expected) {
		t.Errorf("%q", changes)
	}
	if len(host.Calls) != 5 || !host.Called("link.get") {
		t.Errorf("%q", host.Calls)
	}
}

func TestATestArrangesWithoutCalls(t *testing.T) {
	host := New(t)
	host.FailNext("link.create", weir.Busy)
	host.CreateInterface(weir.Host, "eth1")
	dummy := link.NewLink{Namespace: weir.Host, Name: "dummy0", Kind: link.NewKindDummy{}}
	host.Arrange(func() {
		_, err := link.Create(dummy)
		succeeded(t, err)
	})
	host.RenameLink(weir.Host, "dummy0", "dummy1")
	if len(host.Calls) > 0 {
		t.Errorf("%q", host.Calls)
	}
	if names := host.LinkNames(weir.Host); !slices.Equal(names, []string{"lo", "eth1", "dummy1"}) {
		t.Errorf("%q", names)
	}
	_, err := link.Create(dummy)
	failed(t, err, weir.Busy)
}

func TestAnAnswerOfTheTestIsInPlaceOfTheHosts(t *testing.T) {
	host := New(t)
	host.Answer("link.get", Value(link.Link{Name: "lo", MTU: 17}))
	found, err := link.Get(weir.Host, weir.LinkName("lo"))
	if err != nil || found.MTU != 17 {
		t.Error(found, err)
	}
}

// half changes a bit of everything, and fails.
var half = weir.Plugin[struct{}]{
	Name: "half",
	Add: func(*weir.Request[struct{}]) (result weir.Result, err error) {
		eth0 := weir.LinkName("eth0")
		_, ofBridge := link.Create(link.NewLink{Namespace: weir.Host, Name: "br0", Kind: link.NewKindBridge{}})
		master := link.NewMaster(link.NewMasterLink(weir.LinkName("br0")))
		opened, ofStore := store.Open(store.LocationPrivate{}, store.AccessWrite)
		for _, err := range []error{
			ofBridge,
			link.Update(weir.Host, weir.LinkName("veth0"), link.Changes{MTU: new(uint32(1300)), Master: &master}),
			link.Update(weir.Container, eth0, link.Changes{Up: new(false)}),
			sysctl.Write(weir.Host, "net.ipv4.ip_forward", "1"),
			address.Delete(weir.Container, eth0, prefix("10.1.0.3/24")),
			address.Add(weir.Container, eth0, address.NewAddress{Address: prefix("10.2.0.2/24")}),
			ofStore,
			opened.Put("key", []byte("value")),
			opened.Commit(),
		} {
			if err != nil {
				return result, err
			}
		}
		return result, weir.Fail(weir.CodeInternal, "halfway")
	},
	Check: func(*weir.Request[struct{}]) error { return nil },
}

func TestAFailedADDIsUndoneAsWeirDoes(t *testing.T) {
	host := New(t)
	host.CreatePair("veth0", "eth0")
	for _, text := range []string{"10.1.0.2/24", "10.1.0.3/24"} {
		succeeded(t, address.Add(weir.Container, weir.LinkName("eth0"), address.NewAddress{Address: prefix(text)}))
	}
	if _, err := Add(host, half, Attachment("{}")); err == nil || err.Error() != "halfway" {
		t.Fatal(err)
	}
	_, err := link.Get(weir.Host, weir.LinkName("br0"))
	failed(t, err, weir.NotFound)
	if end, err := link.Get(weir.Host, weir.LinkName("veth0")); err != nil || end.MTU != 1300 || end.Master != nil {
		t.Errorf("what ADD changed on the host does not stay: %+v, %v", end, err)
	}
	if found, err := link.Get(weir.Container, weir.LinkName("eth0")); err != nil || !found.Up {
		t.Errorf("%+v, %v", found, err)
	}
	if value, err := sysctl.Read(weir.Host, "net.ipv4.ip_forward"); err != nil || value != "0" {
		t.Error(value, err)
	}
	if left, err := address.List(weir.Container, weir.LinkName("eth0"), nil); err != nil || len(left) != 1 || left[0].Address != prefix("10.1.0.2/24") {
		t.Errorf("what ADD removed does not stay gone: %v, %v", left, err)
	}
	opened, err := store.Open(store.LocationPrivate{}, store.AccessRead)
	succeeded(t, err)
	if keys, err := opened.Keys(); err != nil || len(keys) > 0 {
		t.Error(keys, err)
	}
}

func TestAContainerThatIsGoneTakesItsLinksWithIt(t *testing.T) {
	host := New(t)
	host.CreatePair("veth0", "eth0")
	host.RemoveContainer()
	_, err := link.Get(weir.Host, weir.LinkName("veth0"))
	failed(t, err, weir.NotFound)
	_, err = link.Get(weir.Container, weir.LinkName("eth0"))
	failed(t, err, weir.NoNamespace)
	_, err = Add(host, half, Attachment("{}"))
	if weir.CodeOf(err) != weir.CodeInvalidNetns || len(host.Changes()) > 0 {
		t.Error(err, host.Changes())
	}
	succeeded(t, Del(host, half, Attachment("{}")))
}

func TestACommandGetsTheInvocation(t *testing.T) {
	var seen weir.Request[struct{}]
	plugin := weir.Plugin[struct{}]{
		Del: func(request *weir.Request[struct{}]) error {
			seen = *request
			log.Write(log.LevelInfo, "seen", [][2]string{{"key", "value"}})
			return nil
		},
	}
	invocation := Attachment(`{"type": "x"}`).After(weir.Result{DNS: weir.DNS{Domain: "example"}})
	invocation.KnownAs, invocation.Args = "team/net", map[string]string{"K8S_POD_NAME": "p"}
	host := New(t)
	succeeded(t, Del(host, plugin, invocation))
	if len(host.Log) != 1 || host.Log[0].Message != "seen" || host.Log[0].Fields[0][1] != "value" {
		t.Errorf("%+v", host.Log)
	}
	if seen.ContainerID != "5f3c" || seen.Ifname != "eth0" || seen.Network != "test" || seen.KnownAs != "team/net" ||
		seen.Args["K8S_POD_NAME"] != "p" || seen.Previous.DNS.Domain != "example" || seen.Sandbox != Sandbox || !seen.HasContainer {
		t.Errorf("%+v", seen)
	}
}

func TestLinksOfTheHostAreMarkedWithTheirOwner(t *testing.T) {
	host := New(t)
	succeeded(t, Del(host, half, Attachment("{}")))
	made, err := link.Create(link.NewLink{Namespace: weir.Host, Name: "dummy0", Kind: link.NewKindDummy{}})
	if err != nil || made.Alias != "test 5f3c eth0" {
		t.Errorf("%+v, %v", made, err)
	}
	failed(t, link.Update(weir.Host, weir.LinkName("dummy0"), link.Changes{Alias: new("mine")}), weir.Invalid)
}

func TestWhatIsMalformedIsInvalid(t *testing.T) {
	New(t).CreatePair("veth0", "eth0")
	_, ofName := link.Get(weir.Host, weir.LinkName("a b"))
	_, ofNothing := link.Get(weir.Host, weir.LinkReference{})
	_, ofKey := sysctl.Read(weir.Host, "kernel.pid_max")
	_, ofFile := store.ReadFile("etc/resolv.conf")
	for _, err := range []error{
		ofName,
		ofNothing,
		ofKey,
		ofFile,
		sysctl.Write(weir.Host, "net.ipv4.ip_forward", "1\n"),
		sysctl.Write(weir.Host, "net.ipv4.ip_forward", "yes"),
		route.Add(weir.Container, route.Route{Destination: prefix("10.1.0.2/24"), Link: weir.LinkName("eth0")}),
	} {
		failed(t, err, weir.Invalid)
	}
	_, err := sysctl.Read(weir.Host, "net.ipv4.conf.eth9.rp_filter")
	failed(t, err, weir.NotFound)
}
