package icesink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"
)

const (
	// mostManifests is how many manifests a table may have before they are merged. Each commit adds
	// one or two, and the planning of a query reads all that the query's filter doesn't exclude.
	mostManifests = 32

	// maintainTime bounds one call of maintain. What it doesn't finish is done after the next
	// commit.
	maintainTime = 2 * time.Minute

	// expireEvery is how much older than the config says a snapshot may be before any is removed,
	// so that snapshots are removed once a day and not with every commit.
	expireEvery = 24 * time.Hour
)

// maintain does the maintenance of a table after a commit. It merges the table's manifests when
// there are many, and removes snapshots that are older than the config keeps them, with the files
// that only they have. A failure does no harm, and is a warning.
func (c *committer) maintain(ctx context.Context, done []*put) {
	ctx, stop := context.WithTimeout(ctx, maintainTime)
	defer stop()
	for _, step := range []func(context.Context, *loadedTable, *put) (*table.Table, error){merge, expire} {
		t := c.cached()
		if t == nil {
			return
		}
		made, err := step(ctx, t, done[0])
		switch {
		case errors.Is(err, table.ErrCommitFailed): // another commit was faster
			c.setCached(nil)
		case err != nil:
			c.setCached(nil)
			if warn := done[0].part.Warn; warn != nil && done[0].ctx.Err() == nil {
				warn(fmt.Errorf("tend the table %s in %s: %w", c.name, c.sink.url, c.sink.explain(err)))
			}
		case made != nil:
			c.setCached(&loadedTable{Table: made, files: t.files, byPlace: t.byPlace}) // neither step changes rows
		}
	}
}

// merge merges the table's manifests when there are many. It returns nil when it changed nothing.
func merge(ctx context.Context, t *loadedTable, _ *put) (*table.Table, error) {
	lists, err := t.CurrentSnapshot().Manifests(t.files)
	if err != nil || len(lists) < mostManifests {
		return nil, err
	}
	tx := t.NewTransaction()
	if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
		return nil, err
	}
	result, err := tx.RewriteManifests(ctx)
	if err != nil || result.IsNoOp() {
		return nil, err
	}
	made, err := tx.Commit(ctx)
	if err != nil {
		return nil, fmt.Errorf("write its %d manifests together: %w", len(lists), err)
	}
	return made, nil
}

// expire removes old snapshots. It returns nil when it changed nothing.
func expire(ctx context.Context, t *loadedTable, p *put) (*table.Table, error) {
	keep := p.part.Schema.History
	if keep <= 0 || t.Properties()["gc.enabled"] == "false" {
		return nil, nil
	}
	old := time.Now().Add(-keep - expireEvery).UnixMilli()
	for _, s := range t.Metadata().Snapshots() {
		if s.TimestampMs >= old {
			continue
		}
		tx := t.NewTransaction()
		if err := tx.ExpireSnapshots(table.WithOlderThan(keep), table.WithRetainLast(1)); err != nil {
			return nil, err
		}
		made, err := tx.Commit(ctx)
		if err != nil {
			return nil, fmt.Errorf("remove snapshots older than %s: %w", keep, err)
		}
		return made, nil
	}
	return nil, nil
}
