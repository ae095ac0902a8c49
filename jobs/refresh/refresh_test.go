package refresh

import (
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

func moment(text string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	panic(text)
}

func daysFetched(fetched string, days ...string) ledger.Records {
	l := ledger.Records{}
	for _, d := range days {
		l[date(d)] = ledger.Record{Partition: date(d), Seq: 1, State: ledger.Written, Shape: "now",
			Fetched: moment(fetched)}
	}
	return l
}

// Cohort metrics are final so many days after the end of their cohorts' period: one more fetch
// each, whenever it comes.
func TestPlanHorizons(t *testing.T) {
	r := mustSchedule("0 6 * * *", "UTC") // lookback 2
	r.Horizons = []int{7, 30}
	r.Through = date("2026-01-01") // ends on 01-02; final on 01-09 and 02-01
	for _, c := range []struct {
		name, now, fetched, want string
		change                   func(*Rules)
	}{
		{"inside the lookback", "2026-01-03T06:00", "2026-01-02T06:00", "lookback", nil},
		{"after the lookback", "2026-01-08T06:00", "2026-01-04T06:00", "", nil},
		{"the horizon has passed, the schedule hasn't fired", "2026-01-09T05:59", "2026-01-04T06:00", "", nil},
		{"it has", "2026-01-09T06:00", "2026-01-04T06:00", "cohort horizon", nil},
		{"ignoring the schedule", "2026-01-09T00:00", "2026-01-04T06:00", "cohort horizon",
			func(r *Rules) { r.IgnoreSchedule = true }},
		{"ignoring the schedule, too early", "2026-01-08T23:59", "2026-01-04T06:00", "",
			func(r *Rules) { r.IgnoreSchedule = true }},
		{"once", "2026-01-20T06:00", "2026-01-09T06:00", "", nil},
		{"fetched at the horizon", "2026-01-20T06:00", "2026-01-09T00:00", "", nil},
		{"fetched right before it", "2026-01-20T06:00", "2026-01-08T23:59", "cohort horizon", nil},
		{"the next one", "2026-02-01T06:00", "2026-01-09T06:00", "cohort horizon", nil},
		{"both were missed", "2027-01-01T06:00", "2026-01-04T06:00", "cohort horizon", nil},
		{"one fetch settles both", "2027-01-01T06:00", "2026-02-01T00:00", "", nil},
		{"the lookback was missed too", "2027-01-01T06:00", "2026-01-03T06:00", "lookback", nil},
		{"no schedule", "2026-01-09T00:00", "2026-01-04T06:00", "cohort horizon", func(r *Rules) { r.Schedule = nil }},
		{"a lookback beyond the horizons", "2026-01-20T06:00", "2026-01-19T06:00", "lookback",
			func(r *Rules) { r.Lookback = 40 }},
		{"a lookback of none", "2026-01-08T06:00", "2026-01-02T06:00", "", func(r *Rules) { r.Lookback = 0 }},
	} {
		rules := r
		if c.change != nil {
			c.change(&rules)
		}
		want := c.want
		if want != "" {
			want = "2025-12-28 01-01=" + want + "\n"
		}
		if got := describe(Plan(moment(c.now), rules, daysFetched(c.fetched, "2026-01-01"))); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// A tick at midnight finds the day that ends there.
func TestPlanAtMidnight(t *testing.T) {
	r := mustSchedule("@daily", "UTC")
	if got := describe(Plan(moment("2026-01-02T00:00"), r, nil)); got != "2025-12-28 01-01=missing\n" {
		t.Errorf("at midnight: %q", got)
	}
	if got := describe(Plan(moment("2026-01-02T23:59"), r, daysFetched("2026-01-02T00:00", "2026-01-01"))); got != "" {
		t.Errorf("again on that day: %q", got)
	}
}

// Every period, finished and unfinished, where days are of 23 and 25 hours.
func TestPlanPeriods(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	for _, c := range []struct {
		name    string
		period  Period
		start   string
		today   bool
		now     string
		fetched string
		done    []string
		want    string
	}{
		{"the day of 23 hours is over", Day, "2026-03-29", false, "2026-03-29T22:00:00Z", "", nil,
			"2026-03-29 03-29=missing\n"},
		{"and before that it isn't", Day, "2026-03-29", false, "2026-03-29T21:59:59Z", "", nil, ""},
		{"the day of 25 hours is over", Day, "2026-10-25", false, "2026-10-25T23:00:00Z", "", nil,
			"2026-10-25 10-25=missing\n"},
		{"and before that it isn't", Day, "2026-10-25", false, "2026-10-25T22:59:59Z", "", nil, ""},
		{"today, fetched in its 25th hour", Day, "2026-10-25", true, "2026-10-25T23:00:00Z", "2026-10-25T22:30:00Z",
			[]string{"2026-10-25"},
			"2026-10-25 10-25=unfinished\n2026-10-26 10-26=missing\n"},
		{"today, fetched after it", Day, "2026-10-25", true, "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z",
			[]string{"2026-10-25", "2026-10-26"},
			"2026-10-26 10-26=unfinished\n"},
		{"the leap day", Day, "2024-02-28", false, "2024-03-01T12:00:00Z", "", nil,
			"2024-02-28 02-28=missing\n2024-02-29 02-29=missing\n"},
		{"a week is over", Week, "2026-03-28", false, "2026-03-28T23:00:00Z", "", nil, "2026-03-22 03-22=missing\n"},
		{"a week isn't", Week, "2026-03-29", false, "2026-04-04T21:59:59Z", "", nil, ""},
		{"an unfinished week", Week, "2026-03-28", true, "2026-03-29T10:00:00Z", "", nil,
			"2026-03-22 03-22=missing\n2026-03-29 03-29=missing\n"},
		{"an unfinished week again", Week, "2026-03-28", true, "2026-04-04T10:00:00Z", "2026-03-29T10:00:00Z",
			[]string{"2026-03-22", "2026-03-29"},
			"2026-03-29 03-29=unfinished\n"},
		{"an unfinished month again", Month, "2024-02-10", true, "2024-02-29T22:59:59Z", "2024-02-28T22:59:59Z",
			[]string{"2024-02-01"},
			"2024-02-01 02-01=unfinished\n"},
		{"a month and the next", Month, "2024-02-10", true, "2024-02-29T23:00:00Z", "2024-02-29T22:59:59Z",
			[]string{"2024-02-01"},
			"2024-02-01 02-01=unfinished\n2024-03-01 03-01=missing\n"},
		{"a month isn't over", Month, "2024-02-10", false, "2024-02-29T22:59:59Z", "", nil, ""},
		{"a quarter isn't over", Quarter, "2025-10-01", false, "2025-12-31T22:59:59Z", "", nil, ""},
		{"a quarter is over", Quarter, "2025-11-01", false, "2025-12-31T23:00:00Z", "", nil,
			"2025-10-01 10-01=missing\n"},
		{"an unfinished quarter", Quarter, "2025-11-01", true, "2026-01-01T10:00:00Z", "", nil,
			"2025-10-01 10-01=missing\n2026-01-01 01-01=missing\n"},
		{"a year isn't over", Year, "2025-06-01", false, "2025-12-31T22:59:59Z", "", nil, ""},
		{"a year is over", Year, "2024-06-01", false, "2025-12-31T23:00:00Z", "", nil,
			"2024-01-01 01-01=missing\n2025-01-01 01-01=missing\n"},
		{"an unfinished year again", Year, "2025-06-01", true, "2025-07-01T10:00:00Z", "2025-06-30T10:00:00Z",
			[]string{"2025-01-01"},
			"2025-01-01 01-01=unfinished\n"},
		{"the whole, before a day is over", Whole, "2026-01-01", false, "2026-01-01T22:59:59Z", "", nil, ""},
		{"the whole, after it", Whole, "2026-01-01", false, "2026-01-01T23:00:00Z", "", nil,
			"0001-01-01 01-01=missing\n"},
		{"the whole with today", Whole, "2026-01-01", true, "2026-01-01T01:00:00Z", "", nil,
			"0001-01-01 01-01=missing\n"},
		{"the whole, fetched today", Whole, "2026-01-01", false, "2026-01-10T22:59:59Z", "2026-01-09T23:00:00Z",
			[]string{"0001-01-01"}, ""},
		{"the whole, one day longer", Whole, "2026-01-01", false, "2026-01-10T23:00:00Z", "2026-01-10T22:59:59Z",
			[]string{"0001-01-01"},
			"0001-01-01 01-01=unfinished\n"},
	} {
		r := Rules{Period: c.period, Page: 1, Start: date(c.start), Today: c.today, Location: berlin}
		if got := describe(Plan(moment(c.now), r, daysFetched(c.fetched, c.done...))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A table without periods holds the days from its start to the newest, and with a lookback is
// fetched by every tick.
func TestPlanWhole(t *testing.T) {
	r := mustSchedule("0 6 * * 1", "UTC") // Mondays
	r.Period, r.Page, r.Start = Whole, 30, date("2026-01-01")
	done := daysFetched("2026-01-05T06:00", sinks.Whole.String()) // a Monday
	for now, want := range map[string]string{
		"2026-01-11T23:59": "",
		"2026-01-12T06:00": "0001-01-01 01-01=unfinished\n",
		"2026-01-13T05:00": "0001-01-01 01-01=unfinished\n", // Monday's tick was missed
	} {
		if got := describe(Plan(moment(now), r, done)); got != want {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
	r.Schedule = nil
	if got := describe(Plan(moment("2026-01-05T07:00"), r, done)); got != "0001-01-01 01-01=lookback\n" {
		t.Errorf("again on the same day: %q", got)
	}
	from, until := r.Days(moment("2026-01-05T07:00"), Window{Period: Whole,
		Due: []Due{{Partition: sinks.Whole}}}.Runs()[0])
	if from != r.Start || until != date("2026-01-05") {
		t.Errorf("holds %s to %s", from, until)
	}
	r.Today = true
	if _, until := r.Days(moment("2026-01-05T07:00"), nil); until != date("2026-01-06") {
		t.Errorf("with today it holds the days before %s", until)
	}
	r.Period = Month
	if from, until := r.Days(moment("2026-01-05T07:00"), []civil.Date{date("2025-12-01"), date("2026-01-01")}); from !=
		date("2025-12-01") || until != date("2026-02-01") {
		t.Errorf("two months hold %s to %s", from, until)
	}
}

// What was recorded under another shape is fetched again, wherever it lies, and nothing else is
// because of that.
func TestPlanStaleShapes(t *testing.T) {
	r := mustSchedule("0 6 * * *", "UTC")
	r.Start = date("2026-01-03")
	r.Stale = map[string]ledger.Stale{"old": {Rebased: true, Lacks: []string{"a"}},
		"narrow": {Lacks: []string{"b", "a"}}}
	shaped := func(pairs ...string) ledger.Records {
		l := ledger.Records{}
		for i := 0; i < len(pairs); i += 2 {
			l[date(pairs[i])] = ledger.Record{Seq: 1, State: ledger.Written, Rows: 1, Shape: pairs[i+1],
				Fetched: moment("2026-02-09T06:00")}
		}
		return l
	}
	done := shaped("2025-12-30", "old", "2025-12-31", "now", "2026-01-01", "narrow", "2026-01-03", "now", "2026-01-04",
		"old", "2026-01-05", "narrow")
	with := func(change func(*Rules)) Rules {
		r := r
		change(&r)
		return r
	}
	kept := shaped("2026-01-04", "old")
	e := kept[date("2026-01-04")]
	e.State = ledger.Kept
	kept[date("2026-01-04")] = e
	bare := shaped("2026-01-03", "narrow", "2026-01-04", "narrow")
	for day, state := range map[string]ledger.State{"2026-01-03": ledger.Empty, "2026-01-04": ledger.Cleared} {
		e := bare[date(day)]
		e.State, e.Rows = state, 0
		bare[date(day)] = e
	}
	only5 := func(r *Rules) { r.Start, r.Through = date("2026-01-04"), date("2026-01-04") }
	for _, c := range []struct {
		name  string
		now   string
		rules Rules
		done  ledger.Records
		want  string
	}{
		{"all", "2026-02-10T01:00", with(func(r *Rules) { r.Only = []Reason{Rebased, NewColumns} }), done,
			"2025-12-28 12-30=rebaseline 01-01=missing columns\n2026-01-04 01-04=rebaseline 01-05=missing columns\n"},
		{"of one kind", "2026-02-10T01:00", with(func(r *Rules) { r.Only = []Reason{NewColumns} }), done,
			"2025-12-28 01-01=missing columns\n2026-01-04 01-05=missing columns\n"},
		{"gaps only", "2026-01-07T07:00", with(func(r *Rules) { r.Only = []Reason{Missing, Interrupted} }), done,
			"2026-01-04 01-06=missing\n"},
		{"a range", "2026-02-10T01:00", with(func(r *Rules) { r.Through = date("2026-01-04") }), done,
			"2026-01-04 01-04=rebaseline\n"},
		{"columns for later", "2026-02-10T01:00", with(func(r *Rules) {
			r.LaterColumns, r.Only = true,
				[]Reason{Rebased, NewColumns}
		}), done,
			"2025-12-28 12-30=rebaseline\n2026-01-04 01-04=rebaseline\n"},
		{"without rows nothing lacks a column", "2026-01-05T07:00", with(func(r *Rules) { r.Lookback = 0 }), bare, ""},
		{"rows that were kept, until the next tick", "2026-02-10T05:59", with(only5), kept, ""},
		{"rows that were kept, at the next tick", "2026-02-10T06:00", with(only5), kept,
			"2026-01-04 01-04=rebaseline\n"},
	} {
		if got := describe(Plan(moment(c.now), c.rules, c.done)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
