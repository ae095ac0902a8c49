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
	changed kept[[]ledger.Record] // of partitions that have changed lately
	newest  kept[[]ledger.Record] // of the newest partitions

	mu    sync.Mutex
	older map[civil.Date]*kept[[]ledger.Record] // of some other partitions
}

// mostOlder is how many older partitions are kept before all of them are forgotten.
const mostOlder = 100

// changed is the history of a job's partitions that have changed lately.
func (c *Console) changed(ctx context.Context, s sight, j Job) ([]ledger.Record, error) {
	return c.pasts[j.Name].changed.get(s.now, c.o.Age, func() ([]ledger.Record, error) {
		table, err := c.o.Ledger.Table(context.WithoutCancel(ctx), j.Table)
		if err != nil {
			return nil, err
		}
		return table.Changed(context.WithoutCancel(ctx), s.now.Add(-lately))
	})
}

// history is every content that a partition of a job has had. That of the newest ones is read at once, because whoever looks at one
// of them looks at others.
func (c *Console) history(ctx context.Context, s sight, j seen, partition civil.Date) (list []ledger.Record, err error) {
	p := c.pasts[j.Name]
	var of *kept[[]ledger.Record]
	var from, until civil.Date
	if first := newestFrom(j.look.Calendar); !partition.Before(first) {
		of, from = &p.newest, first
	} else {
		of, from, until = p.one(partition), partition, partition.AddDays(1)
	}
	all, err := of.get(s.now, c.o.Age, func() ([]ledger.Record, error) {
		table, err := c.o.Ledger.Table(context.WithoutCancel(ctx), j.Table)
		if err != nil {
			return nil, err
		}
		return table.History(context.WithoutCancel(ctx), from, until)
	})
	for _, e := range all {
		if e.Partition == partition {
			list = append(list, e)
		}
	}
	return list, err
}

// newestFrom is the first of the newest partitions, which have a page in an export.
func newestFrom(all []refresh.Entry) civil.Date {
	return all[max(0, len(all)-newestPages)].Partition
}

func (p *past) one(partition civil.Date) *kept[[]ledger.Record] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.older == nil || len(p.older) > mostOlder {
		p.older = map[civil.Date]*kept[[]ledger.Record]{}
	}
	if p.older[partition] == nil {
		p.older[partition] = &kept[[]ledger.Record]{}
	}
	return p.older[partition]
}
