package refresh

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Condition says in a word or two what state a partition of a table is in, for people who look at
// many partitions at once. Of several that hold, it is the one that needs a person most.
type Condition string

// The conditions; those that need a person most come first. A partition that none of the others
// fits has its finality as its condition: Partial, Restating or Final.
const (
	Running Condition = "running"                   // a run is fetching it
	Broken  Condition = "failed"                    // its fetch failed in the last run that tried it
	CutOff  Condition = "interrupted"               // a put began, and how it ended isn't recorded
	Absent  Condition = "missing"                   // it was never fetched
	TooOld  Condition = "too old"                   // it is missing, and the table would delete it at once
	Gone    Condition = "can't be fetched any more" // it is a snapshot of a period that is over
	// Its numbers have another meaning than the newest ones: a rebaseline isn't finished.
	Mixed    Condition = "other meaning"
	Deleted  Condition = "deleted in the sink" // a sink holds nothing of what was put
	Replaced Condition = "changed in the sink" // a sink holds something else than what was put
	// The newest answer isn't published, because it would take good rows away.
	HeldBack Condition = ledger.EventHeld
	// Three answers on different days differ from the service's totals in the same way.
	DiffersAlike Condition = ledger.EventDiffersAlike
	Differs      Condition = "unreconciled"    // its rows differ from the service's totals
	Suspicious   Condition = "suspected empty" // it has no rows, although the periods on each side have some
	// It was final, the service has changed it since, and the setting drift: warn leaves it so.
	MovedAndLeft Condition = "moved and left"
	ChangedFinal Condition = "changed after final" // it was final, and was fetched again with other numbers
	Expired      Condition = "expired"             // the table has deleted it because of its age
	NotYet       Condition = "not due yet"         // the schedule hasn't fired since its end
	WithoutRows  Condition = "empty"
)

// Conditions lists them all in that order.
var Conditions = []Condition{
	Running, Broken, CutOff, Absent, TooOld, Gone, Mixed, Deleted, Replaced, HeldBack, DiffersAlike, Differs,
	Suspicious, MovedAndLeft, ChangedFinal, Expired, NotYet, WithoutRows, Partial, Restating, Final,
}

// An Entry says what state one partition of a table is in.
type Entry struct {
	Partition civil.Date
	Condition Condition
	Record    ledger.Record // the newest one; zero when there is none
	Finality  Finality      // of what is stored
	Gap       *Gap          // the gap that the partition lies in; nil when it isn't missing
}

// Calendar lists every partition that has a record or lies in a gap, ascending.
func Calendar(now time.Time, r Rules, done ledger.Records, gaps []Gap) []Entry {
	return r.entries(done, gaps, func(e ledger.Record) (Entry, bool) {
		f := r.FinalityOf(now, e)
		return Entry{Partition: e.Partition, Condition: r.condition(e, f), Record: e, Finality: f}, true
	})
}

// Troubled returns the entries of Calendar that a person should know about, without their finality.
// It does no calculations with time zones, so that it takes little time for a long table.
func Troubled(r Rules, done ledger.Records, gaps []Gap) []Entry {
	return r.entries(done, gaps, func(e ledger.Record) (Entry, bool) {
		c := r.trouble(e)
		return Entry{Partition: e.Partition, Condition: c, Record: e}, c != ""
	})
}

// entries lists the partitions of the gaps, and of the others those for which entry returns true.
func (r Rules) entries(done ledger.Records, gaps []Gap, entry func(ledger.Record) (Entry, bool)) (all []Entry) {
	absent := map[civil.Date]bool{}
	for _, g := range gaps {
		for p, n := g.Partition, 0; n < g.Partitions; p, n = r.Period.Next(p), n+1 {
			absent[p] = true
			all = append(all, Entry{Partition: p, Condition: g.Condition(), Record: done[p], Gap: &g})
		}
	}
	for p, e := range done {
		if absent[p] {
			continue
		}
		if one, wanted := entry(e); wanted {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return a.Partition.Compare(b.Partition) })
	return all
}

// Hold marks the entries as running that are due and that a run has leased. It returns how many due
// partitions are leased.
func Hold(all []Entry, due []Due, held map[civil.Date]string) (leased int) {
	for _, d := range due {
		if held[d.Partition] == "" {
			continue
		}
		leased++
		if i, known := slices.BinarySearchFunc(all, d.Partition,
			func(e Entry, at civil.Date) int { return e.Partition.Compare(at) }); known {
			all[i].Condition = Running
		}
	}
	return leased
}

// Condition returns the condition of the gap's partitions.
func (g Gap) Condition() Condition {
	switch {
	case g.Reason == NotKept:
		return TooOld
	case !g.Closable:
		return Gone
	case g.Reason == RunFailed:
		return Broken
	case g.Reason == PutCut:
		return CutOff
	case g.Reason == NotDueYet:
		return NotYet
	}
	return Absent
}

// condition returns the condition of a partition that isn't missing.
func (r Rules) condition(e ledger.Record, f Finality) Condition {
	switch c := r.trouble(e); {
	case c != "":
		return c
	case e.State == ledger.Empty || e.State == ledger.Cleared:
		return WithoutRows
	case f.State == "": // a table that isn't the service's has no other state
		return Final
	}
	return Condition(f.State)
}

// trouble returns the condition of a partition that isn't missing if a person should know about it,
// or "".
func (r Rules) trouble(e ledger.Record) Condition {
	switch {
	case e.Partition.Before(r.Oldest):
		return Expired
	case e.State == ledger.Publishing && !e.Waits(): // before Start, where there are no gaps
		return CutOff
	case r.Stale[e.Shape].Rebased:
		return Mixed
	case r.Stored[e.Partition] != "" && r.Period.Index(e.Partition) >= r.Period.Index(r.Start):
		return r.Stored[e.Partition]
	case e.Waits():
		return HeldBack
	case e.Stands() && e.AwaitsPerson():
		return DiffersAlike
	case e.Differs() && !e.Stands():
		return Differs
	case r.Suspected[e.Partition] && r.doubtful(e):
		return Suspicious
	case e.Fetched.Before(r.MovedButLeft[e.Partition]):
		return MovedAndLeft
	case e.Moved:
		return ChangedFinal
	}
	return ""
}

// A Piece is a number of consecutive partitions.
type Piece struct {
	From       civil.Date `json:"from"`
	Through    civil.Date `json:"through"`
	Partitions int        `json:"partitions"`
}

// Pieces returns the pieces of a calendar, ascending. A calendar includes gaps, so the periods
// between two pieces are those that aren't asked for: between a backfill and Start, or without a
// snapshot.
func Pieces(p Period, all []Entry) (list []Piece) {
	for i, e := range all {
		if i == 0 || p.Next(all[i-1].Partition) != e.Partition {
			list = append(list, Piece{From: e.Partition})
		}
		last := &list[len(list)-1]
		last.Through = e.Partition
		last.Partitions++
	}
	return list
}
