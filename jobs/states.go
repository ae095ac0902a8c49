package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// states has the tables written that tell of a job's table. A run that did nothing for the job writes them only when one before it
// was killed, or failed, before it came to that. Of several tasks that are done at the same time each writes them, one after the
// other, because only the last one sees all records.
func (r *Runner) states(ctx context.Context, job Job, s *States, done ledger.Outcome, d *desk) error {
	if s == nil {
		return nil
	}
	if done.Done()+done.Failed == 0 && !s.Behind() {
		return nil
	}
	return r.write(ctx, job, s, d)
}

// write has them written under their claim.
func (r *Runner) write(ctx context.Context, job Job, s *States, d *desk) error {
	var shown ledger.HeldError // the last sign of life of whoever writes them
	// The claim of a run that was killed is free after its lease. One that shows life is waited for, as it takes only so long.
	begun, life := time.Now(), time.Now()
	for {
		hold, release, err := d.take(ctx, job, Unit{Name: s.Claim})
		var held *ledger.HeldError
		switch {
		case err == nil:
			return errors.Join(s.Write(ctx, hold), release())
		case !errors.As(err, &held):
			return err
		case held.Run != shown.Run || held.Beat != shown.Beat:
			shown, life = *held, time.Now()
		}
		if time.Since(life) > 2*r.Lease || time.Since(begun) > mostTurns*r.Lease {
			return fmt.Errorf("write the tables that tell of %s: %w; the next run writes them", job.Table, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(r.Lease/10, held.Free+time.Millisecond)):
		}
	}
}

// mostTurns is how many leases a run waits for others that write the same tables.
const mostTurns = 10
