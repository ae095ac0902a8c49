package console

import (
	"context"
	"sync"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// comparedAge is the age of the numbers with which the pages compare today's.
const comparedAge = 24 * time.Hour

// A historyCache keeps what was read of the history of one job's table.
type historyCache struct {
	changed cachedValue[tableHistory] // of partitions that have changed lately
	newest  cachedValue[tableHistory] // of the newest partitions

	mu    sync.Mutex
	older map[civil.Date]*cachedValue[tableHistory] // of some other partitions
}

// A tableHistory has records of a table, and the changes after which its numbers mean something
// else than before, so that they aren't compared.
type tableHistory struct {
	records     []ledger.Record
	rebaselined []refresh.Change
}

// mostOlder is how many older partitions are kept before all of them are forgotten.
const mostOlder = 100

// changed returns the history of a job's partitions that have changed lately.
func (c *Console) changed(ctx context.Context, s snapshot, j Job) (tableHistory, error) {
	return c.histories[j.Name].changed.get(s.now, c.o.Age, func() (tableHistory, error) {
		return c.readHistory(ctx, j, func(ctx context.Context, t *ledger.Table) ([]ledger.Record, error) {
			return t.Changed(ctx, s.now.Add(-comparedAge))
		})
	})
}

// readHistory reads a part of the history of a job's table. It goes on when ctx is cancelled,
// because others may wait for the result.
func (c *Console) readHistory(ctx context.Context, j Job, read func(context.Context, *ledger.Table) ([]ledger.Record,
	error)) (all tableHistory, err error) {
	ctx = context.WithoutCancel(ctx)
	table, err := c.o.Ledger.Table(ctx, j.Table)
	if err != nil {
		return all, err
	}
	if all.records, err = read(ctx, table); err != nil {
		return all, err
	}
	all.rebaselined, err = refresh.Rebaselined(all.records, func(e ledger.Record) (ledger.Shape,
		error) {
		return table.ShapeOf(ctx, e)
	})
	return all, err
}

// history returns every content that a partition of a job has had. The history of all newest
// partitions is read at once, because whoever looks at one of them looks at others.
func (c *Console) history(ctx context.Context, s snapshot, j JobStatus, partition civil.Date) (tableHistory, error) {
	p := c.histories[j.Name]
	var entry *cachedValue[tableHistory]
	var from, until civil.Date // the range that is read; a zero until has no end
	if first := newestFrom(j.State.Calendar); !partition.Before(first) {
		entry, from = &p.newest, first
	} else {
		entry, from, until = p.entry(partition), partition, partition.AddDays(1)
	}
	all, err := entry.get(s.now, c.o.Age, func() (tableHistory, error) {
		return c.readHistory(ctx, j.Job, func(ctx context.Context, t *ledger.Table) ([]ledger.Record, error) {
			return t.History(ctx, from, until)
		})
	})
	one := tableHistory{rebaselined: all.rebaselined}
	for _, e := range all.records {
		if e.Partition == partition {
			one.records = append(one.records, e)
		}
	}
	return one, err
}

// newestFrom returns the first of the newest partitions, which have a page in an export.
func newestFrom(all []refresh.Entry) civil.Date {
	return all[max(0, len(all)-newestPages)].Partition
}

// entry returns the cached history of an older partition, which may not be read yet.
func (p *historyCache) entry(partition civil.Date) *cachedValue[tableHistory] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.older == nil || len(p.older) >= mostOlder {
		p.older = map[civil.Date]*cachedValue[tableHistory]{}
	}
	if p.older[partition] == nil {
		p.older[partition] = &cachedValue[tableHistory]{}
	}
	return p.older[partition]
}
