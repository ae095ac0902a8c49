// Package slow marks tests that take long. Without it the race detector, which makes them up to
// twenty times slower, would take most of the gate's time.
package slow

import "testing"

// Test leaves the test out under -short, as in the gate's step of the race detector.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow, and this is a short run; go test without -short runs it")
	}
}
