package icesink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/reportferry/reportferry/sinks"
)

// Put makes the part the whole content of its partition. After an error the old rows are still
// there, unless the error says that the outcome is unknown. Repeating a Put is harmless in every
// case.
func (s *Sink) Put(ctx context.Context, part sinks.Part) (sinks.Receipt, error) {
	at, err := locate(part)
	var of stamp
	if err == nil {
		of, err = s.put(ctx, at, part)
	}
	if err != nil {
		return sinks.Receipt{}, fmt.Errorf("put %s/dt=%s to %s: %w", sinks.Flat(part.Table), part.Partition, s.url,
			s.explain(err))
	}
	return sinks.Receipt{Sink: s.url, Key: at.key(), Size: part.Size, Version: of.token}, nil
}

// A put is one call of Put that is under way.
type put struct {
	ctx         context.Context
	at          place
	part        sinks.Part
	over        sinks.Condition // what may be replaced
	stamp       stamp
	fingerprint string

	table uuid.UUID        // the table that the file was written for
	file  iceberg.DataFile // the file as the manifest will describe it; nil before it is stored
	files store            // the store that the file was written to
	done  chan error       // gets the result of the commit

	// sent are the snapshots that unanswered commits of the put were based on. Each such commit may
	// have happened, or may yet happen while the table still has that snapshot.
	sent map[int64]bool
}

// put stores the part's file, has it committed, and returns its stamp.
func (s *Sink) put(ctx context.Context, at place, part sinks.Part) (stamp, error) {
	p := &put{ctx: ctx, at: at, part: part, over: part.Over, stamp: stamp{rand.Text(), part.Size},
		done: make(chan error, 1), sent: map[int64]bool{}}
	if err := ctx.Err(); err != nil {
		return stamp{}, err
	}
	if err := s.prepare(ctx, p); err != nil {
		return stamp{}, err
	}
	s.committer(at.table).add(p)
	err := <-p.done
	if err == nil {
		return p.stamp, nil
	}
	return stamp{}, errors.Join(err, p.withdraw())
}

// prepare makes sure that the table fits, finds out what may be replaced, and stores the file.
func (s *Sink) prepare(ctx context.Context, p *put) (err error) {
	source, err := openPart(p.part)
	if err != nil {
		return err
	}
	p.fingerprint = source.fingerprint
	err = s.upload(ctx, p, source)
	if closed := source.Close(); closed != nil {
		err = errors.Join(err, fmt.Errorf("%w: %w", errSource, closed))
	}
	if err != nil && p.file != nil {
		err = errors.Join(err, p.withdraw())
	}
	return err
}

// upload makes sure that the table fits the part, and writes the part's file where the table's
// files are. It fills in the fields of p that describe the file.
func (s *Sink) upload(ctx context.Context, p *put, from *source) error {
	if err := from.checkDay(p.at); err != nil {
		return err
	}
	// A put without a condition may replace what is there when it begins, and nothing that comes
	// while it stores the file.
	if p.over == (sinks.Condition{}) {
		over, err := s.condition(ctx, p.at, false) // condition has retries of its own
		if err != nil {
			return err
		}
		p.over = over
	}
	return s.repeat(ctx, func() error {
		t, err := s.ensure(ctx, p.at.table, p.part.Schema, from.fingerprint)
		if err != nil {
			return err
		}
		places, err := t.LocationProvider()
		if err != nil {
			return err
		}
		location := places.NewDataLocation(p.at.fileName(p.stamp))
		size, err := from.save(ctx, t.files, location, t.Schema())
		if err != nil {
			return err
		}
		p.table, p.files = t.Metadata().TableUUID(), t.files
		p.file, err = from.dataFile(p.at, location, size, t.Spec(), t.Schema())
		return err
	})
}

// withdraw removes the file of a put that has failed. The file stays when an unanswered commit may
// have made it a file of the table, or still may.
func (p *put) withdraw() error {
	if len(p.sent) > 0 || p.file == nil {
		return nil
	}
	if err := p.files.Remove(p.file.FilePath()); err != nil {
		return fmt.Errorf("remove the file, which isn't the table's: %w", err)
	}
	return nil
}

// condition returns the condition that allows a put to replace this state, and no later one.
func (s state) condition() sinks.Condition {
	if s.holding == nil {
		return sinks.Condition{Absent: true}
	}
	if v := s.version(); v != "" {
		return sinks.Condition{Version: v}
	}
	return sinks.Condition{Version: s.holding.digest()}
}
