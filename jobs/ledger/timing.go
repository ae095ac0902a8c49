package ledger

import (
	"cmp"
	"slices"
	"time"
)

// A Timing says when a unit of a job was done, and what the time went into. What remains of Took
// after its parts went into the service's answers, and into the lease.
type Timing struct {
	Unit  string        `json:"unit"`
	Begun time.Time     `json:"begun"`
	Took  time.Duration `json:"took_ns"`
	// A sum over requests; two may wait at once, so that it may exceed Took.
	Limiter  time.Duration `json:"limiter_ns,omitempty"`
	Backoff  time.Duration `json:"backoff_ns,omitempty"` // likewise
	Convert  time.Duration `json:"convert_ns,omitempty"`
	Put      time.Duration `json:"put_ns,omitempty"`
	Requests int64         `json:"requests,omitempty"`
	Retries  int64         `json:"retries,omitempty"`
	Failed   bool          `json:"failed,omitempty"`
	Stopped  bool          `json:"stopped,omitempty"` // the run ended before the unit did
}

// TimingOf is what a unit's outcome says of its time.
func TimingOf(unit string, begun time.Time, took time.Duration, o Outcome) Timing {
	return Timing{
		Unit: unit, Begun: begun.UTC(), Took: took, Limiter: o.Limiter, Backoff: o.Backoff, Convert: o.Convert,
		Put:      o.Put,
		Requests: o.Requests, Retries: o.Retries,
	}
}

// MostTimings is how many units a run's record has. A backfill of years has thousands, and every
// plan reads the last runs.
const MostTimings = 200

// TrimTimings keeps those units of a run that failed, and then the longest ones, in the order in
// which they began. Each result says how many were left out of it.
func TrimTimings(results []Result) {
	var all []Timing
	for _, r := range results {
		all = append(all, r.Timings...)
	}
	slices.SortFunc(all, weightier)
	for i := range results {
		r := &results[i]
		if len(all) > MostTimings {
			before := len(r.Timings)
			r.Timings = slices.DeleteFunc(r.Timings, func(t Timing) bool {
				return weightier(t,
					all[MostTimings-1]) > 0
			})
			r.Untold += before - len(r.Timings)
		}
		slices.SortFunc(r.Timings, func(a, b Timing) int {
			return cmp.Or(a.Begun.Compare(b.Begun),
				cmp.Compare(a.Unit, b.Unit))
		})
	}
}

// weightier orders units by what a person wants to know of them: those that failed first, then by
// how long they took.
func weightier(a, b Timing) int {
	if a.Failed != b.Failed {
		if a.Failed {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Took, a.Took), a.Begun.Compare(b.Begun), cmp.Compare(a.Unit, b.Unit))
}
