package refresh

import (
	"time"

	"cloud.google.com/go/civil"
)

// A DriftCheck is a comparison of a cell of final partitions with the service's totals.
type DriftCheck struct {
	From   civil.Date `json:"from"`  // first partition of the cell
	Until  civil.Date `json:"until"` // first partition after it
	At     time.Time  `json:"at"`    // when it began
	Failed bool       `json:"failed,omitempty"`
	// Partitions whose totals differed from the recorded ones. They are due until they are fetched
	// after At.
	Moved []civil.Date `json:"moved,omitempty"`
}

// covers reports whether the check was about a partition.
func (c DriftCheck) covers(partition civil.Date) bool {
	return !partition.Before(c.From) && partition.Before(c.Until)
}

// DriftChecks are the checks of a table that still count, in no order.
type DriftChecks []DriftCheck

// With returns the checks with c added. A check replaces those that it covers entirely; a failed
// one replaces failed ones only. A check that is covered in part, because the config has changed
// the length of cells, still counts.
func (all DriftChecks) With(c DriftCheck) DriftChecks {
	kept := DriftChecks{}
	for _, old := range all {
		inside := !old.From.Before(c.From) && !old.Until.After(c.Until)
		if !inside || c.Failed && !old.Failed {
			kept = append(kept, old)
		}
	}
	return append(kept, c)
}

// Moved returns the partitions that have moved, with the time of the last check that saw it.
func (all DriftChecks) Moved() map[civil.Date]time.Time {
	moved := map[civil.Date]time.Time{}
	for _, c := range all {
		for _, partition := range c.Moved {
			moved[partition] = later(moved[partition], c.At)
		}
	}
	return moved
}
