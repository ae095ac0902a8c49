package emulator_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

const bookMetrics = "installs,clicks,cost,network_cost,ad_revenue,events,revenue_total_d3,revenue_total_d16," +
	"purchase_revenue"

// bookQuery is a report of all days that a test's world has.
func bookQuery(dims string) url.Values {
	return url.Values{"dimensions": {dims}, "metrics": {bookMetrics}, "currency": {"EUR"},
		"date_period": {"2026-02-01:2026-05-30"}}
}

// shownNow is the report as CSV shows it: cells in millionths, by the row's dimensions and the
// metric.
func shownNow(t *testing.T, s *emulator.Server, dims string) map[string]int64 {
	t.Helper()
	v := bookQuery(dims)
	a := emutest.Report(t, s, dims, bookMetrics, "currency=EUR&date_period="+v.Get("date_period"))
	out := map[string]int64{}
	for _, row := range a.Rows {
		for i := a.Dims; i < len(row); i++ {
			out[strings.Join(row[:a.Dims], "|")+" "+a.Header[i]] = emutest.Exact(t, row[i])
		}
	}
	return out
}

// What reports showed at many moments is what the totals say of these moments later, and what lies
// between is the book.
func TestTheBookIsWhatReportsShowed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		for _, dims := range []string{"day", "day,app_token,campaign"} {
			t.Run(fmt.Sprint(dims, seed), func(t *testing.T) {
				t.Parallel()
				testBook(t, dims, rand.New(rand.NewPCG(seed, 18)))
			})
		}
	}
}

func testBook(t *testing.T, dims string, r *rand.Rand) {
	var clock atomic.Int64
	clock.Store(emutest.Noon.Unix())
	now := func() time.Time { return time.Unix(clock.Load(), 0).UTC() }
	s := emutest.Open(t, emulator.Options{Now: now, Apps: 2, Days: 20, Seed: r.Int64()})
	type look struct {
		at    time.Time
		shown map[string]int64
	}
	looks := []look{{now(), shownNow(t, s, dims)}}
	for range 10 {
		clock.Add(1) // what is restated at once is of another moment than the last look
		var list []emulator.Restatement
		for range r.IntN(4) {
			list = append(list, randomRestatement(r, now()))
		}
		if err := s.Restate(t.Context(), list...); err != nil {
			t.Fatal(err)
		}
		clock.Add(int64(1 + r.IntN(2*24*60*60)))
		looks = append(looks, look{now(), shownNow(t, s, dims)})
	}
	lines, moved := 0, map[string]bool{}
	for i, l := range looks {
		totals, err := s.Totals(t.Context(), bookQuery(dims), l.at)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for key, row := range totals {
			for metric, cell := range row {
				n++
				if want, ok := l.shown[key+" "+metric]; !ok || emutest.Exact(t, cell) != want {
					t.Fatalf("at %s %s of %s was %d, the totals say %s", l.at, metric, key, want, cell)
				}
			}
		}
		if n != len(l.shown) {
			t.Fatalf("at %s reports showed %d cells, the totals have %d", l.at, len(l.shown), n)
		}
		if i == 0 {
			continue
		}
		before := looks[i-1]
		book, err := s.Book(t.Context(), bookQuery(dims), before.at, l.at)
		if err != nil {
			t.Fatal(err)
		}
		deltas := map[string]int64{}
		for _, m := range book {
			if !m.At.After(before.at) || m.At.After(l.at) || emutest.Exact(t, m.Is)-emutest.Exact(t,
				m.Was) != emutest.Exact(t, m.Delta) || m.Was == m.Is {
				t.Fatalf("a line of %s to %s is %+v", before.at, l.at, m)
			}
			var labels []string
			for _, d := range strings.Split(dims, ",") {
				labels = append(labels, m.Row[d])
			}
			deltas[strings.Join(labels, "|")+" "+m.Metric] += emutest.Exact(t, m.Delta)
			lines++
			moved[fmt.Sprint(m.Metric, len(m.By) > 0)] = true
		}
		keys := maps.Clone(before.shown)
		maps.Copy(keys, l.shown)
		for key := range keys {
			if want := l.shown[key] - before.shown[key]; key[:10] <= before.at.Format(time.DateOnly) &&
				deltas[key] != want {
				t.Fatalf("from %s to %s %s moved by %d, the book says %d", before.at, l.at, key, want, deltas[key])
			}
			delete(deltas, key)
		}
		if len(deltas) > 0 {
			t.Fatalf("the book says of what nobody was shown %v", deltas)
		}
	}
	if lines < 100 || len(moved) < 7 {
		t.Errorf("only %d lines, of %v", lines, moved)
	}
}

// randomRestatement changes something at any age, now or soon.
func randomRestatement(r *rand.Rand, now time.Time) emulator.Restatement {
	day := now.AddDate(0, 0, -r.IntN(16))
	out := emulator.Restatement{Day: day.Format(time.DateOnly),
		Until: day.AddDate(0, 0, r.IntN(3)).Format(time.DateOnly)}
	if r.IntN(2) == 0 {
		out.Where = map[string]string{"network": []string{"Google Ads ACI", "AppLovin", "Organic"}[r.IntN(3)]}
	}
	if r.IntN(3) > 0 {
		out.At = now.Add(time.Duration(1+r.IntN(3*24*60)) * time.Minute)
	}
	switch r.IntN(4) {
	case 0:
		out.Rename = map[string]string{"campaign": "was " + strconv.Itoa(r.IntN(5))}
	case 1:
		out.Metric, out.Delta = []string{"installs", "cost", "revenue", "network_cost"}[r.IntN(4)],
			float64(r.IntN(2000)-700)/4
	default:
		out.Metric = []string{"installs", "clicks", "impressions", "base_sessions", "events", "cost", "network_cost",
			"revenue", "ad_revenue"}[r.IntN(9)]
		out.Factor = float64(r.IntN(300)) / 100
	}
	return out
}

// A restatement before or after a report comes between two answers.
func TestRestatementsBetweenAnswers(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	const yesterday = "date_period=2026-03-13:2026-03-13"
	installs := func(dims string) int64 {
		return emutest.Report(t, s, dims, "installs", yesterday).Sum(t, "installs") / 1_000_000
	}
	was := installs("day")
	for _, c := range []struct {
		r    emulator.Restatement
		want string // what day, day,app, day, day,app say more than before
	}{
		{emulator.Restatement{}, "5 5 5 5"},
		{emulator.Restatement{Before: &emulator.Match{Query: "dimensions=day,app&"}}, "0 5 5 5"},
		{emulator.Restatement{After: &emulator.Match{Query: "dimensions=day,app&"}}, "0 0 5 5"},
		{emulator.Restatement{After: &emulator.Match{Path: "csv_report", Nth: 3}}, "0 0 0 5"},
		{emulator.Restatement{Before: &emulator.Match{Path: "events"}}, "0 0 0 0"},
	} {
		c.r.Day, c.r.Metric, c.r.Delta = "2026-03-13", "installs", 5
		if err := s.Restate(t.Context(), c.r); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(installs("day")-was, installs("day,app")-was, installs("day")-was, installs("day,app")-was)
		if got != c.want {
			t.Errorf("%+v: %s more, want %s", c.r, got, c.want)
		}
		was = installs("day")
	}
	list, err := s.Restatements(t.Context())
	if err != nil || len(list) != 5 || list[4].Before.Path != "events" || !list[4].Done.IsZero() || list[3].Rows != 1 ||
		!list[3].Done.Equal(emutest.Noon) {
		t.Errorf("restatements %+v, %v", list, err)
	}
	// A report that a fault answers doesn't count.
	s.SetFaults([]emulator.Fault{{Kind: emulator.FaultStatus, Status: 503}})
	if emutest.Ask(s, "events").Code != 503 || installs("day") != was {
		t.Error("a refused report has restated something")
	}
	if emutest.Ask(s, "events").Code != 200 || installs("day") != was+5 {
		t.Error("the report behind it hasn't")
	}
}

// The book over HTTP, and over a restart.
func TestRestatementsAreKept(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/account.db"
	open := func() *emulator.Server {
		s, err := emulator.New(emulator.Options{Now: emutest.AtNoon, Apps: 2, DB: file, Rate: -1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	call := func(method, path, body string) (out struct {
		Restatements json.RawMessage
		Movements    []emulator.Movement
	}) {
		t.Helper()
		code, text := emutest.Admin(s, method, path, body)
		if err := json.Unmarshal([]byte(text), &out); code != 200 || err != nil {
			t.Fatalf("%s %s: %d %s", method, path, code, text)
		}
		return out
	}
	campaign := func(name string) string {
		return fmt.Sprint(len(emutest.Report(t, s, "day", "installs",
			"date_period=2026-03-01:2026-03-10&campaign__in="+url.QueryEscape(name)).Rows))
	}
	before := campaign("Renamed")
	call("POST", "restatements",
		`[{"day": "2026-03-02", "until": "2026-03-04", "where": {"network": "Organic"}, "rename": {"campaign": "Renamed"}},
		{"day": "2026-03-02", "metric": "cost", "factor": 0.5, "at": "2026-03-14T13:00:00Z"}]`)
	call("POST", "clock", `{"shift": "2h"}`)
	const ask = "restatements?metrics=cost&date_period=2026-03-01:2026-03-10&since=2026-03-14T12:00:00Z"
	got := call("GET", ask, "")
	if len(got.Movements) != 1 || got.Movements[0].Row["day"] != "2026-03-02" ||
		fmt.Sprint(got.Movements[0].By) != "[2]" || got.Movements[0].At.Hour() != 13 {
		t.Errorf("the book has %+v", got.Movements)
	}
	if after := campaign("Renamed"); before != "0" || after != "3" {
		t.Errorf("%s days have the new name, and %s had it before", after, before)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer func() { _ = s.Close() }()
	again := call("GET", ask+"&until=2026-03-14T14:00:00Z", "")
	if fmt.Sprint(again) != fmt.Sprint(got) || campaign("Renamed") != "3" {
		t.Errorf("after a restart the book is %+v, want %+v", again, got)
	}
	for body, want := range map[string]string{
		`[{"day": "x"}]`: "not of the form", `[{"day": "2026-03-02"}]`: "either a metric",
		`[{"day": "2026-03-02", "metric": "ctr"}]`:                                             "is not one of",
		`[{"day": "2026-03-02", "metric": "cost", "rename": {"campaign": "x"}}]`:               "either a metric",
		`[{"day": "2026-03-02", "rename": {"app_token": "x"}}]`:                                "is not one of",
		`[{"day": "2026-03-02", "until": "2026-03-01", "metric": "cost"}]`:                     "ends before",
		`[{"day": "2026-03-02", "metric": "cost", "where": {"hour": "1"}}]`:                    "is not one of",
		`[{"day": "2026-03-02", "metric": "cost", "factor": 2, "delta": 1}]`:                   "not both",
		`[{"day": "2026-03-02", "metric": "cost", "at": "2026-03-14T13:00:00Z", "after": {}}]`: "one of at",
	} {
		if code, text := emutest.Admin(s, http.MethodPost, "restatements", body); code != 400 ||
			!strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", body, code, text, want)
		}
	}
	for _, bad := range []string{"?metrics=cost", "?metrics=ctr&date_period=today&since=2026-03-14T12:00:00Z",
		"?metrics=cost&date_period=today&since=2026-03-14T12:00:00Z&until=x",
		"?metrics=cost&dimensions=app&date_period=today&since=2026-03-14T12:00:00Z",
		"?metrics=network_cost_diff&date_period=today&since=2026-03-14T12:00:00Z"} {
		if code, text := emutest.Admin(s, http.MethodGet, "restatements"+bad, ""); code != 400 {
			t.Errorf("%s: %d %s", bad, code, text)
		}
	}
}

// What partners posted and what testers did stay as they are, nothing falls below 0, and only what
// is meant changes.
func TestWhatARestatementChanges(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	for _, e := range emutest.Engagements(s, emutest.Noon, 6, 1, 2) {
		if w := emutest.PostCost(s, emutest.Cost("cpe", "usd", "100", e.CostID, "t"), true); w.Code != 200 {
			t.Fatal(w.Code)
		}
	}
	app := s.Apps()[1].Token
	of := func(metric, more string) int64 {
		return emutest.Report(t, s, "day", metric, "date_period=2026-03-12:2026-03-13"+more).Sum(t, metric)
	}
	all := map[string]int64{}
	for _, m := range []string{"clicks", "installs", "revenue", "network_cost", "event_cost"} {
		all[m] = of(m, "")
	}
	tests := of("installs", "&sandbox=true")
	only := of("clicks", "&app_token__in="+app)
	var posted int64
	for _, r := range s.SpendRecords() {
		if r.Day == "2026-03-12" || r.Day == "2026-03-13" {
			posted += 100_000_000
		}
	}
	change := func(r emulator.Restatement) {
		t.Helper()
		r.Day, r.Until = "2026-03-12", "2026-03-13"
		if err := s.Restate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	change(emulator.Restatement{Metric: "cost"})
	change(emulator.Restatement{Metric: "installs", Factor: 2})
	change(emulator.Restatement{Metric: "revenue", Delta: 12.34})
	change(emulator.Restatement{Metric: "clicks", Where: map[string]string{"app_token": app}})
	if got := of("cost", ""); got != posted || posted == 0 {
		t.Errorf("cost is %d, want the posted %d", got, posted)
	}
	for m, want := range map[string]int64{"installs": 2 * all["installs"], "revenue": all["revenue"] + 2*12_340_000,
		"clicks": all["clicks"] - only, "network_cost": all["network_cost"]} {
		if got := of(m, ""); got != want {
			t.Errorf("%s is %d, want %d", m, got, want)
		}
	}
	if got := of("installs", "&sandbox=true"); got != tests {
		t.Errorf("testers' installs are %d, were %d", got, tests)
	}
	change(emulator.Restatement{Metric: "ad_revenue", Where: map[string]string{"app_token": app}})
	change(emulator.Restatement{Metric: "ad_revenue", Where: map[string]string{"app_token": app}, Delta: -5})
	if got := of("ad_revenue", "&app_token__in="+app); got != 0 {
		t.Errorf("ad revenue is %d, want 0", got)
	}
}
