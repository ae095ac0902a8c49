// Package slow marks tests that take long. Without it, the race detector, which makes them up to
// twenty times slower, would take most of the time of checking a change.
package slow

import "testing"

// Test skips the test under -short, with which the race detector runs.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow, and this is a short run; go test without -short runs it")
	}
}
