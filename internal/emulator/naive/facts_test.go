package naive

import (
	"cmp"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
)

// mostFacts bounds a naive world: small enough that an evaluator of plain loops answers thousands
// of queries a second.
const mostFacts = 1300

// naiveWorld is an emulator, and all that its database holds, read by plain SELECTs.
type naiveWorld struct {
	name   string
	s      *emulator.Server
	file   string // its database
	now    time.Time
	late   bool           // today's facts aren't loaded
	fcol   map[string]int // columns of facts
	facts  [][]int64
	dcol   map[string]int // columns of slices
	slices map[int64][]naiveVal
	rates  map[[2]int64]map[string]naiveVal // by event and app

	apps    []string              // their tokens
	names   map[string]string     // of apps, as they were declared
	events  map[string]naiveEvent // by slug
	defs    map[string]*naiveDef
	matched map[string]naiveMetric
	exprs   map[string]naiveExpr
}

// openNaive makes a world whose clock has moved on since its data began, of which the first days
// are made and loaded. Where that isn't all until now, queries must not touch the rest.
func openNaive(t *testing.T, name string, o emulator.Options, later time.Duration, days int,
	declare ...func(*testing.T, *naiveWorld)) *naiveWorld {
	t.Helper()
	o.DB = filepath.Join(t.TempDir(), "facts.db")
	o.Readings = append(o.Readings, reading.UnknownParameters+"=ignore") // queries have some
	s := emutest.Open(t, o)
	w := &naiveWorld{name: name, s: s, file: o.DB, now: o.Now().Add(later), names: map[string]string{},
		events: map[string]naiveEvent{}, slices: map[int64][]naiveVal{}, rates: map[[2]int64]map[string]naiveVal{},
		matched: map[string]naiveMetric{}, exprs: map[string]naiveExpr{}}
	seed := facts.New(cmp.Or(o.Seed, 7), o.Apps, 0, facts.Hostile).Account()
	for _, a := range seed.Apps {
		w.apps = append(w.apps, a.Token)
	}
	for slug, number := range seed.Catalog.Index {
		w.events[slug] = naiveEvent{seed.Catalog.BySlug(slug).Name, int64(number)}
	}
	for _, more := range declare {
		more(t, w)
	}
	naiveSpend(t, s, o.Now())
	s.Shift(later)
	first := facts.DayOf(o.Now()) - o.Days + 1
	last := first + days - 1
	w.late = last < facts.DayOf(w.now)
	// Makes the days' facts, spend's too.
	emutest.Get(t, s, fmt.Sprintf("csv_report?dimensions=day&metrics=installs&date_period=%s:%s",
		facts.DayTime(first).Format(time.DateOnly), facts.DayTime(last).Format(time.DateOnly)), 200)
	w.fcol = w.read(t, "SELECT * FROM facts", func(row []naiveVal) {
		ints := make([]int64, len(row))
		for i, v := range row {
			if v.kind == 's' {
				t.Fatalf("facts hold the text %q", v.s)
			}
			ints[i] = v.i
		}
		w.facts = append(w.facts, ints)
	})
	w.dcol = w.read(t, "SELECT * FROM slices", func(row []naiveVal) { w.slices[row[0].i] = row })
	for _, row := range w.slices {
		if name, ok := w.names[row[w.dcol["app_token"]].s]; ok && row[w.dcol["app_name"]].s != name {
			t.Fatalf("slices have an app's name %q, want %q", row[w.dcol["app_name"]].s, name)
		}
	}
	var rows [][]naiveVal
	names := w.read(t, "SELECT * FROM app_events", func(row []naiveVal) { rows = append(rows, row) })
	for _, row := range rows {
		rate := map[string]naiveVal{}
		for name, i := range names {
			rate[name] = row[i]
		}
		w.rates[[2]int64{rate["event"].i, rate["app"].i}] = rate
	}
	if len(w.facts) > mostFacts || len(w.facts) < mostFacts/4 {
		t.Fatalf("the world %s has %d facts, want %d to %d", name, len(w.facts), mostFacts/4, mostFacts)
	}
	w.defs = naiveGlossary(t, w.events)
	return w
}

// naiveSpend posts partners' spend of every type, in several currencies, some of it too late: rows
// of facts like others.
func naiveSpend(t *testing.T, s *emulator.Server, now time.Time) {
	t.Helper()
	for i, e := range emutest.Engagements(s, now, 20, 0, 2) {
		amount := fmt.Sprintf("%d.%05d", i*37%250, i*7919%100_000)
		if w := emutest.PostCost(s, emutest.Cost([]string{"cpi", "cpc", "cpm", "cpe"}[i%4],
			[]string{"usd", "eur", "idr", "kwd"}[i%3], amount, e.CostID, "t"), true); w.Code != 200 {
			t.Fatal(w.Code)
		}
	}
	if states := s.Spend().States; states["matched"] < 12 {
		t.Fatalf("spend %v", states)
	}
}

// read runs a SELECT and returns its columns' places; slices' first column must be its id.
func (w *naiveWorld) read(t *testing.T, query string, use func([]naiveVal)) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", w.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]int{}
	for i, n := range names {
		places[n] = i
	}
	for rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range into {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]naiveVal, len(cells))
		for i, v := range cells {
			switch v := v.(type) {
			case int64:
				row[i] = naiveInt(v)
			case string:
				row[i] = naiveText(v)
			case nil:
				row[i] = naiveNull
			default:
				t.Fatalf("%s: column %s holds a %T", query, names[i], v)
			}
		}
		use(row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return places
}

// naiveScope is what a row expression is evaluated over.
type naiveScope struct {
	w *naiveWorld
	q *naiveQuery
	f []int64
	d []naiveVal
	m naiveMetric

	later int // days: how much later than it was the fact is shown
}

func (s *naiveScope) fact(column string) int64  { return s.f[s.w.fcol[column]] }
func (s *naiveScope) slice(column string) int64 { return s.d[s.w.dcol[column]].i }

// age is the fact's day's distance from today in UTC days.
func (s *naiveScope) age() int64 { return int64(facts.DayOf(s.w.now)) - s.fact("day") }

// naiveMoney are the amounts that are in micros of USD, and what share of them counts.
var naiveMoney = map[string]string{"f.spend": "", "f.net_spend": "", "f.revenue": "iap", "f.ad_revenue": "ads",
	"d.arpu": "iap", "d.adpu": "ads", "xe.price": "iap"}

// money brings an amount into the report's currency, and leaves out what its modes leave out.
func (s *naiveScope) money(column string, v naiveVal) naiveVal {
	if v.kind == 'n' {
		return v
	}
	v.i = v.i * s.q.currency.per[0] / s.q.currency.per[1]
	switch naiveMoney[column] {
	case "iap":
		v.i = v.i * s.q.gross / 100
	case "ads":
		if !s.q.adCounts(s.fact("ad_source")) {
			v.i = 0
		}
	}
	return v
}

// column compiles a name of a row expression: a column of the fact, its slice or its event, or a
// placeholder.
func (w *naiveWorld) column(name string) (naiveExpr, error) {
	table, column, _ := strings.Cut(name, ".")
	_, isMoney := naiveMoney[name]
	var e naiveExpr
	switch table {
	case "f":
		i, ok := w.fcol[column]
		if !ok {
			return nil, fmt.Errorf("facts have no column %s", column)
		}
		e = func(s *naiveScope) naiveVal { return naiveInt(s.f[i]) }
	case "d":
		i, ok := w.dcol[column]
		if !ok {
			return nil, fmt.Errorf("slices have no column %s", column)
		}
		e = func(s *naiveScope) naiveVal { return s.d[i] }
	case "xe":
		e = func(s *naiveScope) naiveVal {
			rate, ok := w.rates[[2]int64{s.m.event, s.slice("app")}]
			if !ok {
				return naiveNull
			}
			return rate[column]
		}
	default:
		return w.placeholder(name)
	}
	if isMoney {
		inner := e
		e = func(s *naiveScope) naiveVal { return s.money(name, inner(s)) }
	}
	return e, nil
}

func (w *naiveWorld) placeholder(name string) (naiveExpr, error) {
	word, base, _ := strings.Cut(strings.Trim(name, "{}"), ":")
	switch word {
	case "age":
		return func(s *naiveScope) naiveVal { return naiveInt(s.age()) }, nil
	case "start":
		return func(s *naiveScope) naiveVal { return naiveInt(s.m.first) }, nil
	case "users": // by hour for a part of it, to two decimals
		return func(s *naiveScope) naiveVal {
			part := int64(100)
			if slices.Contains(s.q.dims, "hour") {
				part = 60 + s.fact("salt")%40
			}
			return naiveInt(s.fact("dau") * part * 10_000)
		}, nil
	case "ads":
		return func(s *naiveScope) naiveVal { return naiveTruth(s.q.adCounts(s.fact("ad_source"))) }, nil
	case "credited":
		return func(s *naiveScope) naiveVal { return naiveTruth(slices.ContainsFunc(s.q.dims, naiveAttributed)) }, nil
	case "network_cost":
		return func(s *naiveScope) naiveVal { return naiveInt(s.networkSpend()) }, nil
	case "cost":
		return func(s *naiveScope) naiveVal { return naiveInt(s.cost()) }, nil
	}
	b := metrics.BaseOf(base) // its numbers are made up, so there is no second source for them
	if b == nil {
		return nil, fmt.Errorf("unknown placeholder %s", name)
	}
	amount, err := w.expr(b.Amount)
	if err != nil {
		return nil, err
	}
	// until is what has come by the end of day a of the cohort: half of it after about b.half days.
	until := func(s *naiveScope, a int64) naiveVal {
		all := amount(s)
		if all.kind == 'n' || a < 0 {
			all.i = 0
			return all
		}
		grown := all.i * (a + 1) / (a + 1 + int64(b.Half))
		if b.Kind != metrics.Money {
			grown = (grown + s.fact("salt")*int64(b.Salt)%1_000_000) / 1_000_000
		}
		return naiveInt(grown)
	}
	switch word {
	case "until_now":
		return func(s *naiveScope) naiveVal { return until(s, s.age()) }, nil
	case "until_end":
		return func(s *naiveScope) naiveVal { return until(s, min(s.age(), s.m.last)) }, nil
	case "inside":
		return func(s *naiveScope) naiveVal {
			v := until(s, min(s.age(), s.m.last))
			if v.kind != 'n' && s.m.first > 0 {
				v.i -= until(s, min(s.age(), s.m.first-1)).i
			}
			return v
		}, nil
	}
	return nil, fmt.Errorf("unknown placeholder %s", name)
}

// expr compiles a row expression once.
func (w *naiveWorld) expr(sql string) (naiveExpr, error) {
	if e, ok := w.exprs[sql]; ok {
		return e, nil
	}
	e, err := naiveRead(sql, w.column)
	if err == nil {
		w.exprs[sql] = e
	}
	return e, err
}

// networkSpend restates the network's spend until the day is 14 days old.
func (s *naiveScope) networkSpend() int64 {
	final := s.money("f.net_spend", naiveInt(s.fact("net_spend"))).i
	return final + final*s.fact("net_drift")/1_000_000*max(0, 14-s.age())/14
}

func (s *naiveScope) cost() int64 {
	attributed := s.money("f.spend", naiveInt(s.fact("spend"))).i
	switch s.q.spend {
	case "network":
		return s.networkSpend()
	case "mixed":
		if s.slice("has_network") == 1 {
			return s.networkSpend()
		}
	}
	return attributed
}
