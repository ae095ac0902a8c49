package refresh

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/zone"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A day-by-day reader walks from the partition's first day to the day of the fetch: as long as a
// day belongs to the period it is partial, and of the days after it each column takes as many as it
// needs.
func naive(r Rules, partition civil.Date, fetched time.Time) Finality {
	begun := func(d civil.Date) bool { return !fetched.Before(zone.Start(d, r.Location)) }
	d := partition
	for r.Period.Start(d) == partition {
		d = d.AddDays(1)
	}
	f := Finality{State: Final, At: zone.Start(d, r.Location)}
	if !begun(d) {
		f.State = Partial
	}
	for column, days := range r.FinalAfter {
		at := d
		for range max(0, days) {
			at = at.AddDays(1)
		}
		switch {
		case days != Never && begun(at):
			f.Columns = append(f.Columns, column)
		case f.State == Final:
			f.State = Restating
		}
		if start := zone.Start(at, r.Location); start.After(f.At) {
			f.At = start
		}
	}
	for _, days := range r.FinalAfter {
		if days == Never {
			f.At = time.Time{}
		}
	}
	slices.Sort(f.Columns)
	return f
}

func TestFinalityIsThatOfADayByDayReader(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{
			Period:     rapid.SampledFrom([]Period{Day, Week, Month, Quarter, Year}).Draw(t, "period"),
			FinalAfter: map[string]int{},
			Location:   rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		for _, column := range []string{"installs", "cost", "roas_d30", "roas"} {
			if days := rapid.SampledFrom([]int{-2, Never, 0, 1, 7, 14, 30}).Draw(t, column); days != -2 {
				r.FinalAfter[column] = days
			}
		}
		partition := r.Period.Start(civil.Date{Year: 2018, Month: 1, Day: 1}.AddDays(rapid.IntRange(0, 800).Draw(t,
			"day")))
		// Around the moments that count, to the second, or anywhere.
		days := rapid.SampledFrom([]int{-400, -1, 0, 1, 7, 14, 30, 31}).Draw(t, "age")
		fetched := zone.Start(r.Period.Next(partition).AddDays(days),
			r.Location).Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "seconds")) * time.Second)
		got, want := r.Finality(partition, fetched), naive(r, partition, fetched)
		if got.State != want.State || !got.At.Equal(want.At) || !slices.Equal(got.Columns, want.Columns) {
			t.Fatalf("%s %s, fetched %s, final after %v: %+v, want %+v", r.Period, partition, fetched, r.FinalAfter,
				got, want)
		}
	})
}

// What is stored under a record is final by the fetch that brought it, and by columns that it has.
func TestFinalityOfRecords(t *testing.T) {
	now := moment("2026-03-01T06:00")
	r := Rules{Period: Day, Location: time.UTC, FinalAfter: map[string]int{"installs": 7, "roas_d30": 30},
		Stale: map[string]ledger.Stale{"old": {Lacks: []string{"roas_d30"}}}}
	e := ledger.Record{Partition: date("2026-02-01"), Seq: 1, State: ledger.Written, Shape: "now",
		Fetched: moment("2026-02-10T06:00")}
	with := func(change func(*ledger.Record)) ledger.Record {
		e := e
		change(&e)
		return e
	}
	for _, c := range []struct {
		name, want string
		rules      func(*Rules)
		e          ledger.Record
	}{
		{"after the lookback, before the cohort", "restating installs", nil, e},
		{"after the cohort", "final installs,roas_d30", nil,
			with(func(e *ledger.Record) { e.Fetched = moment("2026-03-04T00:00") })},
		{"without the cohort's column", "final installs", nil, with(func(e *ledger.Record) { e.Shape = "old" })},
		{"in doubt", "publishing ", nil, with(func(e *ledger.Record) { e.State = ledger.Publishing })},
		{"kept over an empty answer", "restating ", nil, with(func(e *ledger.Record) {
			e.State, e.Finality, e.Fetched = ledger.Kept, Restating, moment("2026-03-04T00:00")
		})},
		{"kept by an older version", "restating ", nil, with(func(e *ledger.Record) {
			e.State, e.Fetched = ledger.Kept,
				moment("2026-03-04T00:00")
		})},
		{"final, and kept over an empty answer", "final installs,roas_d30", nil, with(func(e *ledger.Record) {
			e.State, e.Finality, e.Fetched = ledger.Kept, Final, moment("2026-03-04T00:00")
		})},
		{"a snapshot of a day that is over", "final ", func(r *Rules) { r.Snapshots, r.FinalAfter = true, nil },
			with(func(e *ledger.Record) { e.Fetched = moment("2026-02-01T06:00") })},
		{"a snapshot of today", "partial ", func(r *Rules) { r.Snapshots, r.FinalAfter = true, nil },
			with(func(e *ledger.Record) {
				e.Partition, e.Fetched = date("2026-03-01"), moment("2026-03-01T05:00")
			})},
		{"the whole", "partial ", func(r *Rules) { r.Period = Whole },
			with(func(e *ledger.Record) { e.Partition = sinks.Whole })},
	} {
		rules := r
		if c.rules != nil {
			c.rules(&rules)
		}
		f := rules.FinalityOf(now, c.e)
		got := f.State + " "
		for i, column := range f.Columns {
			if i > 0 {
				got += ","
			}
			got += column
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if len(r.Stale["old"].Lacks) != 1 || len(r.FinalAfter) != 2 {
		t.Error("the rules were changed")
	}
}

// A table is final through the partition before the oldest one that isn't.
func TestCounts(t *testing.T) {
	now := moment("2026-03-20T06:00")
	r := Rules{Period: Day, Page: 7, Start: date("2026-02-01"), Location: time.UTC,
		FinalAfter: map[string]int{"cost": 14}, Lookback: 7}
	done := ledger.Records{}
	add := func(day, fetched string, control ledger.ControlState, change func(*ledger.Record)) {
		e := ledger.Record{Partition: date(day), Seq: 1, Rows: 1, State: ledger.Written, Fetched: moment(fetched),
			Control: &ledger.Control{State: control}}
		if change != nil {
			change(&e)
		}
		done[e.Partition] = e
	}
	add("2026-02-01", "2026-02-16T00:00", ledger.Reconciled, nil)
	add("2026-02-02", "2026-02-20T00:00", ledger.Unreconciled, func(e *ledger.Record) { e.Moved = true })
	add("2026-02-03", "2026-02-12T00:00", ledger.Unchecked, nil) // after the lookback, before it was final
	add("2026-02-04", "2026-02-28T00:00", ledger.Reconciled, func(e *ledger.Record) { e.Control = nil })
	add("2026-03-17", "2026-03-20T00:00", ledger.Reconciled, nil)
	add("2026-03-18", "2026-03-20T00:00", ledger.Reconciled, func(e *ledger.Record) { e.State = ledger.Publishing })
	add("2026-03-20", "2026-03-20T05:00", ledger.Reconciled, nil)
	through := date("2026-02-02")
	want := Counts{
		Partial: 1, Restating: 2, Staying: 1, Final: 3, Through: &through, Doubtful: 1, Reconciled: 3, Unreconciled: 1,
		Unchecked: 2, Moved: 1,
	}
	if got := Inspect(now, "j", r, done, ledger.Past{}).Counts; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
