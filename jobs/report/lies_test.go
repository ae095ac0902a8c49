package report_test

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

var firstSeed = flag.Uint64("seed", 0, "the first seed of lies and of changes, and that of the simulated year")

// metricPool are the slugs that jobs are drawn from: all of the catalogue's but those of events.
var metricPool = func() (slugs []string) {
	for _, period := range []string{"d0", "d3", "w1"} {
		fill := strings.NewReplacer("{p}", period, "{value}", "9", "{bit}", "3", "{coarse}", "low", "{postback}", "1",
			"{src}", "admob",
			"{sub}", "renewal", "{kind}", "refund", "{from}", "install", "{to}", "renewal")
		for _, slug := range catalog.Metrics() {
			if strings.Contains(slug, "{e}") || strings.Contains(slug, "{m}") || strings.Contains(slug, "{window}") ||
				strings.Contains(slug, " ") {
				continue
			}
			if slug = fill.Replace(slug); !slices.Contains(slugs, slug) {
				slugs = append(slugs, slug)
			}
		}
	}
	return slugs
}()

// draw changes the rig's job into a random one of so many days, with a dimension that no request
// for totals has.
func (r *rig) draw(dice *rand.Rand, days int) (period string) {
	q := &r.options.Query
	period = []string{"day", "day", "day", "day", "hour", "week", "month", ""}[dice.IntN(8)]
	r.options.Rules.Period = map[string]refresh.Period{"week": refresh.Week, "month": refresh.Month,
		"": refresh.Whole}[period]
	q.Dimensions = []string{"campaign"}
	for _, d := range []string{"app_token", "os_name", "network", "country_code", "app", "device_type", "partner_name",
		"adgroup"} {
		if dice.IntN(3) == 0 {
			q.Dimensions = append(q.Dimensions, d)
		}
	}
	if period != "" {
		q.Dimensions = append(q.Dimensions, period)
	}
	dice.Shuffle(len(q.Dimensions), func(i, j int) {
		q.Dimensions[i], q.Dimensions[j] = q.Dimensions[j],
			q.Dimensions[i]
	})
	q.Metrics = nil
	for range 1 + dice.IntN(6) {
		slug := metricPool[dice.IntN(len(metricPool))]
		if dice.IntN(3) == 0 {
			slug = []string{"installs", "cost", "all_revenue", "clicks", "sessions"}[dice.IntN(5)]
		}
		if !slices.Contains(q.Metrics, slug) {
			q.Metrics = append(q.Metrics, slug)
		}
	}
	if dice.IntN(3) > 0 {
		r.options.Events = nil
	}
	q.Currency = []string{"USD", "EUR", "JPY"}[dice.IntN(3)]
	q.Parameters["ad_spend_mode"] = []string{[]string{"adjust", "network", "mixed"}[dice.IntN(3)]}
	q.Parameters["cohort_maturity"] = []string{[]string{"immature", "mature"}[dice.IntN(2)]}
	q.Parameters["reattributed"] = []string{[]string{"all", "all", "false"}[dice.IntN(3)]}
	q.Filters = map[string][]string{}
	switch apps := r.server.Apps(); dice.IntN(6) {
	case 0:
		q.Filters["os_name__in"] = []string{"android"}
	case 1:
		q.Filters["app_token__in"] = []string{apps[0].Token, apps[len(apps)-1].Token}
	case 2:
		q.Filters["network__exclude"] = []string{"Organic"}
	}
	r.options.Rules.Page = 1 + dice.IntN(7)
	r.start(days)
	return period
}

// drawLie makes a silent fault of the rows of a job, and of nothing else that is asked.
func drawLie(dice *rand.Rand, r *rig, days int) emulator.Fault {
	q := r.options.Query
	f := emulator.Fault{Every: 1, Path: "csv_report", Query: "dimensions=" + strings.Join(q.Dimensions, ",") + "&"}
	f.Kind = []emulator.FaultKind{
		emulator.FaultDropRows, emulator.FaultDoubleRows, emulator.FaultHalve, emulator.FaultDropDay,
		emulator.FaultCutRows, emulator.FaultDropApp,
	}[dice.IntN(6)]
	f.EveryRow = []int{0, 1, 2, 7}[dice.IntN(4)]
	switch f.Kind {
	case emulator.FaultHalve:
		f.Column = q.Metrics[dice.IntN(len(q.Metrics))]
	case emulator.FaultDropDay:
		f.Day, f.EveryRow = civil.DateOf(time.Now()).AddDays(-1-dice.IntN(days)).String(), 0
	case emulator.FaultCutRows:
		f.Rows, f.EveryRow = 1+dice.IntN(60), 0
	case emulator.FaultDropApp:
		f.App, f.EveryRow = r.server.Apps()[dice.IntN(len(r.server.Apps()))].Token, 0
	}
	return f
}

// A booked sum is what the test itself adds up: of a partition or of a group in it.
type bookedSum struct {
	sum                   *big.Rat
	rows, cells, decimals int // cells: those that aren't zero
}

// answerOf asks the service by another way than the client's, under the faults that are in force.
func (r *rig) answerOf(q url.Values) (rows []map[string]string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet,
		"http://service/reports-service/csv_report?"+q.Encode(), nil)
	check(r.t, err)
	req.Header.Set("Authorization", "Bearer truth")
	res, err := r.server.Client().Do(req)
	check(r.t, err)
	defer func() { check(r.t, res.Body.Close()) }()
	if res.StatusCode == http.StatusNoContent {
		return nil
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		r.t.Fatalf("%s: %s", res.Status, text)
	}
	all, err := csv.NewReader(res.Body).ReadAll()
	check(r.t, err)
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, cell := range cells {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// book adds answers up by partition, metric and the values of some dimensions.
func book(answer []map[string]string, period string, metrics []string, by ...string) map[string]bookedSum {
	sums := map[string]bookedSum{}
	for _, row := range answer {
		key := sinks.Whole.String()
		if period != "" {
			key = (row[period] + "-01")[:10]
		}
		for _, name := range by {
			key += "|" + row[name]
		}
		for _, metric := range metrics {
			k := metric + "|" + key
			s := sums[k]
			if s.sum == nil {
				s.sum = new(big.Rat)
			}
			v, _ := new(big.Rat).SetString("0" + strings.TrimPrefix(row[metric], "-"))
			if strings.HasPrefix(row[metric], "-") {
				v.Neg(v)
			}
			if s.sum.Add(s.sum, v); v.Sign() != 0 {
				s.cells++
			}
			_, fraction, _ := strings.Cut(row[metric], ".")
			s.rows, s.decimals = s.rows+1, max(s.decimals, len(fraction))
			sums[k] = s
		}
	}
	return sums
}

// apart tells how far a sum is from what it ought to be, and whether that is more than rounding
// explains.
func apart(typ catalog.Type, ours, theirs bookedSum, decimals int) (float64, bool) {
	a, b := ours.sum, theirs.sum
	if a == nil {
		a = new(big.Rat)
	}
	if b == nil {
		b = new(big.Rat)
	}
	far, _ := new(big.Rat).Abs(new(big.Rat).Sub(a, b)).Float64()
	size, _ := new(big.Rat).Abs(b).Float64()
	if typ == catalog.Int64 {
		return far, far > 0
	}
	unit := 1.0
	for range decimals {
		if typ == catalog.Decimal && unit <= 1e-6 {
			break // a part stores no more
		}
		unit /= 10
	}
	worst := 0.5 * unit * float64(ours.rows+1)
	allowed := max(min(1.74*unit*math.Sqrt(float64(ours.cells+1)), worst), min(worst, size/100))
	if typ == catalog.Double {
		allowed += 1e-13 * size
	}
	return far, far > allowed*(1+1e-9)
}

// Whatever a service leaves out, doubles or halves is found where it changes a total, with its
// place, and nothing else is complained of. What is wrong once is mended by asking again.
func TestAlarmOfLies(t *testing.T) {
	if testing.Short() {
		*seeds = min(*seeds, 4)
	}
	var tally struct{ found, placed, unseen, mended, kept, unchecked int }
	for seed := *firstSeed; seed < *firstSeed+uint64(*seeds); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dice := rand.New(rand.NewPCG(seed, 8))
				days := 4 + dice.IntN(8)
				r := newRig(t, emulator.Options{Seed: int64(seed + 1), Apps: 1 + dice.IntN(4), Days: 90, Rate: -1,
					Readings: alone("week-start=sunday")})
				defer r.close()
				time.Sleep(70 * 24 * time.Hour)
				period := r.draw(dice, days)
				if period == "week" || period == "month" {
					r.start(40)
				}
				lie := drawLie(dice, r, days)
				once := dice.IntN(4) == 0
				if once {
					lie.Every, lie.Times = 0, 1
				}
				if dice.IntN(4) == 0 {
					r.options.Reconcile = report.ReconcileFail
				}
				r.client.InFlight = 2
				r.server.SetFaults([]emulator.Fault{lie})
				res := r.run(t.Context())
				requests := r.server.Requests()
				found := map[string]ledger.Control{}
				table, err := r.ledger.Table(t.Context(), r.options.Table)
				check(t, err)
				for _, e := range table.Sorted() {
					found[e.Partition.String()] = *e.Control
				}
				what := fmt.Sprintf("%v of %v of %v, filters %v", lie, r.options.Query.Metrics,
					r.options.Query.Dimensions, r.options.Query.Filters)
				if once {
					for day, c := range found {
						if c.State == ledger.Unreconciled {
							t.Errorf("%s: %s though it was wrong once: %s", what, day, c.Say())
						}
					}
					tally.mended++
					return
				}
				changed := r.changes(requests, lie, period)
				for day, metrics := range changed {
					c, published := found[day]
					// Such rows are kept out where no total agrees with them.
					twice := lie.Kind == emulator.FaultDoubleRows
					switch {
					case len(metrics) == 0 && twice && !published:
						tally.kept++
						continue
					case len(metrics) == 0:
						if c.State == ledger.Unchecked {
							tally.unchecked++
						} else if c.State != ledger.Reconciled {
							t.Errorf("%s: %s is %q, and nothing is wrong with it: %s", what, day, c.State, c.Say())
						}
						tally.unseen++
						continue
					case r.options.Reconcile == report.ReconcileFail || twice:
						tally.kept++
						if published {
							t.Errorf("%s: %s was published: %s", what, day, c.Say())
						}
						continue
					case c.State != ledger.Unreconciled:
						t.Errorf("%s: %s is %q, and %d metrics are wrong", what, day, c.State, len(metrics))
						continue
					}
					tally.found++
					tally.placed += r.named(what, day, metrics, c)
				}
				for day, c := range found {
					if _, asked := changed[day]; !asked && c.State == ledger.Unreconciled {
						t.Errorf("%s: %s has no rows and no total: %s", what, day, c.Say())
					}
				}
				if r.options.Reconcile == report.ReconcileFail && res.Outcome.Unreconciled > 0 {
					t.Errorf("%s: %d are published that aren't reconciled", what, res.Outcome.Unreconciled)
				}
			})
		})
	}
	t.Logf("seeds from %d: %d; partitions found %d, places named %d, kept out %d, without a change %d, unchecked "+
		"%d; jobs mended %d",
		*firstSeed, *seeds, tally.found, tally.placed, tally.kept, tally.unseen, tally.unchecked, tally.mended)
	if *seeds >= 8 && (tally.found == 0 || tally.placed == 0) { // a few may be harmless, all of them
		t.Error("nothing was wrong: it shows nothing")
	}
}

// A wrong metric is what is wrong with one metric of a partition.
type wrongMetric struct {
	metric       string
	rows, total  *big.Rat
	by           string   // the first place that the job has
	groups       []string // its values that differ at all
	largest      string   // the one that differs most; empty: it isn't clear which
	everyOne, of int      // of how many values how many differ
}

// changes says by the test's own arithmetic what of each partition a lie has changed: it asks for
// the rows that the job asked for once more, with the lie and without.
func (r *rig) changes(requests []emulator.Request, lie emulator.Fault, period string) map[string][]wrongMetric {
	r.t.Helper()
	var by string
	for _, name := range []string{"app_token", "os_name", "network"} {
		if by == "" && slices.Contains(r.options.Query.Dimensions, name) {
			by = name
		}
	}
	dated := map[string]string{"hour": "day", "": "year"}[period]
	if dated == "" {
		dated = period
	}
	changed := map[string][]wrongMetric{}
	for _, request := range requests {
		q, err := url.ParseQuery(request.Query)
		check(r.t, err)
		if !strings.HasSuffix(request.Path, "csv_report") ||
			q.Get("dimensions") != strings.Join(r.options.Query.Dimensions, ",") {
			continue
		}
		metrics := strings.Split(q.Get("metrics"), ",")
		r.server.SetFaults([]emulator.Fault{lie})
		wrong := r.answerOf(q)
		r.server.SetFaults(nil)
		right := r.answerOf(q)
		sums := url.Values{}
		for name, values := range q {
			sums[name] = values
		}
		sums.Set("dimensions", dated)
		sums.Set("sort", dated)
		totals := book(r.answerOf(sums), map[bool]string{true: "", false: dated}[period == ""], metrics)
		ours := book(wrong, period, metrics)
		byGroup, theirsByGroup := book(wrong, period, metrics, by), book(right, period, metrics, by)
		finest := map[string]int{}
		for key, s := range totals {
			metric, _, _ := strings.Cut(key, "|")
			finest[metric] = max(finest[metric], s.decimals)
		}
		for key, s := range ours {
			metric, _, _ := strings.Cut(key, "|")
			finest[metric] = max(finest[metric], s.decimals)
		}
		again := map[string][]wrongMetric{}
		for key, total := range totals {
			metric, day, _ := strings.Cut(key, "|")
			again[day] = append(again[day], []wrongMetric{}...) // it is there, even without one
			f, known := catalog.Metric(metric)
			if !known {
				f, _ = catalog.Guess(metric)
			}
			if _, differs := apart(f.Type, ours[key], total, finest[metric]); f.Additive != catalog.Everywhere ||
				!differs {
				continue
			}
			w := wrongMetric{metric: metric, rows: ours[key].sum, total: total.sum, by: by}
			w.places(f.Type, key, byGroup, theirsByGroup, finest[metric])
			again[day] = append(again[day], w)
		}
		for day, metrics := range again { // what agreed isn't looked at again
			if before, asked := changed[day]; !asked || len(before) > 0 {
				changed[day] = metrics
			}
		}
	}
	return changed
}

// places finds the groups of a partition and metric that differ.
func (w *wrongMetric) places(typ catalog.Type, key string, ours, theirs map[string]bookedSum, decimals int) {
	values := map[string]bool{}
	for _, side := range []map[string]bookedSum{ours, theirs} {
		for k := range side {
			if value, in := strings.CutPrefix(k, key+"|"); in {
				values[value] = true
			}
		}
	}
	most, second := 0.0, 0.0
	for value := range values {
		group := ours[key+"|"+value]
		group.cells = group.rows // which aren't counted by group
		far, differs := apart(typ, group, theirs[key+"|"+value], decimals)
		if far > 0 {
			w.groups = append(w.groups, value)
		}
		if differs && far > most {
			most, second, w.largest = far, most, value
		} else {
			second = max(second, far)
		}
	}
	if most <= 1.01*second {
		w.largest = ""
	}
	w.everyOne, w.of = len(w.groups), len(values)
}

// named checks what a control says of the wrong metrics of a partition, and counts the places that
// it names.
func (r *rig) named(what, day string, metrics []wrongMetric, c ledger.Control) (placed int) {
	r.t.Helper()
	if len(c.Differences) != len(metrics) {
		r.t.Errorf("%s: %s says %s, and %d metrics are wrong", what, day, c.Say(), len(metrics))
	}
	for _, w := range metrics {
		i := slices.IndexFunc(c.Differences, func(d ledger.Difference) bool {
			return d.Metric == w.metric || strings.HasPrefix(w.metric, "purchase_") &&
				strings.HasPrefix(d.Metric, "purchase_") && strings.HasSuffix(w.metric, d.Metric[8:])
		})
		if i < 0 {
			r.t.Errorf("%s: %s says nothing of %s: %s", what, day, w.metric, c.Say())
			continue
		}
		d := c.Differences[i]
		rows, _ := new(big.Rat).SetString(d.Rows)
		total, _ := new(big.Rat).SetString(d.Total)
		if w.rows == nil {
			w.rows = new(big.Rat)
		}
		if f, _ := catalog.Metric(w.metric); f.Type != catalog.Double &&
			(rows.Cmp(w.rows) != 0 || total == nil || total.Cmp(w.total) != 0) {
			r.t.Errorf("%s: %s says %s, want %s of %s", what, day, c.Say(), w.rows.FloatString(6),
				w.total.FloatString(6))
		}
		if w.by == "" {
			continue
		}
		if w.largest != "" && !strings.Contains(d.Where, w.by+" "+w.largest) && !strings.HasPrefix(d.Where, "each ") {
			r.t.Errorf("%s: %s of %s is in %s %q, and it says %q", what, w.metric, day, w.by, w.largest, d.Where)
			continue
		}
		if strings.HasPrefix(d.Where, "each ") && w.everyOne != w.of {
			r.t.Errorf("%s: %s of %s differs in %d of %d, and it says %q", what, w.metric, day, w.everyOne, w.of,
				d.Where)
		}
		for _, place := range strings.Split(d.Where, "; ") {
			if value, in := strings.CutPrefix(place, w.by+" "); in {
				value, _, _ = strings.Cut(value, ", ")
				if !slices.ContainsFunc(w.groups, func(g string) bool {
					return g == value ||
						strings.HasPrefix(g, value)
				}) {
					r.t.Errorf("%s: nothing is wrong with %s %q: %q", what, w.by, value, d.Where)
				}
			}
		}
		placed++
	}
	return placed
}

// A restating service corrects a metric of a window's days while they are asked for, or moves its
// clock by a day, so that cohorts grow. It does so once a window at most.
type restating struct {
	http.RoundTripper
	server *emulator.Server
	dice   *rand.Rand

	mu       sync.Mutex
	moved    map[string]bool // by day
	restated int
}

func (s *restating) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/csv_report") {
		s.mu.Lock()
		p := r.URL.Query().Get("date_period")
		if days := daysOf(p); s.dice.IntN(6) == 0 && !slices.ContainsFunc(days,
			func(day string) bool { return s.moved[day] }) {
			for _, day := range days {
				s.moved[day] = true
			}
			s.restated++
			if err := s.restate(r.Context(), p); err != nil {
				s.mu.Unlock()
				return nil, err
			}
		}
		s.mu.Unlock()
	}
	res, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat)) // only the data's clock moves
	}
	return res, err
}

// daysOf are the days of a date_period.
func daysOf(period string) (days []string) {
	from, until, _ := strings.Cut(period, ":")
	first, _ := civil.ParseDate(from)
	last, _ := civil.ParseDate(until)
	for day := first; !day.After(last); day = day.AddDays(1) {
		days = append(days, day.String())
	}
	return days
}

func (s *restating) restate(ctx context.Context, period string) error {
	first, last, _ := strings.Cut(period, ":")
	change := emulator.Restatement{
		Day: first, Until: last, Factor: 0.5 + s.dice.Float64(),
		Metric: []string{"installs", "clicks", "base_sessions", "events", "cost", "network_cost", "revenue",
			"ad_revenue"}[s.dice.IntN(8)],
	}
	if s.dice.IntN(3) == 0 {
		s.server.Shift(24 * time.Hour)
		return nil
	}
	return s.server.Restate(ctx, change)
}

// An honest service raises no alarm, whatever is asked for, and though it restates between two
// answers.
func TestNoAlarmOfHonestAnswers(t *testing.T) {
	slow.Test(t)
	if testing.Short() {
		*seeds = min(*seeds, 4)
	}
	var windows, restated, again, unchecked int
	for seed := *firstSeed; windows < 20**seeds; seed++ {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 9))
			r := newRig(t, emulator.Options{Seed: int64(seed + 1), Apps: 1 + dice.IntN(3), Days: 100, Rate: -1,
				Readings: alone("week-start=sunday")})
			defer r.close()
			time.Sleep(90 * 24 * time.Hour)
			r.draw(dice, 60)
			r.options.Rules.Page = 1
			s := &restating{RoundTripper: r.client.HTTP.Transport, server: r.server, dice: dice,
				moved: map[string]bool{}}
			r.client.HTTP, r.client.InFlight = &http.Client{Transport: s}, 2
			res := r.ok()
			for ago, c := range r.controls() {
				switch c.State {
				case ledger.Unreconciled:
					t.Errorf("seed %d: %v of %v: %d days ago: %s", seed, r.options.Query.Metrics,
						r.options.Query.Dimensions, ago, c.Say())
				case ledger.Unchecked:
					unchecked++
				}
			}
			windows += res.Outcome.Windows
			restated += s.restated
			// Beyond the rows, and the totals of two quarters.
			again += max(0, int(res.Outcome.Requests)-res.Outcome.Windows-2)
		})
	}
	t.Logf("seeds from %d: %d windows, %d of them unchecked, %d restatements, %d further requests", *firstSeed, windows,
		unchecked, restated, again)
	if again == 0 {
		t.Error("nothing was restated between two answers: it shows little")
	}
}
