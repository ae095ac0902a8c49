package jobs

import (
	"context"
	"fmt"
	"time"
)

// Leased tells, by a nil error, that the lease isn't over by this process's own clock. It sends no request, so that it can
// be asked before every record that leaves the process: one that was stopped or suspended finds out before it acts, and
// not when its timers do.
func (c *Claim) Leased() error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	if !time.Now().Before(c.deadline()) {
		return fmt.Errorf("%s: the lease of %v is over: %w", c.key(c.number), c.lease, ErrLost)
	}
	return nil
}
