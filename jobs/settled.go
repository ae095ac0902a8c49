package jobs

import "time"

// Settled tells whether a partition's record is final: a fetch of it now would only repeat it.
func (r Rules) Settled(now time.Time, e Entry) bool {
	reason, _ := r.wanted(now, e.Partition, e, true)
	return reason == ""
}
