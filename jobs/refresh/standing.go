package refresh

import (
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Standing counts how far the partitions of a table are: how many of them are final, and held against the service's totals.
type Standing struct {
	Partial   int         `json:"partial"`
	Restating int         `json:"restating"`
	Staying   int         `json:"staying,omitempty"` // restating ones that are fetched no more, so that they don't become final
	Final     int         `json:"final"`
	Through   *civil.Date `json:"final_through,omitempty"` // from the oldest one to this one all are final
	Doubtful  int         `json:"doubtful,omitempty"`      // a put was interrupted

	HeldBack int `json:"held_back,omitempty"` // of which the newest answer isn't published

	Reconciled   int `json:"reconciled"`
	Unreconciled int `json:"unreconciled"`
	Unchecked    int `json:"unchecked"`
	Moved        int `json:"changed_after_final"`
	Left         int `json:"moved_and_left,omitempty"` // finals that the service has changed since, and whose rows stay, as drift: warn asks
}

// StandingOf counts by the records that a ledger has.
func StandingOf(now time.Time, r Rules, done ledger.Records) (s Standing) {
	through, next := true, r.Period.Start(r.Start) // the first one that may not be missing
	for _, partition := range slices.SortedFunc(maps.Keys(done), civil.Date.Compare) {
		e := done[partition]
		state := r.FinalityOf(now, e).State
		switch state {
		case Final:
			s.Final++
		case Partial:
			s.Partial++
		case Restating:
			s.Restating++
			if r.Settled(now, e) {
				s.Staying++
			}
		default:
			s.Doubtful++
		}
		if through = through && state == Final && (r.Period == Whole || !partition.After(next)); through {
			s.Through = &partition
		}
		if after := r.Period.Next(partition); after.After(next) {
			next = after
		}
		if e.Moved {
			s.Moved++
		}
		if e.Waits() {
			s.HeldBack++
		}
		if e.Fetched.Before(r.Leaving[partition]) {
			s.Left++
		}
		switch {
		case state == string(ledger.Publishing):
		case e.Control != nil && e.Control.State == ledger.Reconciled:
			s.Reconciled++
		case e.Control != nil && e.Control.State == ledger.Unreconciled:
			s.Unreconciled++
		default:
			s.Unchecked++
		}
	}
	return s
}
