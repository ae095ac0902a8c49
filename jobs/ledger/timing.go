package ledger

import (
	"cmp"
	"slices"
	"time"
)

// A Timing says when a unit of a job was done, and how its time was spent. The part of Took that no
// other field has was spent on the service's answers, and on the lease.
type Timing struct {
	Unit  string        `json:"unit"`
	Begun time.Time     `json:"begun"`
	Took  time.Duration `json:"took_ns"`
	// Limiter is a sum over requests. Two may wait at once, so that it may exceed Took.
	Limiter  time.Duration `json:"limiter_ns,omitempty"`
	Backoff  time.Duration `json:"backoff_ns,omitempty"` // likewise
	Convert  time.Duration `json:"convert_ns,omitempty"`
	Put      time.Duration `json:"put_ns,omitempty"`
	Requests int64         `json:"requests,omitempty"`
	Retries  int64         `json:"retries,omitempty"`
	Failed   bool          `json:"failed,omitempty"`
	Stopped  bool          `json:"stopped,omitempty"` // the run ended before the unit did
}

// TimingOf returns the timing of a unit from its outcome.
func TimingOf(unit string, begun time.Time, took time.Duration, o Outcome) Timing {
	return Timing{
		Unit: unit, Begun: begun.UTC(), Took: took, Limiter: o.Limiter, Backoff: o.Backoff, Convert: o.Convert,
		Put:      o.Put,
		Requests: o.Requests, Retries: o.Retries,
	}
}

// MostTimings is how many timings of units a run's record has at most. A backfill of years has
// thousands of units, and every plan reads the last runs.
const MostTimings = 200

// TrimTimings keeps the timings of at most MostTimings units of a run: those that failed, and then
// the longest ones, sorted by their beginning. TimingsLeftOut of each result counts those that were
// dropped.
func TrimTimings(results []Result) {
	var all []Timing
	for _, r := range results {
		all = append(all, r.Timings...)
	}
	slices.SortFunc(all, byImportance)
	for i := range results {
		r := &results[i]
		if len(all) > MostTimings {
			before := len(r.Timings)
			r.Timings = slices.DeleteFunc(r.Timings, func(t Timing) bool {
				return byImportance(t,
					all[MostTimings-1]) > 0
			})
			r.TimingsLeftOut += before - len(r.Timings)
		}
		slices.SortFunc(r.Timings, func(a, b Timing) int {
			return cmp.Or(a.Begun.Compare(b.Begun),
				cmp.Compare(a.Unit, b.Unit))
		})
	}
}

// byImportance orders units by how much they interest people: failed ones first, then by how long
// they took.
func byImportance(a, b Timing) int {
	if a.Failed != b.Failed {
		if a.Failed {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Took, a.Took), a.Begun.Compare(b.Begun), cmp.Compare(a.Unit, b.Unit))
}
