package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/sinks"
)

// readBackSink reads back the parts that one sink has receipts for.
func (c *checker) readBackSink(ctx context.Context, job jobs.Job, t *ledger.Table, shapes map[string]ledger.Shape,
	target ledger.Target, parts sinks.Reader) error {
	name := target.Name
	held := heldBy(t.Sorted(), target)
	differs := make([]string, len(held)) // what is wrong with each entry; empty when nothing is
	var broken error
	var mu sync.Mutex
	g := &errgroup.Group{}
	g.SetLimit(4) // each part is copied to the spool folder as a whole
	for i, e := range held {
		g.Go(func() error {
			text, err := "", partition.ReadBack(ctx, parts, c.Spool, job.Table, e, shapes[e.Shape], nil)
			if other := (*partition.NotAsRecorded)(nil); errors.As(err, &other) {
				text, err = other.Why, nil
			}
			mu.Lock()
			defer mu.Unlock()
			differs[i], broken = text, errors.Join(broken, err)
			return nil
		})
	}
	_ = g.Wait() // the functions return none; their errors are in broken
	if broken != nil {
		return broken
	}
	var wrong []partition.Discrepancy
	for i, text := range differs {
		if text != "" {
			wrong = append(wrong, partition.Discrepancy{Partition: held[i].Partition, Text: text})
		}
	}
	if len(wrong) == 0 {
		fmt.Fprintf(c.out, "%s in %s: %s, as recorded\n", job.Name, name, text.Plural(len(held), "part"))
		return c.writeUnrecorded(ctx, job, held, target, parts)
	}
	title := fmt.Sprintf("%d of %s not as recorded", len(wrong), text.Plural(len(held), "part"))
	c.differences(job, target, title, wrong, 0,
		"to put one again:\n    reportferry backfill "+job.Name+" --from DAY --to DAY --force")
	return c.writeUnrecorded(ctx, job, held, target, parts)
}

// writeUnrecorded lists the files below the table's prefix that no record names. Readers take them
// for parts, so that their rows count twice.
func (c *checker) writeUnrecorded(ctx context.Context, job jobs.Job, held []ledger.Record, target ledger.Target,
	store sinks.Reader) error {
	name := target.Name
	objects, err := store.List(ctx, job.Table)
	if err != nil {
		return err
	}
	recorded := map[string]bool{}
	for _, e := range held {
		for _, r := range e.Receipts {
			if target.Gave(r) {
				recorded[r.Key] = true
			}
		}
	}
	var keys []string
	parts := false // whether some files are where this program would put parts
	for _, o := range objects {
		if !recorded[o.Key] {
			keys = append(keys, o.Key)
			parts = parts || o.Partition != civil.Date{}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	c.wrong += len(keys)
	fmt.Fprintf(c.out, "%s in %s: %s that no record names\n", job.Name, name, text.Plural(len(keys), "file"))
	for i, key := range keys {
		if i == 5 {
			fmt.Fprintf(c.out, "  and %d more\n", len(keys)-i)
			break
		}
		fmt.Fprintf(c.out, "  %s\n", terminal.Line(key))
	}
	if len(held) == 0 {
		fmt.Fprintf(c.out, "  another config may fill this table; what a run would do:\n    reportferry plan %s%s\n",
			job.Name, c.configFlag)
	} else if parts {
		fmt.Fprintf(c.out, "  to fetch their days again, and record them:\n    reportferry backfill %s --from DAY "+
			"--to DAY%s\n", job.Name, c.configFlag)
	}
	return nil
}
