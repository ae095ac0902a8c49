// Package slow marks tests that take long and do one thing after the other. Without it the race detector, which makes them up to twenty
// times slower and finds nothing in them that shorter tests of the same code don't show, would take most of the gate's time.
package slow

import "testing"

// Test leaves the test out under -short, as in the gate's step of the race detector.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow, and one thing after the other: there is little for the race detector in it")
	}
}
