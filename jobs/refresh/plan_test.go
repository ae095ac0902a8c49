package refresh

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// describe writes a plan as text: cell, then each partition with its reason.
func describe(windows []Window) string {
	s := ""
	for _, w := range windows {
		s += w.Cell.String()
		for _, d := range w.Due {
			s += fmt.Sprintf(" %s=%s", d.Partition.String()[5:], d.Reason)
		}
		s += "\n"
	}
	return s
}

func mustSchedule(expr, zone string) Rules {
	s, err := ParseSchedule(expr, zone)
	if err != nil {
		panic(err)
	}
	return Rules{Period: Day, Page: 7, Start: date("2026-01-01"), Lookback: 2, Location: time.UTC, Schedule: s}
}

func TestPlanReasons(t *testing.T) {
	at := func(text string) time.Time {
		tm, err := time.Parse("2006-01-02T15:04", text)
		if err != nil {
			panic(err)
		}
		return tm
	}
	daily := mustSchedule("0 6 * * *", "UTC")
	fetched := func(pairs ...string) ledger.Records {
		l := ledger.Records{}
		for i := 0; i < len(pairs); i += 2 {
			l[date(pairs[i])] = ledger.Record{Partition: date(pairs[i]), Seq: 3, State: ledger.Written,
				Fetched: at(pairs[i+1])}
		}
		return l
	}
	with := func(change func(*Rules)) Rules {
		r := daily
		change(&r)
		return r
	}
	for _, c := range []struct {
		name  string
		now   string
		rules Rules
		done  ledger.Records
		want  string
	}{
		{"a new table", "2026-01-03T07:00", daily, nil, "2025-12-28 01-01=missing 01-02=missing\n"},
		{"the schedule hasn't fired since the day's end", "2026-01-03T05:59", daily, nil, "2025-12-28 01-01=missing\n"},
		{"ignoring the schedule", "2026-01-03T05:59", with(func(r *Rules) { r.IgnoreSchedule = true }), nil,
			"2025-12-28 01-01=missing 01-02=missing\n"},
		{"done today", "2026-01-03T23:00", daily, fetched("2026-01-01", "2026-01-03T06:00", "2026-01-02",
			"2026-01-03T06:00"), ""},
		{"the lookback, once more", "2026-01-04T06:00", daily,
			fetched("2026-01-01", "2026-01-03T06:00", "2026-01-02", "2026-01-03T06:00"),
			"2025-12-28 01-01=lookback 01-02=lookback 01-03=missing\n"},
		{"last fetched inside the lookback, however long ago", "2026-03-01T06:00",
			with(func(r *Rules) { r.Through = date("2026-01-02") }),
			fetched("2026-01-01", "2026-01-02T06:00", "2026-01-02", "2026-01-05T06:00"), "2025-12-28 01-01=lookback\n"},
		{"today too", "2026-01-01T12:00", with(func(r *Rules) { r.Today = true }), nil, "2025-12-28 01-01=missing\n"},
		{"today again", "2026-01-02T06:00", with(func(r *Rules) { r.Today = true; r.Lookback = 0 }),
			fetched("2026-01-01", "2026-01-01T12:00"), "2025-12-28 01-01=unfinished 01-02=missing\n"},
		{"a put that was cut", "2026-01-02T06:00", daily,
			ledger.Records{date("2026-01-01"): {Seq: 1, State: ledger.Publishing, Fetched: at("2026-01-02T06:00")}},
			"2025-12-28 01-01=interrupted\n"},
		{"a put that was cut before the start", "2026-01-10T06:00",
			with(func(r *Rules) { r.Start = date("2026-01-09") }),
			ledger.Records{
				date("2025-11-30"): {Seq: 2, State: ledger.Publishing, Fetched: at("2026-01-02T06:00")},
				date("2025-12-01"): {Seq: 1, State: ledger.Written, Fetched: at("2025-12-20T06:00")},
			}, "2025-11-30 11-30=interrupted\n2026-01-04 01-09=missing\n"},
		{"before a start that has moved on, what isn't final", "2026-03-01T06:00",
			with(func(r *Rules) { r.Start, r.Through, r.Horizons = date("2026-02-28"), civil.Date{}, []int{30} }),
			ledger.Records{
				date("2026-01-01"): {Seq: 1, State: ledger.Written, Fetched: at("2026-02-05T06:00")},
				date("2026-01-20"): {Seq: 1, State: ledger.Written, Fetched: at("2026-02-05T06:00")},
				date("2026-02-10"): {Seq: 1, State: ledger.Written, Fetched: at("2026-02-25T06:00")},
			}, "2026-01-18 01-20=cohort horizon\n2026-02-22 02-28=missing\n"},
		{"a put that was cut, and another range is asked for", "2026-01-10T06:00",
			with(func(r *Rules) { r.Start, r.Through = date("2026-01-09"), date("2026-01-09") }),
			ledger.Records{date("2025-11-30"): {Seq: 2, State: ledger.Publishing, Fetched: at("2026-01-02T06:00")}},
			"2026-01-04 01-09=missing\n"},
		{"everything again", "2026-01-02T06:00", with(func(r *Rules) { r.IgnoreLedger = true }),
			fetched("2026-01-01", "2026-01-20T12:00"), "2025-12-28 01-01=forced\n"},
		{"a sink that is new", "2026-03-01T06:00",
			with(func(r *Rules) {
				r.Targets = []ledger.Target{{Name: "a"},
					{Name: "b"}}
				r.Through = date("2026-01-03")
			}),
			ledger.Records{
				date("2026-01-01"): {Seq: 1, State: ledger.Written, Fetched: at("2026-01-09T06:00"),
					Receipts: []sinks.Receipt{{Sink: "a"}}},
				date("2026-01-02"): {Seq: 1, State: ledger.Empty, Fetched: at("2026-01-09T06:00")},
				date("2026-01-03"): {Seq: 1, State: ledger.Written, Fetched: at("2026-01-09T06:00"),
					Receipts: []sinks.Receipt{{Sink: "b"}, {Sink: "a"}}},
			}, "2025-12-28 01-01=new sink\n"},
		// The tick of midnight is the one that the column of yesterday waits for, as the others do.
		{"a new column, with a tick at the day's end", "2026-01-03T07:00", with(func(r *Rules) {
			r.Stale, r.Lookback = map[string]ledger.Stale{"old": {Lacks: []string{"clicks"}}}, 0
			r.Schedule, _ = ParseSchedule("0 0 * * *", "UTC")
		}),
			ledger.Records{
				date("2026-01-01"): {Seq: 1, State: ledger.Written, Shape: "old", Rows: 1,
					Fetched: at("2026-01-03T06:00")},
				date("2026-01-02"): {Seq: 1, State: ledger.Written, Shape: "old", Rows: 1,
					Fetched: at("2026-01-03T06:00")},
			}, "2025-12-28 01-01=missing columns 01-02=missing columns\n"},
		{"no schedule", "2026-01-02T00:00", with(func(r *Rules) { r.Schedule = nil }), nil,
			"2025-12-28 01-01=missing\n"},
		{"the grid", "2026-01-10T06:00", with(func(r *Rules) { r.Start = date("2026-01-06") }), nil,
			"2026-01-04 01-06=missing 01-07=missing 01-08=missing 01-09=missing\n"},
		{"weeks", "2026-01-27T06:00", with(func(r *Rules) { r.Period, r.Page = Week, 2 }), nil,
			"2025-12-21 12-28=missing\n2026-01-04 01-04=missing 01-11=missing\n2026-01-18 01-18=missing\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := describe(Plan(at(c.now), c.rules, c.done))
			if got != c.want {
				t.Errorf("plan:\n%swant:\n%s", got, c.want)
			}
		})
	}
}

func drawRules(t *rapid.T) Rules {
	schedules := []string{"", "0 6 * * *", "*/15 * * * *", "30 2 * * 1", "@daily"}
	s, err := ParseSchedule(rapid.SampledFrom(schedules).Draw(t, "schedule"), "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	offset := rapid.IntRange(-12, 14).Draw(t, "offset")
	return Rules{
		Period:   Period(rapid.IntRange(0, int(Year)).Draw(t, "period")),
		Page:     rapid.IntRange(1, 40).Draw(t, "page"),
		Start:    date("2026-01-01").AddDays(rapid.IntRange(-200, 50).Draw(t, "start")),
		Today:    rapid.Bool().Draw(t, "today"),
		Lookback: rapid.IntRange(0, 30).Draw(t, "lookback"),
		Horizons: slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.IntRange(1, 60), 0, 3).Draw(t,
			"horizons")))),
		Location: time.FixedZone("", offset*3600),
		Schedule: s,
	}
}

func drawNow(t *rapid.T) time.Time {
	return time.Date(2026, 1, 1, 0, rapid.IntRange(0, 200*24*60).Draw(t, "minutes"), 0, 0, time.UTC)
}

func drawLedgered(t *rapid.T, r Rules, now time.Time) ledger.Records {
	done := ledger.Records{}
	first, last := r.bounds(now)
	for i := first; i <= last; i++ {
		if rapid.Bool().Draw(t, "recorded") {
			p := r.Period.At(i)
			age := rapid.IntRange(-24, 24*40).Draw(t, "age")
			e := ledger.Record{Partition: p, Seq: 1, State: ledger.Written,
				Fetched: r.Period.Next(p).In(r.Location).Add(time.Duration(age) * time.Hour)}
			if !e.Fetched.After(now) {
				done[p] = e
			}
		}
	}
	return done
}

func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, now := drawRules(t), drawNow(t)
		done := drawLedgered(t, r, now)
		windows := Plan(now, r, done)
		planned := map[civil.Date]Due{}
		cells := map[civil.Date]civil.Date{}
		var previous civil.Date
		for _, w := range windows {
			if i := r.Period.Index(w.Cell); i != r.Page*floorDiv(i, r.Page) || r.Period.At(i) != w.Cell {
				t.Fatalf("cell %s doesn't lie on the grid", w.Cell)
			}
			if len(w.Due) == 0 {
				t.Fatalf("window %s has nothing to do", w.Cell)
			}
			for _, d := range w.Due {
				if !d.Partition.After(previous) {
					t.Fatalf("partitions don't ascend: %s after %s", d.Partition, previous)
				}
				previous = d.Partition
				if r.Period.Start(d.Partition) != d.Partition {
					t.Fatalf("%s is no first day of a %v", d.Partition, r.Period)
				}
				if off := r.Period.Index(d.Partition) - r.Period.Index(w.Cell); off < 0 || off >= r.Page {
					t.Fatalf("%s isn't in the cell %s", d.Partition, w.Cell)
				}
				planned[d.Partition], cells[d.Partition] = d, w.Cell
			}
			var joined []civil.Date
			for _, run := range w.Runs() {
				for i, p := range run {
					if i > 0 && r.Period.Next(run[i-1]) != p {
						t.Fatalf("run %v isn't contiguous", run)
					}
				}
				joined = append(joined, run...)
			}
			if len(joined) != len(w.Due) {
				t.Fatalf("runs cover %d of %d partitions", len(joined), len(w.Due))
			}
		}
		first, last := r.bounds(now)
		for i := first; i <= last; i++ {
			p := r.Period.At(i)
			_, recorded := done[p]
			d, due := planned[p]
			if recorded && due && d.Reason == Missing {
				t.Fatalf("%s is recorded and planned as missing", p)
			}
			if !recorded && !due && r.Schedule == nil {
				t.Fatalf("%s is missing, and not planned", p)
			}
		}

		// What else is missing changes neither whether nor where a partition is fetched: parallel
		// tasks agree.
		for p := range done {
			if rapid.Bool().Draw(t, "forget") {
				delete(done, p)
				for _, w := range Plan(now, r, done) {
					for _, d := range w.Due {
						if cell, was := cells[d.Partition]; was && cell != w.Cell {
							t.Fatalf("%s moved from cell %s to %s", d.Partition, cell, w.Cell)
						}
					}
				}
				break
			}
		}
	})
}

// A plan that was carried out leaves nothing to do, and planning again doesn't change a plan.
func TestPlanConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, now := drawRules(t), drawNow(t)
		done := drawLedgered(t, r, now)
		windows := Plan(now, r, done)
		if again := Plan(now, r, done); !reflect.DeepEqual(windows, again) {
			t.Fatalf("two plans of one state differ")
		}
		for _, w := range windows {
			for _, d := range w.Due {
				done[d.Partition] = ledger.Record{Partition: d.Partition, Seq: d.Seq + 1, State: ledger.Written,
					Fetched: now}
			}
		}
		if r.Schedule == nil {
			return // fires always: what may still change is fetched by every run
		}
		if rest := Plan(now, r, done); len(rest) != 0 {
			t.Fatalf("still to do: %s", describe(rest))
		}
	})
}

func TestFiredAroundClockChanges(t *testing.T) {
	s, err := ParseSchedule("30 2 * * *", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	night := func(day, hour, minute int, month time.Month) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, berlin)
	}
	// 2026-03-29 has no 02:30 in Berlin: that night's tick is missing, the next one comes a day
	// later.
	if Fired(s, night(28, 3, 0, time.March), night(29, 23, 0, time.March)) {
		t.Error("the tick of the spring-gap night fired")
	}
	if !Fired(s, night(28, 3, 0, time.March), night(30, 2, 30, time.March)) {
		t.Error("the night after the spring gap doesn't catch up")
	}
	// 2026-10-25 has 02:30 twice.
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	if !Fired(s, first.Add(-time.Minute), first) || !Fired(s, first, first.Add(time.Hour)) {
		t.Error("want two ticks in the autumn night: a second one is harmless, a missing one isn't")
	}
}

// What passes for settled without a look at a zone's clocks is settled by them.
func TestLongSettled(t *testing.T) {
	zones := []*time.Location{time.UTC}
	for _, name := range []string{"Pacific/Kiritimati", "Etc/GMT+12", "America/Sao_Paulo", "Europe/Berlin"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{
			Period:   Period(rapid.IntRange(int(Day), int(Whole)).Draw(t, "period")),
			Lookback: rapid.IntRange(0, 20).Draw(t, "lookback"),
			Location: rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		if days := rapid.IntRange(0, 120).Draw(t, "horizon"); days > 0 {
			r.Horizons = []int{days}
		}
		partition := r.Period.Start(civil.Date{Year: 2016, Month: 1, Day: 1}.AddDays(rapid.IntRange(0, 4000).Draw(t,
			"day")))
		end := r.end(partition, r.settled())
		fetched := end.Add(time.Duration(rapid.IntRange(-60, 1200).Draw(t, "hours after the end")) * time.Hour)
		long := r.longSettled(partition, fetched)
		if long && (r.Period == Whole || fetched.Before(end)) {
			t.Fatalf("%s, fetched at %s, isn't settled before %s", partition, fetched, end)
		}
		if r.Period != Whole && fetched.Sub(end) > 45*24*time.Hour && !long {
			t.Fatalf("%s, fetched at %s, long after %s", partition, fetched, end)
		}
	})
}
