package console

import (
	"context"
	"sync"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// lately is how long ago the numbers are that today's are held against.
const lately = 24 * time.Hour

// A past keeps what was read of the history of one job's table.
type past struct {
	changed kept[contents] // of partitions that have changed lately
	newest  kept[contents] // of the newest partitions

	mu    sync.Mutex
	older map[civil.Date]*kept[contents] // of some other partitions
}

// contents are a history, and those of its contents whose numbers mean something else than those before, so that they aren't compared.
type contents struct {
	records     []ledger.Record
	rebaselined []refresh.Change
}

// mostOlder is how many older partitions are kept before all of them are forgotten.
const mostOlder = 100

// changed is the history of a job's partitions that have changed lately.
func (c *Console) changed(ctx context.Context, s sight, j Job) (contents, error) {
	return c.pasts[j.Name].changed.get(s.now, c.o.Age, func() (contents, error) {
		return c.contents(ctx, j, func(ctx context.Context, t *ledger.Table) ([]ledger.Record, error) {
			return t.Changed(ctx, s.now.Add(-lately))
		})
	})
}

// contents reads contents of a job's table. A reader who goes away doesn't spoil what others wait for.
func (c *Console) contents(ctx context.Context, j Job, read func(context.Context, *ledger.Table) ([]ledger.Record, error)) (all contents, err error) {
	ctx = context.WithoutCancel(ctx)
	table, err := c.o.Ledger.Table(ctx, j.Table)
	if err != nil {
		return all, err
	}
	if all.records, err = read(ctx, table); err != nil {
		return all, err
	}
	all.rebaselined, err = refresh.Rebaselined(all.records, func(e ledger.Record) (ledger.Shape, error) { return table.ShapeOf(ctx, e) })
	return all, err
}

// history is every content that a partition of a job has had. That of the newest ones is read at once, because whoever looks at one
// of them looks at others.
func (c *Console) history(ctx context.Context, s sight, j seen, partition civil.Date) (contents, error) {
	p := c.pasts[j.Name]
	var of *kept[contents]
	var from, until civil.Date
	if first := newestFrom(j.look.Calendar); !partition.Before(first) {
		of, from = &p.newest, first
	} else {
		of, from, until = p.one(partition), partition, partition.AddDays(1)
	}
	all, err := of.get(s.now, c.o.Age, func() (contents, error) {
		return c.contents(ctx, j.Job, func(ctx context.Context, t *ledger.Table) ([]ledger.Record, error) {
			return t.History(ctx, from, until)
		})
	})
	one := contents{rebaselined: all.rebaselined}
	for _, e := range all.records {
		if e.Partition == partition {
			one.records = append(one.records, e)
		}
	}
	return one, err
}

// newestFrom is the first of the newest partitions, which have a page in an export.
func newestFrom(all []refresh.Entry) civil.Date {
	return all[max(0, len(all)-newestPages)].Partition
}

func (p *past) one(partition civil.Date) *kept[contents] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.older == nil || len(p.older) > mostOlder {
		p.older = map[civil.Date]*kept[contents]{}
	}
	if p.older[partition] == nil {
		p.older[partition] = &kept[contents]{}
	}
	return p.older[partition]
}
