package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/sinks"
)

// Every partition that is written equals the service's own answer for that day, cell by cell: 12
// apps, 60 days, campaigns with commas, quotes, line breaks and non-Latin names.
func TestEveryPartitionEqualsTheTruth(t *testing.T) {
	r := newRig(t, emulator.Options{Seed: 7, Rate: -1})
	defer r.close()
	days := 60
	if testing.Short() { // the race detector slows SQLite down twenty times
		days = 8
	}
	r.start(days)
	r.options.Codec = "zstd"
	r.parallel, r.client.InFlight, r.client.Rate = 4, 4, 1000
	res := r.ok()
	if res.Outcome.Written != days {
		t.Errorf("written %d partitions, want %d", res.Outcome.Written, days)
	}
	first := civil.DateOf(time.Now().UTC()).AddDays(-days)
	r.looksAwkward()
	cells := r.equalsTruth(first, days)
	t.Logf("%d cells in %d rows compared", cells, res.Outcome.Rows)

	again := r.ok()
	if again.Outcome.Written != 0 || again.Outcome.Unchanged == 0 {
		t.Errorf("the same numbers again: %+v", again.Outcome)
	}
}

// looksAwkward makes sure that the comparison has something to trip over, and that each file says
// what it is.
func (r *rig) looksAwkward() {
	r.t.Helper()
	var seen strings.Builder
	for day, path := range r.files() {
		file := readParquet(r.t, path)
		want := map[string]string{"table": "installs", "partition": day.String(), "rows": fmt.Sprint(len(file.rows))}
		for key, value := range want {
			if file.meta[key] != value {
				r.t.Errorf("%s: metadata %s is %q, want %q", day, key, file.meta[key], value)
			}
		}
		if units := file.meta["units"]; !strings.Contains(units, `"cost":"money"`) ||
			!strings.Contains(units, `"installs":"count"`) || file.meta["currency"] != "USD" {
			r.t.Errorf("%s: units %q, currency %q", day, units, file.meta["currency"])
		}
		// By which sinks of rows know what they hold.
		if f := file.meta[strings.TrimPrefix(sinks.FingerprintKey, "reportferry.")]; len(f) != 16 {
			r.t.Errorf("%s: fingerprint %q", day, f)
		}
		for _, row := range file.rows {
			seen.WriteString(strings.Join(row, ""))
		}
	}
	for _, awkward := range []string{",", "\"", "\n", "unknown"} {
		if !strings.Contains(seen.String(), awkward) {
			r.t.Errorf("no cell holds %q", awkward)
		}
	}
	if !strings.ContainsFunc(seen.String(), func(c rune) bool { return c > 0x2000 }) {
		r.t.Error("no cell holds a script other than Latin")
	}
}
