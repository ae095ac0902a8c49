package inspect

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

func day(n int) civil.Date { return civil.Date{Year: 2026, Month: 1, Day: 1}.AddDays(n) }

func TestStatusText(t *testing.T) {
	now := time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	oldest, newest, fetched, ended := day(0), day(8), now.Add(-90*time.Minute), now.Add(-89*time.Minute)
	var out bytes.Buffer
	writeStatus(&out, "", []tableStatus{
		{Job: "campaigns_daily", Partitions: 9, Rows: 12345, Empty: 1, Interrupted: 1, Oldest: &oldest, Newest: &newest,
			Fetched: &fetched, Pieces: make([]refresh.Piece, 2), Counts: &refresh.Counts{
				Final: 2, Through: &oldest, Restating: 5, Staying: 3, Partial: 1, Doubtful: 1, Reconciled: 6,
				Unreconciled: 2, Unchecked: 0, Moved: 1,
			}},
		{Job: "networks_weekly"},
		{Job: "campaigns_cut", Partitions: 7, Interrupted: 7, Oldest: &oldest, Newest: &newest},
		{Job: "campaigns_total", Partitions: 1, Rows: 12, Oldest: &sinks.Whole, Newest: &sinks.Whole, Fetched: &fetched,
			Stale: "the last success was 26h1m0s ago"},
	}, []ledger.Run{{ID: "20260110T043000Z-1f2e3d4c", Trigger: "manual", Ended: &ended, Exit: 3,
		Errors: []string{"campaigns_daily: put error"}}}, now, mostDays, false)
	writeStatus(&out, "", nil, []ledger.Run{{ID: "20260110T043000Z-1f2e3d4c", Trigger: "backfill"}}, now, mostDays,
		false)
	want, err := os.ReadFile("testdata/status.txt")
	if err != nil || out.String() != string(want) {
		t.Errorf("%v:\n%s\nwant:\n%s", err, &out, want)
	}
}

// A partition that is missing is drawn as a hole, one that isn't final is marked, and so is what
// lies between pieces.
func TestStatusIsDrawn(t *testing.T) {
	points := rowsOf([]refresh.Entry{
		{Partition: day(0), Record: ledger.Record{Rows: 5}, Finality: refresh.Finality{State: refresh.Final}},
		{Partition: day(1), Gap: &refresh.Gap{}},
		{Partition: day(2), Record: ledger.Record{Rows: 7}, Finality: refresh.Finality{State: refresh.Restating}},
		{Partition: day(8), Record: ledger.Record{Rows: 9}},
	}, []refresh.Piece{{From: day(0)}, {From: day(8)}})
	want := []text.PlotPoint{{Name: "2026-01-01", Value: 5}, {Name: "2026-01-02", Hole: true},
		{Name: "2026-01-03", Value: 7, Open: true}, {Break: true}, {Name: "2026-01-09", Value: 9}}
	if !slices.Equal(points, want) {
		t.Errorf("%+v", points)
	}
}
