package jobs

import (
	"sync"
	"time"
)

// A timing knows how long the units of a run take, so that none is begun which would be stopped half way: its requests
// would be sent for nothing, and again by the next run.
type timing struct {
	mu      sync.Mutex
	longest time.Duration
}

func (t *timing) took(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.longest = max(t.longest, d)
}

// late tells whether a unit that takes as long as the longest so far would go beyond the deadline.
func (t *timing) late(deadline time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !deadline.IsZero() && time.Now().Add(t.longest).After(deadline)
}

// leave counts a unit that there is no time for.
func (r *Runner) leave(t task) {
	if t.res.leave(t.unit.size()) {
		r.Log.Warn("the deadline is near, so no more windows are begun; the next run goes on with them", "job", t.job.Name, "run", r.Run)
	}
}
