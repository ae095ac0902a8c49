package partition

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// UsualGuard is the default of Publication.Guard. finalGuard is the share for a final partition
// whose totals have moved; it is smaller, because the service restates those less.
const (
	UsualGuard = 0.5
	finalGuard = 0.1
)

// A loss must also be at least this large to hold back an answer, because small numbers may well
// vanish.
const (
	leastRows  = 20  // rows
	leastUnits = 100 // of a metric: installs, or dollars
)

// agreeingDays is on how many days answers must say about the same until the last one is published
// all the same.
const agreeingDays = 3

// hold returns why an answer may not replace the recorded rows, which are more to be trusted, or
// nil if it may. The service may mend its answer when it is asked again. When answers on three days
// agree, the last of them is published, unless the token shows fewer apps: then only a person knows
// whether they are gone. If the last put was cut off, the record is still that of the rows before
// it; readers see those, or the ones that were to replace them, perhaps with another meaning.
func hold(p *Publication, e *ledger.Record) *ledger.HeldBack {
	old := p.Base
	byPerson := old.HeldBack != nil && old.HeldBack.Accepted != nil
	if byPerson {
		e.Accepted = old.HeldBack.Accepted
	}
	if byPerson || old.Rows == 0 || e.Rows == 0 || p.Reason == refresh.Replayed {
		return nil
	}
	why, apps := whyHeldBack(p, e)
	if why == "" {
		return nil
	}
	h := &ledger.HeldBack{Why: why, Run: p.Run, Since: e.Fetched, Last: e.Fetched, Days: 1, Rows: e.Rows, Sums: e.Sums}
	if was := old.HeldBack; was != nil && agree(was, h, p.Falling) {
		h.Since, h.Days = was.Since, was.Days
		if day(was.Last) != day(h.Last) {
			h.Days++
		}
	}
	if h.Days >= agreeingDays && !apps {
		e.Accepted = &ledger.Acceptance{At: e.Fetched, Reason: fmt.Sprintf("answers on %d days agreed: %s", h.Days,
			why)}
		return nil
	}
	return h
}

// whyHeldBack returns why an answer is to be held back, or "". apps says that the reason is that
// the token doesn't show some apps any more.
func whyHeldBack(p *Publication, e *ledger.Record) (why string, apps bool) {
	old := p.Base
	guard := p.Guard
	if p.Reason == refresh.Drifted && guard < 1 {
		guard = min(guard, finalGuard)
	}
	what, was, is := loss(old.Rows, old.Sums, e.Rows, e.Sums, guard, p.Falling)
	if metric, before, now := lower(old, *e); metric != "" && len(p.Hidden) > 0 {
		return fmt.Sprintf("%s %s instead of %s, and the token shows no more %s", metric, now, before,
			strings.Join(p.Hidden, " ")), true
	}
	switch {
	case p.Reason == refresh.Rebased, old.State == ledger.Publishing && old.Shape != e.Shape:
		// The numbers may mean something else.
		return "", false
	case what != "":
		return fmt.Sprintf("%s %s instead of %s", what, is, was), false
	case old.Control != nil && old.Control.State == ledger.Reconciled && e.Differs() && old.Shape == e.Shape:
		return fmt.Sprintf("%s, and those recorded agree: %s", e.Control.Headline(), e.Control.Say()), false
	}
	return "", false
}

// lower finds the number that is smaller in an answer than recorded: its rows, or else a metric.
// what is empty if there is none.
func lower(old, e ledger.Record) (what, was, is string) {
	if e.Rows < old.Rows {
		return "rows", fmt.Sprint(old.Rows), fmt.Sprint(e.Rows)
	}
	for _, name := range slices.Sorted(maps.Keys(old.Sums)) {
		if now, has := e.Sums[name]; has && exactly(now).Cmp(exactly(old.Sums[name])) < 0 {
			return name, ledger.Plain(old.Sums[name]), ledger.Plain(now)
		}
	}
	return "", "", ""
}

// day returns the UTC day of a time, as text.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// loss finds a number that lost more than a share of itself, and at least leastRows or leastUnits:
// the rows, or else a metric that can't fall by itself. what is empty if there is none.
func loss(oldRows int64, old map[string]string, rows int64, sums map[string]string, share float64,
	falling []string) (what, was, is string) {
	if gone := oldRows - rows; share > 0 && gone >= leastRows && float64(gone) > share*float64(oldRows) {
		return "rows", fmt.Sprint(oldRows), fmt.Sprint(rows)
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		now, has := sums[name]
		a, b := exactly(old[name]), exactly(now)
		gone, _ := new(big.Rat).Sub(a, b).Float64()
		before, _ := a.Float64()
		if has && share > 0 && before > 0 && gone >= leastUnits && gone > share*before &&
			!slices.Contains(falling, name) {
			return name, ledger.Plain(old[name]), ledger.Plain(now)
		}
	}
	return "", "", ""
}

// agree tells whether two answers say about the same: neither takes more than half away from the
// other.
func agree(a, b *ledger.HeldBack, falling []string) bool {
	there, _, _ := loss(a.Rows, a.Sums, b.Rows, b.Sums, UsualGuard, falling)
	back, _, _ := loss(b.Rows, b.Sums, a.Rows, a.Sums, UsualGuard, falling)
	return there == "" && back == ""
}
