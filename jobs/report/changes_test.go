package report_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
)

// A number is a metric of a day.
type number struct {
	day    civil.Date
	metric string
}

// A change is a drawn history of a table: a person changes the config, the token's user loses and regains an app, and the service
// answers with less than there is, between honest restatements.
type change struct {
	*rig
	dice    *rand.Rand
	first   civil.Date
	told    []string            // what was done, for people
	honest  http.RoundTripper   // the service without another account in its place
	changed map[string]bool     // restated by the service: once each
	right   map[number]*big.Rat // what was published and right, as of the night before
	faults  []emulator.Fault
	before  ledger.Records // those of the night before
}

var changeable = []string{"installs", "clicks", "cost", "network_cost", "all_revenue"}

// published adds up what the files hold, by another reader than the program's.
func (c *change) published() map[number]*big.Rat {
	sums := map[number]*big.Rat{}
	for day, path := range c.files() {
		read := readParquet(c.t, path)
		for at, name := range read.names {
			if !slices.Contains(changeable, name) {
				continue
			}
			sum := new(big.Rat)
			for _, row := range read.rows {
				v, ok := new(big.Rat).SetString(row[at])
				if !ok {
					c.t.Fatalf("%s of %s is %q", name, day, row[at])
				}
				sum.Add(sum, v)
			}
			sums[number{day, name}] = sum
		}
	}
	return sums
}

// truths adds up what the service has, once nobody lies.
func (c *change) truths(last civil.Date) map[number]*big.Rat {
	c.server.SetFaults(nil)
	defer func() { c.server.SetFaults(c.faults) }()
	metrics := c.options.Query.Metrics
	c.options.Query.Metrics = changeable
	defer func() { c.options.Query.Metrics = metrics }()
	sums := map[number]*big.Rat{}
	header, rows := c.truthOf(c.first, last)
	for _, row := range rows {
		day, err := civil.ParseDate(row[0])
		check(c.t, err)
		for at := len(c.options.Query.Dimensions); at < len(header); at++ {
			n := number{day, header[at]}
			if sums[n] == nil {
				sums[n] = new(big.Rat)
			}
			if v, ok := new(big.Rat).SetString(row[at]); ok {
				sums[n].Add(sums[n], v)
			}
		}
	}
	return sums
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
	switch c.dice.IntN(11) {
	case 0, 1:
		c.options.Query.Metrics = slices.Clone(changeable)
		c.dice.Shuffle(len(changeable), func(i, j int) {
			m := c.options.Query.Metrics
			m[i], m[j] = m[j], m[i]
		})
		c.options.Query.Metrics = c.options.Query.Metrics[:1+c.dice.IntN(len(changeable))]
		c.tell("metrics %v", c.options.Query.Metrics)
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
		lie(emulator.Fault{Kind: emulator.FaultDropDay, Of: emulator.OfAny, Day: civil.DateOf(time.Now()).AddDays(-1 - c.dice.IntN(6)).String()})
	case 8:
		lie(emulator.Fault{Kind: emulator.FaultStatus, Status: 503, Path: "csv_report"})
	case 9:
		c.options.Query.Currency = "EUR"
		c.tell("another currency")
	case 10:
		other, err := emulator.New(emulator.Options{Seed: 77, Apps: 2, Rate: -1, Days: 40})
		check(c.t, err)
		c.t.Cleanup(func() { _ = other.Close() })
		c.client.HTTP = other.Client()
		c.tell("another account")
	}
}

// undo ends what a person or the service did wrong.
func (c *change) undo() {
	c.tell("all is as it was")
	c.faults = nil
	c.server.SetFaults(nil)
	c.options.Query.Currency = "USD"
	c.client.HTTP = &http.Client{Transport: c.honest}
}

// restate changes a number of a day as a service does.
func (c *change) restate() {
	day, metric := civil.DateOf(time.Now()).AddDays(-1-c.dice.IntN(20)).String(), []string{"installs", "clicks", "cost"}[c.dice.IntN(3)]
	if c.changed[day+metric] {
		return
	}
	c.changed[day+metric] = true
	check(c.t, c.server.Restate(c.t.Context(), emulator.Restatement{Day: day, Metric: metric, Factor: 0.8 + c.dice.Float64()/2}))
}

// compare holds what is published after a night against what was right before it. What was right and is wrong now must have been said: by
// the record, or by a person. What is gone is lost.
func (c *change) compare(night int) (wrong []string) {
	last := civil.DateOf(time.Now()).AddDays(-1)
	truth, now := c.truths(last), c.published()
	for n, was := range c.right {
		is, e := now[n], c.record(n.day)
		switch {
		case is == nil:
			wrong = append(wrong, fmt.Sprintf("night %d: %s of %s is gone", night, n.metric, n.day))
		case near(is, was) || near(is, truth[n]):
		case e.Accepted != nil || e.State == ledger.Publishing:
		case e.Differs() && (c.before[n.day].Differs() || c.before[n.day].Shape != e.Shape): // rows that agreed aren't replaced by others at once
		default:
			wrong = append(wrong, fmt.Sprintf("night %d: %s of %s was %s, is %s, and the service has %s: %+v", night, n.metric, n.day,
				was.FloatString(2), is.FloatString(2), truth[n].FloatString(2), e))
		}
	}
	c.right, c.before = map[number]*big.Rat{}, c.records()
	for n, is := range now {
		if near(is, truth[n]) {
			c.right[n] = is
		}
	}
	return wrong
}

// What was right stays right: whatever people change, and however the service answers, no published number that was right is lost or
// replaced by a wrong one without being held back, said or accepted. When all is as it was, the table is as the service has it. Answers that
// lie in rows and totals alike take half of at least two hundred away here: a smaller lie is like a restatement.
func TestWhatIsRightStaysRight(t *testing.T) {
	slow.Test(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seeds from %d", seed)
	for i := range *seeds {
		synctest.Test(t, func(t *testing.T) { whatIsRight(t, seed+uint64(i)) })
	}
}

func whatIsRight(t *testing.T, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, emulator.Options{Seed: int64(seed % 50), Apps: 3, Rate: -1, Days: 40})
	defer r.close()
	schedule, err := refresh.ParseSchedule("0 6 * * *", "UTC")
	check(t, err)
	r.seesApps()
	r.client.Attempts, r.options.Events = 2, nil
	r.options.Rules.Schedule, r.options.Rules.Lookback, r.options.FinalAfter = schedule, 6, 6
	r.options.Reconcile, r.options.Drift, r.options.Guard = report.ReconcileWarn, report.Drift{Days: 90}, 0.3 // half less, of a number that has just grown by 0.3
	r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "network", "campaign"}, slices.Clone(changeable)
	c := &change{rig: r, dice: dice, first: civil.DateOf(time.Now()).AddDays(-12), honest: r.client.HTTP.Transport, changed: map[string]bool{}}
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
		r.run(t.Context())
		if wrong := c.compare(night); len(wrong) > 0 {
			slices.Sort(wrong)
			t.Fatalf("seed %d: %s\nafter %s", seed, strings.Join(wrong[:min(3, len(wrong))], "\n"), strings.Join(c.told, "; "))
		}
	}
	c.undo()
	for range 5 {
		sleepTo(schedule)
		r.run(t.Context())
	}
	truth := c.truths(civil.DateOf(time.Now()).AddDays(-1))
	for n, is := range c.published() {
		if e := r.record(n.day); !near(is, truth[n]) && e.Finality != refresh.Final && !e.Waits() {
			t.Fatalf("seed %d: in the end %s of %s is %s, and the service has %s: %+v\nafter %s", seed, n.metric, n.day, is.FloatString(2), truth[n].FloatString(2), e,
				strings.Join(c.told, "; "))
		}
	}
}
