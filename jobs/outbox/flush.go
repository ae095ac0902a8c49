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
	tick := time.NewTicker(s.work.o.o.Flush)
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
// acknowledged and, unless it is the last one, which records may be sent as soon as it is written.
func (s *sender[V]) flush(ctx context.Context, last bool) error {
	s.mu.Lock()
	var gone []delivery[V]
	if last {
		for _, l := range s.ready { // no worker took these, so they get their former states back
			s.work.states.Set(l.row, l.was)
		}
		s.ready = nil
	} else {
		gone = s.release()
	}
	if len(s.acknowledged)+len(gone) == 0 && !last {
		s.mu.Unlock()
		return nil
	}
	seg := store.Segment{Sums: s.sums, Rejected: s.words}
	rows := s.acknowledged
	for _, l := range gone {
		rows = append(rows, l.row)
	}
	slices.Sort(rows)
	seg.Spans = store.SpansOf(s.work.states, rows)
	s.push.Take(seg)
	fold := s.begun && int64(s.push.Head.Last-s.push.Head.Whole) >= max(foldAbove, s.work.states.Rows>>16)
	if last || fold || !s.begun {
		seg = s.push.Whole()
	}
	s.acknowledged, s.words, s.sums = nil, map[int64]store.Words{}, map[string]store.Sum{}
	s.mu.Unlock()

	err := s.work.lease.Append(ctx, s.push, seg)
	if err == nil && fold && !last {
		err = s.work.lease.Save(ctx)
	}
	if err != nil {
		for _, l := range gone {
			s.undelivered(l)
		}
		return err
	}
	s.begun = true
	s.hand(gone)
	return nil
}

// leave writes the last segment of a push that stays open. Nothing may be in flight.
func (s *sender[V]) leave(ctx context.Context) error {
	err := s.flush(ctx, true)
	if err != nil {
		err = fmt.Errorf("the last of what was sent isn't on record and may be sent again: %w", err)
	}
	return err
}

// finish publishes the rejects, and ends the push unless some records are left for a later run.
func (s *sender[V]) finish(ctx context.Context) error {
	counts := s.work.states.Tally()
	if counts.Pending > 0 && !s.queues.ordered {
		return fmt.Errorf("%d records of the first reading didn't come up in the second", counts.Pending)
	}
	var err error
	if s.push.Head.Rejects, err = s.work.publish(ctx, s.rejects); err != nil {
		return err
	}
	switch doubtful := counts.Unknown; {
	case doubtful > 0 && !s.work.p.ParkUnknown:
		err := fmt.Errorf("%d records were sent, and nothing says whether the service has them; the next run sends "+
			"them again", doubtful)
		if s.lost != nil {
			err = fmt.Errorf("%w; of the last: %w", err, s.lost)
		}
		return errors.Join(err, s.leave(ctx))
	case counts.Pending > 0:
		return s.leave(ctx) // these wait for other records, so the push stays open
	}
	s.push.Head.Ended = time.Now().UTC()
	if err := s.flush(ctx, true); err != nil {
		s.push.Head.Ended = time.Time{}
		return err
	}
	store.Supersede(s.work.lease.Pushes)
	return nil
}
