package refresh

import (
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// An Inspection is what is known about a table without asking the service.
type Inspection struct {
	Period   Period
	Gaps     []Gap
	Fresh    Freshness
	Rest     ledger.Rest
	Counts   Counts
	Calendar []Entry
	Problems []ledger.Problem // as package status finds them
}

// Inspect compares the ledger's records of a table with the rules.
func Inspect(now time.Time, job string, r Rules, done ledger.Records, past ledger.Past) Inspection {
	gaps := Gaps(now, job, r, done, past.Runs)
	all := Calendar(now, r, done, gaps)
	return Inspection{r.Period, gaps, FreshnessOf(job, r, done, past), RestOf(r, done, gaps), r.counts(now, all), all,
		nil}
}

// Missing counts the partitions that a fetch would bring by now. Those whose schedule hasn't fired
// yet don't count.
func (in Inspection) Missing() (n int) {
	for _, g := range in.Gaps {
		if g.Closable && g.Reason != NotDueYet {
			n += g.Partitions
		}
	}
	return n
}

// RestOf counts what a table lacks although nothing is due, from its records and its gaps.
func RestOf(r Rules, done ledger.Records, gaps []Gap) (rest ledger.Rest) {
	columns := map[string]bool{}
	for _, e := range done {
		if e.State == ledger.Kept {
			rest.Kept++
		}
		how := r.Stale[e.Shape]
		if len(how.Lacks) == 0 || how.Rebased || e.Rows == 0 || e.State == ledger.Publishing {
			continue
		}
		rest.Lacking.Partitions++
		for _, name := range how.Lacks {
			columns[name] = true
		}
	}
	rest.Lacking.Columns = slices.Sorted(maps.Keys(columns))
	rest.Lacking.Later = r.LaterColumns && rest.Lacking.Partitions > 0
	for _, g := range gaps {
		if !g.Closable {
			rest.Lost += g.Partitions
		}
	}
	return rest
}

// A Gap is a number of consecutive partitions that should exist by now and don't, all for the same
// reason.
type Gap struct {
	Partition  civil.Date `json:"partition"` // the first one
	Through    civil.Date `json:"through"`   // the last one
	Partitions int        `json:"partitions"`
	Reason     GapReason  `json:"reason"`
	Closable   bool       `json:"closable"`        // false when it can't be fetched any more
	Run        string     `json:"run,omitempty"`   // the run that failed or was interrupted
	Error      string     `json:"error,omitempty"` // of the failed run
}

// A GapReason says why a partition has no record.
type GapReason string

// The reasons.
const (
	NeverFetched GapReason = "never fetched yet"
	NotDueYet    GapReason = "not due yet" // the schedule hasn't fired since the partition's end
	RunFailed    GapReason = "failed"
	NotKept      GapReason = "older than what the table keeps"
	PutCut       GapReason = "interrupted put" // it isn't known whether the old or the new rows are visible
)

// Gaps returns the gaps from the rules' Start to the newest partition, ascending: partitions that
// have no record, or whose put was interrupted and that have no answer that is held back. The
// reasons come from the last runs, which are given newest first.
func Gaps(now time.Time, job string, r Rules, done ledger.Records, runs []ledger.Run) []Gap {
	var gaps []Gap
	first, last := r.bounds(now)
	failed := failuresOf(job, runs)
	for i := first; i <= last; i++ {
		partition := r.Period.At(i)
		e, recorded := done[partition]
		if recorded && (e.State != ledger.Publishing || e.Waits() || partition.Before(r.Oldest) && !e.Unfetched()) {
			continue
		}
		g := r.gap(now, partition, e, failed.explain(cellName(r.Period, r.cell(i))))
		if n := len(gaps); n > 0 && gaps[n-1].joins(g, r.Period) {
			gaps[n-1].Through = partition
			gaps[n-1].Partitions++
			continue
		}
		gaps = append(gaps, g)
	}
	return gaps
}

// joins reports whether next continues g.
func (g Gap) joins(next Gap, p Period) bool {
	return p.Next(g.Through) == next.Partition && g.Reason == next.Reason && g.Run == next.Run &&
		g.Error == next.Error && g.Closable == next.Closable
}

// gap returns the gap of one partition. f is the newest failure that explains it.
func (r Rules) gap(now time.Time, partition civil.Date, e ledger.Record, f runFailure) Gap {
	g := Gap{Partition: partition, Through: partition, Partitions: 1, Reason: NeverFetched, Closable: true}
	if r.Snapshots {
		g.Closable = r.end(partition, 0).After(now)
	}
	switch {
	case partition.Before(r.Oldest):
		g.Reason, g.Closable = NotKept, false
	case f.run != "" && f.run >= e.Run: // run IDs sort by time
		g.Reason, g.Run, g.Error = RunFailed, f.run, f.text
	case e.State == ledger.Publishing:
		g.Reason, g.Run = PutCut, e.Run
	case !r.firedFrom(r.ready(now, partition), now):
		g.Reason = NotDueYet
	}
	return g
}

// jobFailures has what the last runs say about the failures of one job.
type jobFailures struct {
	units map[string]runFailure // the newest failure of each unit
	plan  runFailure            // the failure to plan in the newest run; older ones don't count
}

// A runFailure has the ID of a run that failed and its error; the zero value means no failure.
type runFailure struct{ run, text string }

// failuresOf collects the failures of a job from runs, the newest first.
func failuresOf(job string, runs []ledger.Run) jobFailures {
	f := jobFailures{units: map[string]runFailure{}}
	newest := true
	for _, run := range runs {
		for _, res := range run.Results {
			if res.Job != job {
				continue
			}
			for _, failure := range res.Failures {
				if _, newer := f.units[failure.Unit]; failure.Unit != "" && !newer {
					f.units[failure.Unit] = runFailure{run.ID, failure.Error}
				} else if failure.Unit == "" && newest {
					f.plan = runFailure{run.ID, failure.Error}
				}
			}
			newest = false
		}
	}
	return f
}

// explain returns the newest failure that explains why a unit has no record, or the zero value when
// there is none.
func (f jobFailures) explain(unit string) runFailure {
	if f.plan.run != "" {
		return f.plan
	}
	return f.units[unit]
}
