package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// keepFlushing writes a segment whenever it is woken, and after Options.Flush at the latest.
func (s *sender[V]) keepFlushing(ctx context.Context, over <-chan struct{}) {
	tick := time.NewTicker(s.attempt.outbox.options.Flush)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-s.wake:
		case <-tick.C:
		}
		if err := s.flush(ctx, false); err != nil {
			s.fail(err)
			return
		}
	}
}

// flush writes the next segment of the push. A segment says what became of the deliveries that were
// acknowledged and, unless it is the last one, which records it releases: they may be sent as soon
// as it is written.
func (s *sender[V]) flush(ctx context.Context, last bool) error {
	s.mu.Lock()
	var released []delivery[V]
	if last {
		for _, d := range s.ready { // no worker took these, so they get their former states back
			s.attempt.states.Set(d.row, d.priorState)
		}
		s.ready = nil
	} else {
		released = s.release()
	}
	if len(s.acknowledged)+len(released) == 0 && !last {
		s.mu.Unlock()
		return nil
	}

	// Make the segment, while s.mu is held. It has all rows if it is the run's first or last one,
	// or if there have been many since the last whole one.
	seg := store.Segment{Sums: s.sums, Rejected: s.rejectedBecause}
	rows := s.acknowledged
	for _, d := range released {
		rows = append(rows, d.row)
	}
	slices.Sort(rows)
	seg.Spans = store.SpansOf(s.attempt.states, rows)
	s.push.Take(seg)
	fold := s.wroteWhole && int64(s.push.Head.Last-s.push.Head.Whole) >= max(foldAbove, s.attempt.states.Rows>>16)
	if last || fold || !s.wroteWhole {
		seg = s.push.Whole()
	}
	s.acknowledged, s.rejectedBecause, s.sums = nil, map[int64]store.Words{}, map[string]store.Sum{}
	s.mu.Unlock()

	// Write the segment, and then hand the released deliveries to the workers.
	err := s.attempt.lease.Append(ctx, s.push, seg)
	if err == nil && fold && !last {
		err = s.attempt.lease.Save(ctx)
	}
	if err != nil {
		for _, d := range released {
			s.takeBack(d)
		}
		return err
	}
	s.wroteWhole = true
	s.handOut(released)
	return nil
}

// leaveOpen writes the last segment of a push that stays open. Nothing may be in flight.
func (s *sender[V]) leaveOpen(ctx context.Context) error {
	err := s.flush(ctx, true)
	if err != nil {
		err = fmt.Errorf("the last of what was sent isn't on record and may be sent again: %w", err)
	}
	return err
}

// finish publishes the rejects, and ends the push unless some records are left for a later run.
func (s *sender[V]) finish(ctx context.Context) error {
	counts := s.attempt.states.Tally()
	if counts.Pending > 0 && !s.queues.ordered {
		return fmt.Errorf("%d records of the first reading didn't come up in the second", counts.Pending)
	}
	var err error
	if s.push.Head.Rejects, err = s.attempt.publish(ctx, s.rejects); err != nil {
		return err
	}
	switch doubtful := counts.Unknown; {
	case doubtful > 0 && !s.attempt.task.ParkUnknown:
		err := fmt.Errorf("%d records were sent, and nothing says whether the service has them; the next run sends "+
			"them again", doubtful)
		if s.lastDoubt != nil {
			err = fmt.Errorf("%w; of the last: %w", err, s.lastDoubt)
		}
		return errors.Join(err, s.leaveOpen(ctx))
	case counts.Pending > 0:
		return s.leaveOpen(ctx) // these wait for other records, so the push stays open
	}
	s.push.Head.Ended = time.Now().UTC()
	if err := s.flush(ctx, true); err != nil {
		s.push.Head.Ended = time.Time{}
		return err
	}
	store.Supersede(s.attempt.lease.Pushes)
	return nil
}
