package traffic_test

import (
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/traffic"
)

func TestPlacesAndHandlesAreTheKernels(t *testing.T) {
	class := traffic.NewClass(traffic.Handle(1, 0x30), 1000, 200)
	if class.Handle != 0x1_0030 || class.Parent != 0x1_0000 || class.Ceil != 1000 || class.Cburst != 200 {
		t.Errorf("%+v", class)
	}
	if filter := traffic.Classify(class.Handle); filter.Parent != class.Parent || filter.Action != traffic.ActionClassify(class.Handle) {
		t.Errorf("%+v", filter)
	}
	if hook := traffic.IngressQdisc(); hook.Handle != traffic.Handle(0xffff, 0) || hook.Parent != traffic.IngressPlace {
		t.Errorf("%+v", hook)
	}
	for _, root := range []traffic.Qdisc{traffic.HTB(0x30), traffic.TBF(traffic.TokenBucket{Rate: 1})} {
		if root.Handle != traffic.Handle(1, 0) || root.Parent != traffic.Root {
			t.Errorf("%+v", root)
		}
	}
	target := weir.LinkName("ifb0")
	if filter := traffic.Redirect(traffic.Ingress, target); filter.Action != traffic.ActionRedirect(target) || filter.Parent != traffic.Ingress {
		t.Errorf("%+v", filter)
	}
}
