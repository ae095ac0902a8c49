package report_test

import (
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
)

// Every partition that is written equals the service's own answer for that day, cell by cell: 12 apps, 60 days,
// campaigns with commas, quotes, line breaks and non-Latin names.
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
	cells := r.equalsTruth(first, days)
	t.Logf("%d cells in %d rows compared", cells, res.Outcome.Rows)

	again := r.ok()
	if again.Outcome.Written != 0 || again.Outcome.Unchanged == 0 {
		t.Errorf("the same numbers again: %+v", again.Outcome)
	}
}
