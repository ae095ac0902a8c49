package refresh

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

func TestCalendar(t *testing.T) {
	r := mustSchedule("0 6 * * *", "UTC")
	r.Page, r.Start, r.FinalAfter = 1, date("2026-01-02"), map[string]int{"installs": 3}
	now := moment("2026-01-12T05:00")
	done := ledger.Records{}
	put := func(day, fetched string, change func(*ledger.Record)) {
		e := ledger.Record{Partition: date(day), Fetched: moment(fetched), State: ledger.Written, Rows: 1, Run: "r1"}
		if change != nil {
			change(&e)
		}
		done[e.Partition] = e
	}
	put("2025-12-30", "2026-01-01T06:00", func(e *ledger.Record) { e.State = ledger.Publishing }) // before the start
	put("2026-01-01", "2026-01-05T06:00", nil)
	put("2026-01-02", "2026-01-06T06:00", func(e *ledger.Record) { e.Moved = true })
	put("2026-01-03", "2026-01-07T06:00", func(e *ledger.Record) {
		e.Moved, e.Control = true,
			&ledger.Control{State: ledger.Unreconciled}
	})
	put("2026-01-04", "2026-01-08T06:00", nil)
	put("2026-01-05", "2026-01-06T06:00", func(e *ledger.Record) { e.State, e.Rows = ledger.Empty, 0 })
	put("2026-01-06", "2026-01-07T06:00", nil)
	put("2026-01-07", "2026-01-07T06:00", nil)
	put("2026-01-08", "2026-01-09T06:00", func(e *ledger.Record) { e.State = ledger.Publishing })
	r.MovedButLeft = map[civil.Date]time.Time{date("2026-01-04"): moment("2026-01-09T06:00"),
		date("2026-01-01"): moment("2026-01-01T06:00")}
	runs := []ledger.Run{{ID: "r2", Results: []ledger.Result{{Job: "j",
		Failures: []ledger.Failure{failure("2026-01-09", "no")}}}}}

	in := Inspect(now, "j", r, done, ledger.Past{Runs: runs})
	var got []string
	for _, e := range in.Calendar {
		got = append(got, fmt.Sprintf("%s %s %v", e.Partition, e.Condition, e.Gap != nil))
	}
	want := []string{
		"2025-12-30 interrupted false", "2026-01-01 final false", "2026-01-02 changed after final false",
		"2026-01-03 unreconciled false",
		"2026-01-04 moved and left false", "2026-01-05 empty false", "2026-01-06 restating false",
		"2026-01-07 partial false",
		"2026-01-08 interrupted true", "2026-01-09 failed true", "2026-01-10 missing true",
		"2026-01-11 not due yet true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("calendar:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if in.Counts.Left != 1 {
		t.Errorf("%d partitions have moved and were left, want 1", in.Counts.Left)
	}

	r.Start = date("2026-01-05") // a backfill to 2025-12-30 and 2026-01-01 to 04 went before
	var pieces []string
	for _, piece := range Pieces(r.Period, Inspect(now, "j", r, done, ledger.Past{}).Calendar) {
		pieces = append(pieces, fmt.Sprintf("%s %s %d", piece.From, piece.Through, piece.Partitions))
	}
	if got := strings.Join(pieces, ", "); got != "2025-12-30 2025-12-30 1, 2026-01-01 2026-01-11 11" {
		t.Errorf("pieces: %s", got)
	}

	r.Period = Whole
	if all := Inspect(now, "j", r, nil, ledger.Past{}).Calendar; len(all) != 1 || all[0].Condition != Absent {
		t.Errorf("of a table without dates: %+v", all)
	}
	r.Period, r.Snapshots = Day, true
	if all := Inspect(now, "j", r, nil, ledger.Past{}).Calendar; all[0].Condition != Gone {
		t.Errorf("of snapshots that weren't taken: %+v", all[0])
	}
}

// All are final through a partition only when none before it is missing.
func TestFinalThroughNoHole(t *testing.T) {
	r := mustSchedule("0 6 * * *", "UTC")
	r.Start = date("2026-01-02")
	now := moment("2026-03-01T07:00")
	for _, c := range []struct {
		days string
		want string
	}{
		{"2026-01-02 2026-01-03 2026-01-04", "2026-01-04"}, {"2026-01-02 2026-01-04", "2026-01-02"},
		{"2026-01-03 2026-01-04", "none"},
		{"2025-12-20 2025-12-25 2026-01-02", "2026-01-02"}, {"2025-12-20 2026-01-03", "2025-12-20"},
	} {
		done := ledger.Records{}
		for day := range strings.FieldsSeq(c.days) {
			done[date(day)] = ledger.Record{Partition: date(day), Fetched: now, State: ledger.Written}
		}
		got := "none"
		if through := Inspect(now, "j", r, done, ledger.Past{}).Counts.Through; through != nil {
			got = through.String()
		}
		if got != c.want {
			t.Errorf("of %s all are final through %s, want %s", c.days, got, c.want)
		}
	}
}

// A partition is running when it is due and a run has leased it.
func TestHoldMarksWhatIsFetched(t *testing.T) {
	p := civil.Date{Year: 2026, Month: 1, Day: 1}
	due := []Due{{Partition: p}, {Partition: p.AddDays(1)}, {Partition: p.AddDays(14)}}
	all := []Entry{{Partition: p, Condition: Absent}, {Partition: p.AddDays(1), Condition: Absent},
		{Partition: p.AddDays(2), Condition: Final}, {Partition: p.AddDays(14), Condition: Absent}}
	if leased := Hold(all, due, map[civil.Date]string{p: "r", p.AddDays(1): "r", p.AddDays(2): "s"}); leased != 2 {
		t.Errorf("%d of those that are due are leased", leased)
	}
	for i, want := range []Condition{Running, Running, Final, Absent} {
		if all[i].Condition != want {
			t.Errorf("%s is %s, want %s", all[i].Partition, all[i].Condition, want)
		}
	}
}
