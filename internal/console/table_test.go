package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// stored is the made-up history of a table: of January 10 two contents, of which the second came
// this night, and of January 11 one of this night. The content of January 9 had been final.
func stored(t *testing.T, l *ledger.Ledger, name string) []refresh.Entry {
	t.Helper()
	table, err := l.Table(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	last, night := noon.AddDate(0, 0, -1).Add(-8*time.Hour), noon.Add(-8*time.Hour)
	for _, e := range []ledger.Record{
		{Partition: at(9).Partition, Run: oldRun, Fetched: last, Reason: "missing", Finality: refresh.Final, Rows: 100,
			Hash: "a", Sums: map[string]string{"cost": "70.5", "installs": "40"}},
		{Partition: at(9).Partition, Run: nightRun, Fetched: night, Reason: "drift", Finality: refresh.Final,
			Moved: true, Rows: 100, Hash: "b", Sums: map[string]string{"cost": "70.500000", "installs": "41"}},
		{Partition: at(10).Partition, Run: oldRun, Fetched: last, Reason: "missing", Finality: refresh.Restating,
			Rows: 110, Hash: "c", Sums: map[string]string{"cost": "1234567.891", "installs": "50"}},
		{
			Partition: at(10).Partition, Run: nightRun, Fetched: night, Reason: "lookback", Finality: refresh.Restating,
			Rows: 90, Hash: "d", Sums: map[string]string{"cost": "1234000", "installs": "50"},
			Control: &ledger.Control{State: ledger.Reconciled}, Raw: []string{"raw/2026-01-10/a.csv.zst"},
			Receipts: []sinks.Receipt{{Sink: "gs://bucket/<x>", Key: "campaigns/dt=2026-01-10/part-0.parquet",
				Size: 20771}},
		},
		{Partition: at(11).Partition, Run: nightRun, Fetched: night, Reason: "missing", Finality: refresh.Partial,
			Rows: 12, Hash: "e", Sums: map[string]string{"cost": "0.123456", "installs": "6"}},
	} {
		e.State = ledger.Written
		if err := table.Commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	return refresh.Calendar(noon, refresh.Rules{Page: 7, Location: time.UTC}, table.Records(), nil)
}

func TestCalendarHasAPlaceForEveryPartition(t *testing.T) {
	for period, want := range map[refresh.Period]string{
		refresh.Day: "2026-01 31 2025-12 31", refresh.Week: "2026 53 2025 53", refresh.Month: "2026 12 2025 12",
		refresh.Quarter: "2026 4 2025 4", refresh.Year: "2026 1 2025 1",
	} {
		var all []refresh.Entry
		for p := period.Start(civil.Date{Year: 2025, Month: 12, Day: 4}); p.Before(civil.Date{Year: 2026, Month: 1,
			Day: 20}); p = period.Next(p) {
			all = append(all, refresh.Entry{Partition: p, Condition: refresh.Final})
		}
		c := TableState{Inspection: refresh.Inspection{Period: period, Calendar: all}}.calendar()
		var got []string
		n := 0
		for _, r := range c.Rows {
			got = append(got, r.Name, fmt.Sprint(len(r.Cells)))
			for _, cell := range r.Cells {
				if cell.Name != "" {
					n++
				}
			}
		}
		if n != len(all) {
			t.Errorf("%v: %d of %d partitions have a place", period, n, len(all))
		}
		if period != refresh.Month && period != refresh.Quarter && period != refresh.Year &&
			strings.Join(got, " ") != want {
			t.Errorf("%v: rows are %v, want %s", period, got, want)
		}
	}
	whole := TableState{Inspection: refresh.Inspection{Period: refresh.Whole,
		Calendar: []refresh.Entry{{Partition: sinks.Whole, Condition: refresh.Partial}}}}.calendar()
	if len(whole.Rows) != 1 || whole.Rows[0].Cells[0].Name != "whole" {
		t.Errorf("%+v", whole)
	}
}

// In no year do two weeks fall into one place.
func TestWeeksHavePlacesOfTheirOwn(t *testing.T) {
	seen := map[string]civil.Date{}
	for p := refresh.Week.Start(civil.Date{Year: 1999, Month: 1, Day: 1}); p.Year < 2060; p = refresh.Week.Next(p) {
		row, column := placeOf(refresh.Week, p)
		key := fmt.Sprint(row, " ", column)
		if other, taken := seen[key]; taken || column > 52 {
			t.Fatalf("%s and %s are both at %s", p, other, key)
		}
		seen[key] = p
	}
}

func TestAmount(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "12": "12", "1234567": "1 234 567", "-1234.5": "-1 234.5", "20039.840000": "20 039.84",
		"1.2345": "1.23", "0.000123": "0.000123", "-0.0015": "-0.0015", "": "",
	} {
		if got := amount(text); got != want {
			t.Errorf("%s is shown as %q, want %q", text, got, want)
		}
	}
}

// A number of a day ago is the one that held then, whatever came in between; a partition that is
// new had none.
func TestNumbersOfADayAgo(t *testing.T) {
	day := func(d int, seq int, hours int, cost string) ledger.Record {
		e := at(d)
		e.Seq, e.Fetched, e.Sums = seq, noon.Add(-time.Duration(hours)*time.Hour), map[string]string{"cost": cost}
		return e
	}
	had := earlierOf(tableHistory{records: []ledger.Record{day(1, 1, 60, "1"), day(1, 2, 30, "2"), day(1, 3, 20, "3"),
		day(1, 4, 2, "4"), day(2, 1, 3, "7"), day(3, 1, 40, "5"), day(3, 2, 4, "5.0")}}, noon.Add(-comparedAge))
	for _, c := range []struct {
		now  ledger.Record
		want number
	}{
		{day(1, 4, 2, "4"), number{Is: "4", Was: "2", Moved: true}}, {day(2, 1, 3, "7"), number{Is: "7", Moved: true}},
		{day(3, 2, 4, "5.0"), number{Is: "5.0", Was: "5"}}, {day(4, 1, 99, "6"), number{Is: "6", Was: "6"}},
	} {
		if got := had.numberOf(refresh.Entry{Partition: c.now.Partition, Record: c.now}, "cost"); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.now.Partition, got, c.want)
		}
	}
	missing := refresh.Entry{Partition: at(5).Partition, Gap: &refresh.Gap{}}
	if got := had.numberOf(missing, "cost"); !got.hole() {
		t.Errorf("a partition that is missing has the number %+v", got)
	}
}

// A page of 4,000 partitions stays small. BenchmarkTable says how long it takes.
func TestTenYearsOfDaysFitAPage(t *testing.T) {
	c := tenYears(t, 30)
	for path, most := range map[string]int{"jobs/long/index.html": 300_000, "jobs/long/numbers/rows.html": 300_000,
		"jobs/long/numbers/metric_07.html": 300_000} {
		page, err := c.page(t.Context(), path, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > most {
			t.Errorf("%s has %d bytes, which is more than %d", path, len(page), most)
		}
	}
	file, err := c.page(t.Context(), "jobs/long/numbers/rows.html", false)
	if n := strings.Count(string(file), "<tr><th>"); err != nil || n != 400 ||
		!strings.Contains(string(file), "3600 older partitions not shown") {
		t.Errorf("%v; an exported page has %d numbers", err, n)
	}
	page, err := c.page(t.Context(), "jobs/long/index.html", true)
	if n := strings.Count(string(page), `<td><a href=`); err != nil || n != 4000 {
		t.Errorf("%v; the calendar has %d partitions", err, n)
	}
}

func BenchmarkTable(b *testing.B) {
	c := tenYears(b, 30)
	for b.Loop() {
		if _, err := c.page(b.Context(), "jobs/long/index.html", true); err != nil {
			b.Fatal(err)
		}
	}
}

// tenYears is a console of a table of 4,000 days with so many metrics.
func tenYears(t testing.TB, metrics int) *Console {
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	var look TableState
	first := civil.DateOf(noon).AddDays(-4000)
	for i := range 4000 {
		e := ledger.Record{Partition: first.AddDays(i), Seq: 1, State: ledger.Written, Rows: int64(100_000 + i),
			Fetched: noon.AddDate(0, 0, i-3999), Sums: map[string]string{}}
		for m := range metrics {
			e.Sums[fmt.Sprintf("metric_%02d", m)] = fmt.Sprintf("%d.%06d", 123_456+i*m%1000, i)
		}
		look.Calendar = append(look.Calendar, refresh.Entry{Partition: e.Partition, Condition: refresh.Final, Record: e,
			Finality: refresh.Finality{State: refresh.Final}})
	}
	return New(Options{Ledger: l, Jobs: []Job{looks("long", look, nil)}, Now: func() time.Time { return noon }})
}

// An export has pages of the newest partitions, and of those older ones that a person may have to
// look at, the newest of them.
func TestPartitionsWithPages(t *testing.T) {
	var all []refresh.Entry
	for i := range 1000 {
		e := refresh.Entry{Partition: at(1).Partition.AddDays(i), Condition: refresh.Final}
		switch {
		case i < 300:
			e.Condition = refresh.Absent
		case i == 400:
			e.Condition = refresh.ChangedFinal
		case i == 401:
			e.Condition = refresh.Restating
		}
		all = append(all, e)
	}
	l := TableState{Inspection: refresh.Inspection{Calendar: all}}
	l.Problems = status.Of("x", "report", l.Inspection, nil)
	paged := l.withPage()
	for i, want := range map[int]bool{999: true, 908: true, 907: false, 401: false, 400: true, 300: false, 299: true,
		101: true, 100: false, 0: false} {
		if paged[all[i].Partition] != want {
			t.Errorf("partition %d has a page: %v", i, !want)
		}
	}
}

// A cell of the map shows the biggest of several moves of one day, and finals are marked.
func TestHeat(t *testing.T) {
	move := func(metric string, d int, size float64, finality string) refresh.Move {
		return refresh.Move{Change: refresh.Change{Metric: metric, Partition: at(d).Partition, Finality: finality},
			Size: size}
	}
	rows := heat([]refresh.Move{move("cost", 2, -0.6, refresh.Final), move("cost", 2, 0.3, ""),
		move("installs", 3, 0.06, ""), move("rows", 9, 0.01, "")}, []civil.Date{at(3).Partition, at(2).Partition})
	want := []heatRow{{"cost", []heatCell{{}, {"-60%", 5, false, true}}},
		{"installs", []heatCell{{"+6.0%", 3, true, false}, {}}}}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("the map is %+v, want %+v", rows, want)
	}
}

// Freshness is counted from the end of the newest period to the end of the run, of runs that had
// the job and are over.
func TestFreshnessByRun(t *testing.T) {
	newest := at(10).Partition
	ended := noon.Add(time.Hour)
	run := func(end *time.Time, job string, newest *civil.Date) ledger.Run {
		return ledger.Run{ID: "r", Started: noon, Ended: end, Results: []ledger.Result{{Job: job, Newest: newest}}}
	}
	j := JobStatus{Job: Job{Name: "a", Zone: time.FixedZone("", 3600)}}
	list, oldest := freshness(snapshot{past: ledger.Past{Runs: []ledger.Run{run(&ended, "a", &newest),
		run(&ended, "b", &newest), run(nil, "a", nil), run(&ended, "a", nil)}}}, j)
	if len(list) != 2 || list[0].Age != 38*time.Hour || list[0].Long != 100 || list[1].Newest != nil ||
		oldest != 38*time.Hour {
		t.Errorf("%+v, the oldest %v", list, oldest)
	}
}

// An older partition's history is read for it alone.
func TestAnOlderPartition(t *testing.T) {
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	first := years(t, l, "long", 200)
	c := New(Options{Ledger: l, Jobs: []Job{ofLedger(l, "long", first)}, Now: func() time.Time { return noon }})
	for _, d := range []civil.Date{first, first.AddDays(1), first.AddDays(199)} {
		page, err := c.page(t.Context(), "jobs/long/"+d.String()+".html", true)
		if err != nil || !strings.Contains(string(page), "<h2>Sums</h2>") ||
			strings.Count(string(page), "> <small>holds</small>") > 1 {
			t.Errorf("%s: %v\n%s", d, err, page)
		}
	}
}

// Pages that there aren't don't fill the cache.
func TestUnknownPagesAreForgotten(t *testing.T) {
	c := sample(t)
	for i := range 10 {
		if _, err := c.answer(t.Context(), fmt.Sprintf("no/%d", i)); err == nil {
			t.Error("a page is there that isn't")
		}
	}
	if len(c.pages.byPath) != 0 {
		t.Errorf("%d of them are kept", len(c.pages.byPath))
	}
}
