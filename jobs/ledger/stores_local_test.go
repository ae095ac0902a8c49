//go:build !servers

package ledger

import "testing"

// everyPlace runs a test of the ledger's suite on memory and on files; with the tag servers instead
// on a server of every kind of bucket.
func everyPlace(t *testing.T, test func(*testing.T, place)) {
	t.Run("mem", func(t *testing.T) {
		l := memLedger(t)
		test(t, place{open: func(*testing.T) *Ledger { return l }})
	})
	t.Run("file", func(t *testing.T) { test(t, placeAt("file://"+t.TempDir(), *rounds)) })
}
