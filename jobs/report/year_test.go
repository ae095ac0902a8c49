package report_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/jobs/state"
)

var nights = flag.Int("nights", 30, "nights of the simulated year")

// A year is a table that is fetched night after night, while the service restates its days, and
// what must come of it.
type year struct {
	*rig
	first   civil.Date
	query   url.Values         // of the job's report, with all days
	logged  int                // requests of the service's log that have been looked at
	fetched map[string]fetched // each day as it was fetched last
	moved   map[string]sums    // by the service's book, what has moved of each day since then
	want    []string           // lines of restatements
	unseen  map[string]int     // nights since when a final day isn't what was fetched
	longest int                // of them
}

type sums map[string]*big.Rat

// add adds to a sum, which is 0 at first.
func (s sums) add(metric string, n *big.Rat) {
	s[metric] = new(big.Rat).Add(cmp.Or(s[metric], new(big.Rat)), n)
}

type fetched struct {
	at   time.Time
	sums sums                         // and the count of rows as refresh.RowCount
	rows map[string]map[string]string // by the dimensions but the day
}

// Night after night the service restates days of all ages, networks' spend arrives for 14 days and
// cohorts grow: the table _reportferry_restatements is what the service's own book says that it
// changed between the fetches, line by line. A final day that the book says has moved is fetched
// again within a week.
func TestAYearOfRestatements(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		r, schedule := nightly(t, "30 2 * * *", "UTC")
		defer r.close()
		// What the service takes back here may be all there is.
		r.options.Events, r.options.States, r.options.Guard = nil, state.Prefix, 1
		r.options.Query.Dimensions = []string{"day", "app_token", "network"}
		r.options.Query.Metrics = []string{"installs", "clicks", "cost", "network_cost", "ad_revenue",
			"all_revenue_total_d7", "ecpi_all"}
		r.options.Rules.Horizons, r.options.Drift = []int{8}, report.Drift{Days: 90}
		y := &year{rig: r, first: civil.DateOf(time.Now()), fetched: map[string]fetched{}, moved: map[string]sums{},
			unseen: map[string]int{}}
		r.from(y.first)
		dice := rand.New(rand.NewPCG(*firstSeed, 365))
		last := time.Now()
		for range *nights {
			sleepTo(schedule)
			y.note(last, time.Now())
			last = time.Now()
			r.ok()
			y.look()
			y.watch()
			time.Sleep(time.Minute)
			check(t, r.server.Restate(t.Context(), y.restatements(dice)...))
		}
		y.compare()
	})
}

// restatements are what the service changes until tomorrow night, of days of all ages.
func (y *year) restatements(dice *rand.Rand) (list []emulator.Restatement) {
	age := civil.DateOf(time.Now()).DaysSince(y.first)
	for range dice.IntN(4) {
		day := y.first.AddDays(dice.IntN(age + 1))
		if dice.IntN(2) == 0 {
			day = y.first.AddDays(max(0, age-dice.IntN(20)))
		}
		r := emulator.Restatement{
			Day: day.String(), Until: day.AddDays(dice.IntN(3)).String(),
			At: time.Now().Add(time.Duration(dice.IntN(23*60)) * time.Minute),
		}
		switch dice.IntN(5) {
		case 0:
			r.Rename = map[string]string{"network": fmt.Sprint("Renamed ", dice.IntN(3))}
			r.Where = map[string]string{"network": "AppLovin"}
		case 1:
			r.Metric, r.Delta = []string{"installs", "network_cost"}[dice.IntN(2)], float64(dice.IntN(900)-300)/4
		default:
			r.Metric, r.Factor = []string{"installs", "clicks", "cost", "network_cost", "revenue",
				"ad_revenue"}[dice.IntN(6)], float64(dice.IntN(300))/100
		}
		list = append(list, r)
	}
	return list
}

// note adds up what the service's book says that has moved.
func (y *year) note(since, until time.Time) {
	y.t.Helper()
	if y.query == nil {
		return
	}
	book, err := y.server.Book(y.t.Context(), y.until(until), since, until)
	check(y.t, err)
	for _, m := range book {
		if moved := y.moved[m.Row["day"]]; moved != nil { // else nobody has fetched it yet
			moved.add(m.Metric, rational(y.t, m.Delta))
		}
	}
}

// until is the job's query for all days to that of a moment.
func (y *year) until(last time.Time) url.Values {
	q := maps.Clone(y.query)
	q.Set("date_period", y.first.String()+":"+civil.DateOf(last).String())
	return q
}

// look takes from the request log which days were fetched just now, and says which lines that must
// have made.
func (y *year) look() {
	y.t.Helper()
	at := map[string]time.Time{}
	log := y.server.Requests()
	for _, req := range log[y.logged:] {
		q, err := url.ParseQuery(req.Query)
		check(y.t, err)
		if !strings.HasSuffix(req.Path, "csv_report") || !strings.Contains(q.Get("dimensions"), "app_token") {
			continue // totals
		}
		if y.query == nil {
			y.query = q
			q.Set("metrics", strings.TrimSuffix(q.Get("metrics"), ",ecpi_all")) // the book has sums only
		}
		from, until, _ := strings.Cut(q.Get("date_period"), ":")
		last, err := civil.ParseDate(until)
		check(y.t, err)
		for day, err := civil.ParseDate(from); err == nil && !day.After(last); day = day.AddDays(1) {
			at[day.String()] = req.Started
		}
	}
	if y.logged = len(log); y.query == nil {
		return // the first day isn't over
	}
	now := time.Now()
	all, err := y.server.Totals(y.t.Context(), y.until(now), now)
	check(y.t, err)
	for _, day := range slices.Sorted(maps.Keys(at)) {
		f := fetched{at: at[day], sums: sums{}, rows: map[string]map[string]string{}}
		for key, row := range all {
			if rest, of := strings.CutPrefix(key, day+"|"); of {
				f.rows[rest] = row
			}
		}
		y.fetch(day, f)
	}
}

// fetch says what a fetch of a day must have changed: what the book says has moved since the last
// one, or the rows alone.
func (y *year) fetch(day string, f fetched) {
	y.t.Helper()
	f.sums.add(refresh.RowCount, big.NewRat(int64(len(f.rows)), 1))
	for _, row := range f.rows {
		for metric, cell := range row {
			f.sums.add(metric, rational(y.t, cell))
		}
	}
	if was, again := y.fetched[day]; again {
		moved, lines := y.moved[day], len(y.want)
		moved.add(refresh.RowCount, new(big.Rat).Sub(f.sums[refresh.RowCount], was.sums[refresh.RowCount]))
		for metric, delta := range moved {
			if is := new(big.Rat).Add(was.sums[metric], delta); delta.Sign() != 0 {
				y.want = append(y.want, line(day, metric, is, delta, was.at, f.at))
			}
		}
		if lines == len(y.want) && !maps.EqualFunc(f.rows, was.rows, maps.Equal) {
			y.want = append(y.want, line(day, refresh.RowCount, f.sums[refresh.RowCount], new(big.Rat), was.at, f.at))
		}
	}
	y.fetched[day], y.moved[day] = f, sums{}
}

// watch counts for each final day the nights that it isn't what was fetched, by the book's balance
// of what has moved since.
func (y *year) watch() {
	y.t.Helper()
	table, err := y.ledger.Table(y.t.Context(), y.options.Table)
	check(y.t, err)
	for day, moved := range y.moved {
		partition, err := civil.ParseDate(day)
		check(y.t, err)
		e, _ := table.Record(partition)
		away := func(metric string) bool { return moved[metric].Sign() != 0 }
		if e.Finality != refresh.Final || !slices.ContainsFunc(slices.Collect(maps.Keys(moved)), away) {
			delete(y.unseen, day)
			continue
		}
		y.unseen[day]++
		y.longest = max(y.longest, y.unseen[day])
		if y.unseen[day] > 7 {
			y.t.Errorf("%s: %s was final and has moved unseen for %d nights: %v", time.Now().Format(time.DateOnly), day,
				y.unseen[day], moved)
		}
	}
}

func line(day, metric string, is, delta *big.Rat, before, now time.Time) string {
	const form = "2006-01-02 15:04:05"
	return fmt.Sprintf("%s %s became %s, by %s, between %s and %s", day, metric, is.FloatString(6),
		delta.FloatString(6),
		before.UTC().Format(form), now.UTC().Format(form))
}

// compare holds the table _reportferry_restatements, as a reader finds it, against the book's.
func (y *year) compare() {
	y.t.Helper()
	var got []string
	finals := 0
	parts, err := filepath.Glob(filepath.Join(y.out, state.Prefix+state.Restatements, "table="+y.options.Table, "*",
		"part-0.parquet"))
	check(y.t, err)
	for _, path := range parts {
		table := readParquet(y.t, path)
		for _, row := range table.rows {
			cell := func(name string) string { return row[slices.Index(table.names, name)] }
			got = append(got, line(cell("partition_date"), cell("metric"), rational(y.t, cell("after")),
				rational(y.t, cell("delta")),
				moment(y.t, cell("fetched_before")), moment(y.t, cell("fetched"))))
			if cell("state_before") == refresh.Final {
				finals++
			}
		}
	}
	slices.Sort(got)
	slices.Sort(y.want)
	for _, text := range y.want {
		if _, found := slices.BinarySearch(got, text); !found {
			y.t.Errorf("in the book alone: %s", text)
		}
	}
	for _, text := range got {
		if _, found := slices.BinarySearch(y.want, text); !found {
			y.t.Errorf("on record alone: %s", text)
		}
	}
	if len(got) != len(y.want) {
		y.t.Errorf("%d lines on record, %d by the book", len(got), len(y.want))
	}
	y.t.Logf("seed %d: %d nights, %d days fetched, %d lines of restatements, %d of them of finals, which moved "+
		"unseen for %d nights at most",
		*firstSeed, *nights, len(y.fetched), len(got), finals, y.longest)
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05", text)
	check(t, err)
	return at
}

func rational(t testing.TB, text string) *big.Rat {
	t.Helper()
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return n
}
