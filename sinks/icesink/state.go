package icesink

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks"
)

// A state is what is to be known of a partition before it is replaced.
type state struct {
	holding *holding // nil: nothing is there
	stamp   stamp    // of the put whose rows are there; zero when that isn't known
	foreign bool     // somebody else has added, changed or deleted rows
}

// state judges what a partition holds. The files of a put name it. Others may be those of a put,
// rewritten by a job that compacts files and leaves their rows alone: then the snapshots say which
// put it was, for as long as they are kept.
func (t *loaded) state(ctx context.Context, at place) (s state, err error) {
	all, err := t.holdings(ctx)
	if err != nil {
		return s, err
	}
	if s.holding = all[at]; s.holding == nil || len(s.holding.files) == 0 {
		return state{}, nil
	}
	if of, ours := s.holding.stamp(); ours {
		s.stamp = of
		return s, nil
	}
	err = t.trace(ctx, at, &s)
	return s, err
}

// trace goes back over the snapshots to the put that is the newest of the partition. Whoever has
// touched the partition since then, but by rewriting files, has changed its rows.
func (t *loaded) trace(ctx context.Context, at place, s *state) error {
	for snapshot := t.CurrentSnapshot(); snapshot != nil; snapshot = t.parent(snapshot) {
		if of, is := putTold(snapshot, at); is {
			s.stamp = of
			return nil
		}
		if snapshot.Summary != nil && snapshot.Summary.Operation == table.OpReplace || puts(snapshot) {
			continue
		}
		touches, err := t.touches(ctx, snapshot, at)
		if err != nil {
			return err
		}
		if touches {
			s.foreign = true
			return nil
		}
	}
	// The put's snapshot is no longer kept. Whoever rewrites a file takes it out: what is beside
	// one of this program's was added.
	s.foreign = !s.holding.whole() || slices.ContainsFunc(s.holding.files, func(f iceberg.DataFile) bool {
		_, ours := at.stampOf(f.FilePath())
		return ours
	})
	return nil
}

func (t *loaded) parent(s *table.Snapshot) *table.Snapshot {
	if s.ParentSnapshotID == nil {
		return nil
	}
	return t.SnapshotByID(*s.ParentSnapshotID)
}

// putTold gives what a snapshot says of a put into a partition.
func putTold(s *table.Snapshot, at place) (of stamp, is bool) {
	if s.Summary == nil {
		return of, false
	}
	text, is := s.Summary.Properties[at.property()]
	if !is {
		return of, false
	}
	return parseStamp(text)
}

// puts reports whether a snapshot is of this program.
func puts(s *table.Snapshot) bool {
	return s.Summary != nil && s.Summary.Properties[propertyRun] != ""
}

// touches reports whether a snapshot added files to a partition, or took some out.
func (t *loaded) touches(ctx context.Context, s *table.Snapshot, at place) (bool, error) {
	manifests, err := s.Manifests(t.files)
	if err != nil {
		return false, fmt.Errorf("read the list of manifests of snapshot %d: %w", s.SnapshotID, err)
	}
	for _, m := range manifests {
		if m.SnapshotID() != s.SnapshotID {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for entry, err := range m.Entries(t.files, false) {
			if err != nil {
				return false, fmt.Errorf("read the manifest %s: %w", m.FilePath(), err)
			}
			if entry.Status() != iceberg.EntryStatusEXISTING && t.placeOf(entry.DataFile()) == at {
				return true, nil
			}
		}
	}
	return false, nil
}

// version names what is there for receipts and conditions; empty when nothing is, or when it can't
// be told any more.
func (s state) version() string {
	switch {
	case s.holding == nil:
		return ""
	case s.foreign:
		return s.holding.digest()
	}
	return s.stamp.token
}

// meets reports whether a condition holds. Files that were rewritten so long ago that no snapshot
// shows whose put they are pass for those that the ledger names.
func (s state) meets(over sinks.Condition) bool {
	switch {
	case s.holding == nil:
		return over.Version == ""
	case over.Version == "":
		return false
	}
	known := []string{s.version(), s.holding.digest()}
	return slices.Contains(known, over.Version) || !s.foreign && s.version() == ""
}
