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

// Never is in FinalAfter for a column whose numbers the service changes for as long as it has them.
const Never = -1

// A Finality says whether the service may still change what was fetched of a partition.
//
// It is final when it was made at or after the moment from which the service changes none of the
// columns any more. What counts is when the stored numbers were fetched, and not the time of today:
// those that were fetched too early stay restating until they are fetched once more.
//
// A Whole table is partial for ever, because its period doesn't end. A snapshot is partial while
// its day goes on, because it may be taken again, and final afterwards; a record of it doesn't know
// the latter, so that At says it.
type Finality struct {
	State   string    // Partial, Restating or Final; of FinalityOf also ledger.Publishing
	At      time.Time // the earliest moment of a fetch that is final; zero: there is none
	Columns []string  // those whose numbers the service changed no more when they were fetched, ascending
}

// Finality judges a fetch of a partition by FinalAfter. Rules without a Location judge nothing: a
// table that isn't the service's has none.
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

// restating notes a column that isn't final yet.
func (f *Finality) restating() {
	if f.State == Final {
		f.State = Restating
	}
}

// FinalityOf judges by now what is stored under a record. Rows that were kept over an empty answer
// are as old as the fetch that brought them, and of a partition whose put was interrupted nothing
// is final. Columns that the record lacks aren't counted.
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

// Counts say how many partitions of a table are how far, and how their rows compare with the
// service's totals.
type Counts struct {
	Partial   int `json:"partial"`
	Restating int `json:"restating"`
	// Restating ones that are fetched no more, so that they don't become final.
	Staying  int         `json:"staying,omitempty"`
	Final    int         `json:"final"`
	Through  *civil.Date `json:"final_through,omitempty"` // from the oldest one to this one all are final
	Doubtful int         `json:"doubtful,omitempty"`      // a put was interrupted
	HeldBack int         `json:"held_back,omitempty"`     // their newest answer isn't published

	Reconciled   int `json:"reconciled"`
	Unreconciled int `json:"unreconciled"`
	Unchecked    int `json:"unchecked"`
	Moved        int `json:"changed_after_final"`
	// Finals that the service has changed since, and whose rows stay, as drift: warn asks.
	Left int `json:"moved_and_left,omitempty"`
}

// counts counts what a calendar has.
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
