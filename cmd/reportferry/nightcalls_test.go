package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
)

// costly is what a job of sixty days does in turn. In the second and in the last nothing is due.
var costly = []struct {
	name string
	args []string
}{
	{"a first load of 60 days", []string{"run"}},
	{"a night where nothing is due", []string{"run"}},
	{"a night with a lookback of 7 days", []string{"run", "--now"}},
	{"another night where nothing is due", []string{"run"}},
}

// asks runs a job of sixty days for some nights, and wants a sink to be asked at most so much in
// each. since gives what it was asked since the last time.
func (p *place) asks(t *testing.T, most []int, since func() (said string, sum int)) {
	t.Helper()
	name := filepath.Join(p.dir, "reportferry.yml")
	text, err := os.ReadFile(name)
	check(t, err)
	check(t, os.WriteFile(name, []byte(strings.Replace(string(text), "page: 2d\n    lookback: 0",
		"schedule: \"0 5 * * *\"\n    page: 7d\n    lookback: 7", 1)), 0o600))
	since()
	for i, night := range costly {
		if out, code := p.run(night.args...); code != 0 {
			t.Fatalf("%s: exit %d\n%s", night.name, code, out)
		}
		said, sum := since()
		t.Logf("%-40s %4d: %s", night.name, sum, said)
		if sum > most[i] {
			t.Errorf("%s asks %d times, want %d at most: %s", night.name, sum, most[i], said)
		}
	}
}

// What BigQuery is asked, but for what waits for jobs: one tables.get tells a night what there is.
func TestBigQueryCalls(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "3")
	w, seen := newWarehouse(t, s, 60, living), 0
	w.asks(t, []int{208, 1, 14, 1}, func() (said string, sum int) {
		before := seen
		said, seen = w.calls(seen)
		for _, r := range w.Requests()[before:] {
			if r.Call != "jobs.get" {
				sum++
			}
		}
		return said, sum
	})
}
