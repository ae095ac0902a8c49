package icesink

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks"
)

// A state is what must be known about a partition before it is replaced.
type state struct {
	holding *holding // nil when the partition has no files
	stamp   stamp    // of the put whose rows the partition has; zero when that isn't known
	foreign bool     // somebody else has added, changed or deleted rows
}

// state finds out which put the content of a partition comes from. The name of a put's file says
// it. Files with other names may come from a put, too, if a job that compacts files has rewritten
// them and left their rows alone. Then the snapshots say which put it was, while they are kept.
func (t *loadedTable) state(ctx context.Context, at place) (s state, err error) {
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

// trace goes back over the snapshots to the newest put into the partition. A later change of the
// partition by another program, unless it only rewrites files, has changed its rows, and makes the
// state foreign.
func (t *loadedTable) trace(ctx context.Context, at place, s *state) error {
	for snapshot := t.CurrentSnapshot(); snapshot != nil; snapshot = t.parent(snapshot) {
		if last, is := stampInSummary(snapshot, at); is {
			s.stamp = last
			return nil
		}
		if snapshot.Summary != nil && snapshot.Summary.Operation == table.OpReplace || madeByUs(snapshot) {
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
	// The put's snapshot is no longer kept. If nobody has touched the partition since, its files
	// are whole. A job that rewrites them removes the files of this program. If one of these is
	// still there, somebody has added the others.
	s.foreign = !s.holding.whole() || slices.ContainsFunc(s.holding.files, func(f iceberg.DataFile) bool {
		_, ours := at.stampOf(f.FilePath())
		return ours
	})
	return nil
}

// parent returns the snapshot before s, or nil when there is none or it is no longer kept.
func (t *loadedTable) parent(s *table.Snapshot) *table.Snapshot {
	if s.ParentSnapshotID == nil {
		return nil
	}
	return t.SnapshotByID(*s.ParentSnapshotID)
}

// stampInSummary returns the stamp of a put into a partition, if the snapshot committed one.
func stampInSummary(s *table.Snapshot, at place) (put stamp, is bool) {
	if s.Summary == nil {
		return put, false
	}
	text, is := s.Summary.Properties[at.property()]
	if !is {
		return put, false
	}
	return parseStamp(text)
}

// madeByUs reports whether this program made a snapshot.
func madeByUs(s *table.Snapshot) bool {
	return s.Summary != nil && s.Summary.Properties[propertyRun] != ""
}

// touches reports whether a snapshot added files to a partition, or took some out.
func (t *loadedTable) touches(ctx context.Context, s *table.Snapshot, at place) (bool, error) {
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

// version returns the name of the partition's content for receipts and conditions:
//   - the token of the put whose rows the partition has;
//   - a digest of the files' names, when somebody else has changed the rows;
//   - "", when there are no files, or the put that they come from can't be found any more.
func (s state) version() string {
	switch {
	case s.holding == nil:
		return ""
	case s.foreign:
		return s.holding.digest()
	}
	return s.stamp.token
}

// meets reports whether a put with this condition may replace the state. When files were rewritten
// so long ago that no snapshot shows which put they come from, any version in the condition counts
// as theirs.
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
