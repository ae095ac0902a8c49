//go:build !iceberg

package main

import (
	"strings"
	"testing"
)

// A build without Iceberg says so before anything is asked or written, and names the build that has
// it. The query of the URL, in which a secret may be, isn't shown.
func TestIcebergIsLeftOut(t *testing.T) {
	p := newPlace(t, startService(t, "--days", "3", "--apps", "1"), 1, 1, living)
	p.edit(t, "sinks: [file://"+p.dir+"/out]",
		`sinks: ["iceberg://lake/ads?type=rest&uri=https://catalog.example.com&token=secret"]`)
	for _, command := range []string{"plan", "run", "check"} {
		out, code := p.run(command)
		if code != 2 || !strings.Contains(unfolded(out),
			"open sink iceberg://lake/ads: this build leaves Iceberg out") ||
			!strings.Contains(unfolded(out), "go build -tags iceberg ./cmd/reportferry") ||
			strings.Contains(unfolded(out), "secret") {
			t.Errorf("%s: exit code %d: %s", command, code, out)
		}
	}
}
