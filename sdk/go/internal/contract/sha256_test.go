package contract

import (
	reference "crypto/sha256"
	"strings"
	"testing"
)

func TestTheDigestIsSHA256OfEveryLength(t *testing.T) {
	for length := range 200 {
		text := strings.Repeat("weir", length)[:length]
		if sha256(text) != reference.Sum256([]byte(text)) {
			t.Errorf("of %d bytes", length)
		}
	}
}
