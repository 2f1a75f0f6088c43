package weir

import (
	"errors"
	"fmt"
	"testing"
)

func TestAnErrorBecomesTheOneThatWeirGets(t *testing.T) {
	busy := OperationError{Code: Busy, Message: "link `eth0` is busy"}
	withDetails := Error{Code: 110, Msg: "no address", Details: "add a range"}
	for _, each := range []struct {
		err      error
		expected Error
	}{
		{busy, Error{Code: CodeTryAgainLater, Msg: "link `eth0` is busy"}},
		{fmt.Errorf("cannot rename: %w", busy), Error{Code: CodeTryAgainLater, Msg: "cannot rename: link `eth0` is busy"}},
		{Fail(7, "mtu: %d", 3), Error{Code: 7, Msg: "mtu: 3"}},
		{withDetails, withDetails},
		{fmt.Errorf("ipam: %w", withDetails), Error{Code: 110, Msg: "ipam: no address: add a range"}},
		{errors.New("else"), Error{Code: CodeInternal, Msg: "else"}},
	} {
		if found := failure(each.err); found != each.expected {
			t.Errorf("%v: expected %+v, found %+v", each.err, each.expected, found)
		}
	}
}

func TestWhatCheckDoesNotFindIsNotAsAttached(t *testing.T) {
	if err := whatIsGone(OperationError{Code: NotFound, Message: "no"}); failure(err).Code != CodeNotAsAttached {
		t.Error(err)
	}
	if err := whatIsGone(nil); err != nil {
		t.Error(err)
	}
}
