package report_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// A number is a metric of a day.
type number struct {
	day    civil.Date
	metric string
}

// A change is a drawn history of a table: a person changes the config (metrics, filter, currency,
// zone, names), the token's user loses and regains an app, and the service answers with less than
// there is, between honest restatements. People delete, cut and restore what a store holds, fill it
// from a second ledger, lay it out anew, and stop a rebaseline half way.
type change struct {
	*rig
	store   store
	seed    uint64
	dice    *rand.Rand
	first   civil.Date
	told    []string            // what was done, for people
	honest  http.RoundTripper   // the service without another account in its place
	changed map[string]bool     // restated by the service: once each
	right   map[number]*big.Rat // what was published and right, as of the night before
	faults  []emulator.Fault
	before  ledger.Records        // those of the night before
	meant   map[civil.Date]string // what they meant

	meaning string          // of the table, or to which it is turned
	turning bool            // a person asks for that, because no partition has it yet
	stop    int             // the run is stopped at that many puts; 0: it isn't
	dropped map[number]bool // taken out by a person
	harmed  map[civil.Date]bool
	gone    civil.Date                // what the table deletes because of its age has come to this day
	others  map[string]*ledger.Ledger // that fill the table as well, by what they mean
	refused bool                      // what the last of them was to put
	filled  bool                      // the last of them has put something since the last run
	renamed bool                      // the config has another name for the table
	stuck   bool                      // the last run was refused
	last    error                     // of the last run
	log     bytes.Buffer              // of the last run
	tally   *tally
}

// A tally counts, so that it can be seen what the histories had in them.
type tally struct{ nights, harmed, second, refused, stopped, mixed int }

var changeable = []string{"installs", "clicks", "cost", "network_cost", "all_revenue"}

// published adds up what readers find, by another reader than the program's.
func (c *change) published() map[number]*big.Rat {
	sums := map[number]*big.Rat{}
	for day, tables := range c.store.read(c.t) {
		if len(tables) > 1 {
			c.fail("%s lies there %d times", day, len(tables))
		}
		read := tables[0]
		for at, name := range read.names {
			if !slices.Contains(changeable, name) {
				continue
			}
			for _, row := range read.rows {
				if row[at] == bqtest.Null { // the table got the column later
					continue
				}
				v, ok := new(big.Rat).SetString(row[at])
				if !ok {
					c.t.Fatalf("%s of %s is %q", name, day, row[at])
				}
				n := number{day, name}
				sums[n] = v.Add(v, cmp.Or(sums[n], new(big.Rat)))
			}
		}
	}
	return sums
}

// A meaning is what the numbers of the table mean. The config turns from one to another.
type meaning struct {
	currency, offset string
	filters          map[string][]string
}

var meanings = map[string]meaning{
	"USD": {"USD", "+00:00", nil}, "EUR": {"EUR", "+00:00", nil}, "another zone": {"USD", "+02:00", nil},
	"a filter": {"USD", "+00:00", map[string][]string{"os_name__in": {"ios"}}},
}

// mean lets the config say what the numbers mean.
func (c *change) mean(o *report.Options, name string) {
	m := meanings[name]
	o.Query.Currency, o.Query.UTCOffset, o.Query.Filters = m.currency, m.offset, m.filters
	o.Rules.Location = time.FixedZone(m.offset, map[string]int{"+02:00": 2 * 60 * 60}[m.offset])
}

// other draws what the numbers don't mean.
func (c *change) other() string {
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(meanings)), func(name string) bool { return name == c.meaning })
	return others[c.dice.IntN(len(others))]
}

// asMeant tells whether the config says what the table is to mean.
func (c *change) asMeant(q adjust.ReportQuery) bool {
	m := meanings[c.meaning]
	return q.Currency == m.currency && q.UTCOffset == m.offset && len(q.Filters) == len(m.filters)
}

// truths adds up what the service has, once nobody lies, by what it means.
func (c *change) truths(names map[civil.Date]string) map[string]map[number]*big.Rat {
	c.server.SetFaults(nil)
	defer func() { c.server.SetFaults(c.faults) }()
	was := c.options
	defer func() { c.options = was }()
	c.options.Query.Metrics = changeable
	all := map[string]map[number]*big.Rat{}
	for _, name := range slices.Compact(slices.Sorted(maps.Values(names))) {
		c.mean(&c.options, name)
		sums := map[number]*big.Rat{}
		header, rows := c.truthOf(c.first, civil.DateOf(time.Now()).AddDays(-1))
		for _, row := range rows {
			day, err := civil.ParseDate(row[0])
			check(c.t, err)
			for at := len(c.options.Query.Dimensions); at < len(header); at++ {
				n := number{day, header[at]}
				if v, ok := new(big.Rat).SetString(row[at]); ok {
					sums[n] = v.Add(v, cmp.Or(sums[n], new(big.Rat)))
				}
			}
		}
		all[name] = sums
	}
	return all
}

// recordedMeanings are those of the partitions.
func (c *change) recordedMeanings() map[civil.Date]string {
	table, err := c.ledger.Table(c.t.Context(), c.options.Table)
	check(c.t, err)
	found := map[civil.Date]string{}
	for day, e := range table.Records() {
		if e.Unfetched() {
			continue
		}
		s, err := table.ShapeOf(c.t.Context(), e)
		check(c.t, err)
		for name, m := range meanings {
			if s.Fingerprint["currency"] == m.currency && s.Fingerprint["utc_offset"] == m.offset &&
				(s.Fingerprint["filter os_name__in"] != "") == (m.filters != nil) {
				found[day] = name
			}
		}
	}
	return found
}

func (c *change) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("seed %d: %s\nafter %s", c.seed, fmt.Sprintf(format, args...), strings.Join(c.told, "; "))
}

// near tells whether two sums are one number, but for rounding.
func near(a, b *big.Rat) bool {
	if a == nil || b == nil {
		return a == b
	}
	apart := new(big.Rat).Sub(a, b)
	return apart.Abs(apart).Cmp(big.NewRat(1, 100)) <= 0
}

func (c *change) tell(format string, args ...any) {
	c.told = append(c.told, fmt.Sprintf(format, args...))
}

// draw changes something.
func (c *change) draw() {
	app := c.server.Apps()[c.dice.IntN(len(c.server.Apps()))].Token
	lie := func(f emulator.Fault) {
		f.Every = 1
		c.tell("%s %s %s", f.Kind, f.Of, f.Column)
		c.faults = []emulator.Fault{f}
		c.server.SetFaults(c.faults)
	}
	switch c.dice.IntN(16) {
	case 0, 1:
		c.options.Query.Metrics = slices.Clone(changeable)
		c.dice.Shuffle(len(changeable), func(i, j int) {
			m := c.options.Query.Metrics
			m[i], m[j] = m[j], m[i]
		})
		c.options.Query.Metrics = c.options.Query.Metrics[:1+c.dice.IntN(len(changeable))]
		if c.options.Drop = nil; c.dice.IntN(3) == 0 {
			c.options.Drop = slices.DeleteFunc(slices.Clone(changeable),
				func(m string) bool { return slices.Contains(c.options.Query.Metrics, m) })
		}
		c.tell("metrics %v, dropped %v", c.options.Query.Metrics, c.options.Drop)
	case 2:
		lie(emulator.Fault{Kind: emulator.FaultHideApp, App: app})
	case 3:
		lie(emulator.Fault{Kind: emulator.FaultDropRows, EveryRow: 2 + c.dice.IntN(5)})
	case 4:
		lie(emulator.Fault{Kind: emulator.FaultDoubleRows, EveryRow: 2 + c.dice.IntN(5)})
	case 5: // rows and totals alike
		lie(emulator.Fault{Kind: emulator.FaultHalve, Of: emulator.OfAny, Column: changeable[c.dice.IntN(3)]})
	case 6:
		lie(emulator.Fault{Kind: emulator.FaultCutRows, Rows: 5 + c.dice.IntN(40)})
	case 7:
		lie(emulator.Fault{Kind: emulator.FaultDropDay, Of: emulator.OfAny,
			Day: civil.DateOf(time.Now()).AddDays(-1 - c.dice.IntN(6)).String()})
	case 8:
		lie(emulator.Fault{Kind: emulator.FaultStatus, Status: 503, Path: "csv_report"})
	case 9:
		other := c.other()
		c.mean(&c.options, other)
		c.tell("the config says %s", other)
	case 10:
		other, err := emulator.New(emulator.Options{Seed: 77, Apps: 2, Rate: -1, Days: 40})
		check(c.t, err)
		c.t.Cleanup(func() { _ = other.Close() })
		c.client.HTTP = other.Client()
		c.tell("another account")
	case 11:
		c.store.change(c)
	case 12, 13: // also back, half way
		c.undo()
		c.meaning, c.turning = c.other(), true
		c.mean(&c.options, c.meaning)
		c.stop = c.dice.IntN(20)
		c.tell("a rebaseline to %s, stopped at put %d", c.meaning, c.stop)
	case 14:
		c.options.Job = "renamed"
		c.tell("the job has another name")
	case 15:
		c.renamed = true
		c.tell("the table has another name")
	}
}

// undo ends what a person or the service did wrong.
func (c *change) undo() {
	c.tell("all is as it was")
	c.turning = c.turning || c.stuck && c.asMeant(c.options.Query) // as the refusal says
	c.faults = nil
	c.server.SetFaults(nil)
	c.mean(&c.options, c.meaning)
	c.renamed = false
	c.store.undo(c.t)
	c.client.HTTP = &http.Client{Transport: c.honest}
}

// restate changes a number of a day as a service does.
func (c *change) restate() {
	day, metric := civil.DateOf(time.Now()).AddDays(-1-c.dice.IntN(20)).String(),
		[]string{"installs", "clicks", "cost"}[c.dice.IntN(3)]
	if c.changed[day+metric] {
		return
	}
	c.changed[day+metric] = true
	check(c.t, c.server.Restate(c.t.Context(), emulator.Restatement{Day: day, Metric: metric,
		Factor: 0.8 + c.dice.Float64()/2}))
}

// second runs with a ledger that knows nothing of this one. A table that means the same is filled
// by both, and each run says so.
func (c *change) second(meaning string) (filled bool) {
	c.tell("a second ledger fills the table with %s", meaning)
	if c.others[meaning] == nil {
		c.others[meaning] = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://second"})
	}
	r := *c.rig
	r.ledger, r.nth = c.others[meaning], 1000*(1+c.nth)
	o := c.options
	c.mean(&o, meaning)
	o.Targets = []ledger.Target{c.store.target(c.t, func() {})}
	res := r.runAs(c.t.Context(), o)
	c.refused = refused(res)
	c.tally.second++
	c.filled = res.Outcome.Written > 0
	return c.filled
}

func refused(res ledger.Result) bool {
	return slices.ContainsFunc(res.Errs, func(err error) bool { return errors.Is(err, ledger.ErrRefused) })
}

// otherMeaning lets a second ledger fill the table with numbers that mean something else, which is
// refused.
func (c *change) otherMeaning(f *folder) {
	for day, meaning := range c.recordedMeanings() {
		if meaning != c.meaning || c.record(day).State == ledger.Publishing { // a rebaseline has stopped half way
			return
		}
	}
	if !f.whole(c.t) {
		return
	}
	before := f.contents(c.t)
	if c.second(c.other()); !c.refused || f.contents(c.t) != before {
		c.fail("night %d: a second ledger with another meaning isn't refused", c.nth)
	}
}

// harm lets people do something to the store.
func (c *change) harm() {
	for _, day := range c.store.harm(c) {
		c.harmed[day] = true
		c.tally.harmed++
	}
}

// night runs once, as the config is now.
func (c *change) night() {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	puts := 0
	target := c.store.target(c.t, func() {
		if puts++; puts == c.stop {
			cancel()
		}
	})
	o := c.options
	if kept := o.Warehouse.Expiration; kept > 0 {
		if day := civil.DateOf(time.Now().Add(-kept)); day.After(c.gone) {
			c.gone = day
		}
	}
	o.Targets = []ledger.Target{target}
	// Because it lets another account in.
	o.Rebaseline = c.turning && c.asMeant(o.Query) && c.client.HTTP.Transport == c.honest
	c.log.Reset()
	o.Log = slog.New(slog.NewTextHandler(&c.log, nil))
	if c.renamed {
		o.Table = "renamed"
	}
	res := c.runAs(ctx, o)
	if c.renamed {
		c.stop = 0
		c.compareRenamed(res)
		return
	}
	c.stop, c.stuck, c.last = 0, refused(res), errors.Join(res.Errs...)
	c.tally.nights++
	if c.stuck {
		c.tally.refused++
	}
	if res.Stopped {
		c.tally.stopped++
	}
	if warned := strings.Contains(c.log.String(), "the two take turns for ever"); c.filled && !warned &&
		len(res.Errs) == 0 {
		c.fail("night %d: a second ledger has filled the table, and nobody says so", c.nth)
	}
	c.filled = false
	c.tell("night %d: %d written, %.70v", c.nth, res.Outcome.Written, fmt.Sprint(res.Errs))
	for day, meaning := range c.recordedMeanings() {
		// Else runs go on by themselves.
		c.turning = c.turning && (meaning != c.meaning || c.record(day).State == ledger.Publishing)
	}
	c.compare(o, res)
}

// compareRenamed holds what is published of the table against the night before, once a run has
// filled one of another name.
func (c *change) compareRenamed(res ledger.Result) {
	c.tell("night %d: another table, %.70v", c.nth, fmt.Sprint(res.Errs))
	now := c.published()
	for n, was := range c.right {
		if is := now[n]; !c.harmed[n.day] && n.day.After(c.gone) && !near(is, was) {
			c.fail("night %d: a run of another table has changed %s of %s from %v to %v", c.nth, n.metric, n.day, was,
				is)
		}
	}
}

// compare holds what is published after a night against what was right before it. What was right
// and is wrong now must have been said: by the record, or by a person. What is gone is lost, and
// what people did to the store is mended, unless the run fails.
func (c *change) compare(o report.Options, res ledger.Result) {
	meant := c.recordedMeanings()
	truths, now := c.truths(meant), c.published()
	var wrong []string
	for n, was := range c.right {
		is, e, truth := now[n], c.record(n.day), truths[meant[n.day]][n]
		switch {
		case c.harmed[n.day] && (len(res.Errs) > 0 || res.Stopped || e.Waits()):
		case is == nil && slices.Contains(o.Drop, n.metric):
			c.dropped[n] = true
		case !n.day.After(c.gone) && (is == nil || c.harmed[n.day]): // the table deletes it today
		case is == nil && c.dropped[n] && c.harmed[n.day]: // a column that was dropped came back in older rows
		case is == nil:
			wrong = append(wrong, fmt.Sprintf("%s of %s is gone", n.metric, n.day))
		case near(is, truth) || near(is, was) && c.meant[n.day] == meant[n.day]:
		case e.Accepted != nil || e.State == ledger.Publishing:
		case c.meant[n.day] != meant[n.day] &&
			c.halves(): // numbers of another meaning can't be compared with those before
		case e.Differs() && (c.before[n.day].Differs() ||
			c.before[n.day].Shape != e.Shape): // rows that agreed aren't replaced by others at once
		default:
			wrong = append(wrong, fmt.Sprintf("%s of %s was %s, is %s, and the service has %s: %+v", n.metric, n.day,
				was.FloatString(2), is.FloatString(2), truth.FloatString(2), e))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		c.fail("night %d: %s", c.nth, strings.Join(wrong[:min(3, len(wrong))], "\n"))
	}
	c.right, c.before, c.meant = map[number]*big.Rat{}, c.records(), meant
	for n, is := range now {
		if near(is, truths[meant[n.day]][n]) {
			c.right[n] = is
		}
		if !c.harmed[n.day] {
			delete(c.dropped, n)
		}
	}
	if len(res.Errs) == 0 && !res.Stopped {
		maps.DeleteFunc(c.harmed, func(day civil.Date, _ bool) bool { return !c.before[day].Waits() })
	}
	c.twoMeanings(o, res, truths, now)
}

// halves tells whether the service halves a number in rows and totals.
func (c *change) halves() bool { return len(c.faults) > 0 && c.faults[0].Kind == emulator.FaultHalve }

// twoMeanings wants the days with numbers that mean something else than the config says to be named
// by the status.
func (c *change) twoMeanings(o report.Options, res ledger.Result, truths map[string]map[number]*big.Rat,
	now map[number]*big.Rat) {
	if refused(res) || len(truths) < 2 || !c.asMeant(o.Query) {
		return
	}
	var mixed, right []civil.Date
	for n, is := range now {
		this, other := near(is, truths[c.meaning][n]), false
		for name, sums := range truths {
			other = other || name != c.meaning && near(is, sums[n])
		}
		switch {
		case n.metric != "cost" || this == other || c.harmed[n.day]:
		case this:
			right = append(right, n.day)
		default:
			mixed = append(mixed, n.day)
		}
	}
	if len(mixed) == 0 || len(right) == 0 {
		return
	}
	c.tally.mixed++
	in, err := c.inspect(o)
	// Only puts that were stopped have the currency of the config, and the next run says so.
	if errors.Is(err, ledger.ErrRefused) {
		return
	}
	check(c.t, err)
	for _, day := range mixed {
		e := in.Calendar[slices.IndexFunc(in.Calendar, func(e refresh.Entry) bool { return e.Partition == day })]
		if e.Condition != refresh.Mixed && (e.Record.State != ledger.Publishing || e.Condition != refresh.CutOff &&
			e.Condition != refresh.HeldBack) {
			c.fail("night %d: %s doesn't mean %s, as the config says, and the status says %q", c.nth, day, c.meaning,
				e.Condition)
		}
	}
}

// What was right stays right: whatever people change, and however the service answers, no published
// number that was right is lost or replaced by a wrong one without being held back, said or
// accepted. When all is as it was, the table is as the service has it. Answers that lie in rows and
// totals alike take half of at least two hundred away here: a smaller lie is like a restatement.
// What people did to the store is mended by the next run that doesn't fail, a table of two meanings
// is called one, and a second ledger or layout of another is refused.
func TestWhatIsRightStaysRight(t *testing.T) {
	slow.Test(t)
	seed := *firstSeed
	if seed == 0 {
		seed = uint64(time.Now().Unix())
	}
	t.Logf("seeds from %d", seed)
	var n tally
	for i := range *seeds {
		synctest.Test(t, func(t *testing.T) { whatIsRight(t, seed+uint64(i), &n) })
	}
	t.Logf("seeds from %d: %d, %d nights; %d partitions deleted, cut, restored or filled by others, %d runs of a "+
		"second ledger; %d runs refused, %d stopped, %d with two meanings",
		seed, *seeds, n.nights, n.harmed, n.second, n.refused, n.stopped, n.mixed)
}

func whatIsRight(t *testing.T, seed uint64, n *tally) {
	dice := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, emulator.Options{Seed: int64(seed % 50), Apps: 3, Rate: -1, Days: 40})
	defer r.close()
	schedule, err := refresh.ParseSchedule("0 6 * * *", "UTC")
	check(t, err)
	r.seesApps()
	r.client.Attempts, r.options.Events = 2, nil
	r.options.Rules.Schedule, r.options.Rules.Lookback, r.options.FinalAfter = schedule, 6, 6
	// Half less, of a number that has just grown by 0.3.
	r.options.Reconcile, r.options.Drift, r.options.Guard = report.ReconcileWarn, report.Drift{Days: 90}, 0.3
	r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "network", "campaign"},
		slices.Clone(changeable)
	c := &change{
		rig: r, seed: seed, dice: dice, first: civil.DateOf(time.Now()).AddDays(-12), honest: r.client.HTTP.Transport,
		changed: map[string]bool{},
		meaning: "USD", dropped: map[number]bool{}, harmed: map[civil.Date]bool{}, others: map[string]*ledger.Ledger{},
		tally: n,
	}
	if c.store = newFolder(t, r.out); dice.IntN(2) == 0 {
		c.store = newWarehouse(t)
	}
	r.from(c.first)
	for night := range 12 {
		sleepTo(schedule)
		switch dice.IntN(3) {
		case 0:
			if night > 0 {
				c.draw()
			}
		case 1:
			c.undo()
		}
		if dice.IntN(2) == 0 {
			c.restate()
		}
		if dice.IntN(3) == 0 {
			c.harm()
		}
		c.night()
	}
	for range 6 { // of which the first may be refused: files from before a rebaseline were restored
		c.undo()
		sleepTo(schedule)
		c.night()
	}
	var old *sinks.NotKept
	unfetched := false // what the table doesn't keep any more, and the config wants
	for day := c.first; !day.After(c.gone); day = day.AddDays(1) {
		e := r.record(day)
		unfetched = unfetched || e.Seq == 0 || e.State == ledger.Publishing
	}
	if c.last != nil && (!unfetched || !errors.As(c.last, &old)) {
		c.fail("in the end a run fails: %v", c.last)
	}
	meant, now := c.recordedMeanings(), c.published()
	truths := c.truths(meant)
	for n, is := range now {
		truth := truths[meant[n.day]][n]
		if e := r.record(n.day); !near(is, truth) && e.Finality != refresh.Final && !e.Waits() {
			c.fail("in the end %s of %s is %s, and the service has %s: %+v", n.metric, n.day, is.FloatString(2),
				truth.FloatString(2), e)
		}
	}
	for day, meaning := range meant {
		here := slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(n number) bool { return n.day == day })
		if e := r.record(day); day.After(c.gone) && (e.Rows > 0 && !here && !e.Waits() || meaning != c.meaning) {
			c.fail("in the end %s is %s, which should be %s, and its rows are there: %v: %+v", day, meaning, c.meaning,
				here, e)
		}
	}
	for _, l := range c.others {
		check(t, l.Close())
	}
}
