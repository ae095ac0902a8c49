package refresh

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// The states of a partition's numbers.
const (
	Partial   = "partial"   // the period wasn't over when they were fetched
	Restating = "restating" // the service may still have changed them afterwards
	Final     = "final"     // it changes them no more
)

// Never as a value in FinalAfter means that a column is never final: the service may change its
// numbers for as long as it keeps them.
const Never = -1

// A Finality says whether the service may still change the stored numbers of a partition.
//
// Numbers are final if they were fetched at or after the moment from which the service no longer
// changes any column. What counts is the time of that fetch, not the current time: numbers that
// were fetched too early stay restating until they are fetched again.
//
// A Whole table is always partial, because its period doesn't end. A snapshot is partial during
// its day, because it may be taken again, and final afterwards. It isn't fetched again to become
// final: FinalityOf compares At with the current time.
type Finality struct {
	State   string    // Partial, Restating or Final; from FinalityOf also ledger.Publishing
	At      time.Time // a fetch at this time or later is final; zero: no fetch ever is
	Columns []string  // the columns that were final when they were fetched, ascending
}

// Finality returns the finality of a partition that was fetched at a given time, by FinalAfter. It
// is zero without a Location, which a table that doesn't come from the service lacks.
func (r Rules) Finality(partition civil.Date, fetched time.Time) Finality {
	if r.Location == nil {
		return Finality{}
	}
	if r.Period == Whole {
		return Finality{State: Partial}
	}
	end := r.end(partition, 0)
	f := Finality{State: Final, At: end}
	if fetched.Before(end) {
		f.State = Partial
	}
	moments := map[int]time.Time{}
	for _, column := range slices.Sorted(maps.Keys(r.FinalAfter)) {
		days := r.FinalAfter[column]
		at, known := moments[days]
		if !known && days != Never {
			at = r.end(partition, days)
			moments[days] = at
		}
		switch {
		case days == Never:
			f.At = time.Time{}
			f.restating()
		case fetched.Before(at):
			f.restating()
		default:
			f.Columns = append(f.Columns, column)
		}
	}
	for _, at := range moments {
		if !f.At.IsZero() && at.After(f.At) {
			f.At = at
		}
	}
	return f
}

// restating turns Final into Restating, because of a column that isn't final yet.
func (f *Finality) restating() {
	if f.State == Final {
		f.State = Restating
	}
}

// FinalityOf returns the finality, as of now, of the rows that a record describes. If older rows
// were kept because the answer was empty, it is that of the older rows. If a put was interrupted,
// no column is final. Columns that the record lacks are left out.
func (r Rules) FinalityOf(now time.Time, e ledger.Record) Finality {
	if lacks := r.Stale[e.Shape].Lacks; len(lacks) > 0 {
		r.FinalAfter = maps.Clone(r.FinalAfter)
		for _, name := range lacks {
			delete(r.FinalAfter, name)
		}
	}
	f := r.Finality(e.Partition, e.Fetched)
	switch {
	case e.State == ledger.Publishing:
		f.State, f.Columns = string(ledger.Publishing), nil
	case e.State == ledger.Kept && e.Finality != Final:
		f.State, f.Columns = cmp.Or(e.Finality, Restating), nil
	case r.Snapshots && !now.Before(f.At):
		f.State = Final
	}
	return f
}

// Counts are the numbers of a table's partitions by state, and by how their rows compare with the
// service's totals.
type Counts struct {
	Partial   int `json:"partial"`
	Restating int `json:"restating"`
	// Restating partitions that won't be fetched again, and so never become final.
	Staying  int         `json:"staying,omitempty"`
	Final    int         `json:"final"`
	Through  *civil.Date `json:"final_through,omitempty"` // from the oldest one to this one all are final
	Doubtful int         `json:"doubtful,omitempty"`      // a put was interrupted
	HeldBack int         `json:"held_back,omitempty"`     // their newest answer isn't published

	Reconciled   int `json:"reconciled"`
	Unreconciled int `json:"unreconciled"`
	Unchecked    int `json:"unchecked"`
	Moved        int `json:"changed_after_final"` // their numbers were final, and have changed since
	// Final partitions that the service changed later; drift: warn keeps their old rows.
	Left int `json:"moved_and_left,omitempty"`
}

// counts counts the entries of a table's calendar.
func (r Rules) counts(now time.Time, all []Entry) (c Counts) {
	through := true
	for _, e := range all {
		if through = through && e.Finality.State == Final; through {
			c.Through = &e.Partition
		}
		switch e.Finality.State {
		case Final:
			c.Final++
		case Partial:
			c.Partial++
		case Restating:
			c.Restating++
			if r.Settled(now, e.Record) {
				c.Staying++
			}
		}
		switch control := e.Record.Control; {
		case e.Record.State == ledger.Publishing:
			c.Doubtful++
			continue
		case e.Gap != nil:
			continue
		case control != nil && control.State == ledger.Reconciled:
			c.Reconciled++
		case control != nil && control.State == ledger.Unreconciled:
			c.Unreconciled++
		default:
			c.Unchecked++
		}
		if e.Record.Moved {
			c.Moved++
		}
		if e.Record.Waits() {
			c.HeldBack++
		}
		if e.Condition == MovedAndLeft {
			c.Left++
		}
	}
	return c
}
