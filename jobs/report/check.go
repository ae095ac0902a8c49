package report

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs"
)

// A Comparison holds what the service says of a partition now against its record.
type Comparison struct {
	Partition civil.Date
	Recorded  jobs.Entry
	Rows      int64
	Same      bool
	Err       error // it couldn't be fetched
}

// Compare fetches up to n partitions again, chosen by dice among those that the service restates no more, and publishes
// nothing. An error is of the ledger; those of partitions are in their comparisons.
func (k *Kind) Compare(ctx context.Context, now time.Time, n int, dice *rand.Rand) ([]Comparison, error) {
	if err := k.settle(ctx, now); err != nil {
		return nil, err
	}
	settled := slices.DeleteFunc(k.table.Sorted(), func(e jobs.Entry) bool {
		return e.State != jobs.Written && e.State != jobs.Empty || !k.rules.Settled(now, e)
	})
	dice.Shuffle(len(settled), func(i, j int) { settled[i], settled[j] = settled[j], settled[i] })
	chosen := settled[:min(n, len(settled))]
	slices.SortFunc(chosen, func(a, b jobs.Entry) int { return a.Partition.Compare(b.Partition) })
	var m adjust.Meter
	f := &fetch{Kind: k, client: k.o.Client.Metered(&m)}
	var err error
	if f.cols, err = k.resolve(ctx, f.client); err != nil {
		return nil, err
	}
	var out []Comparison
	for _, e := range chosen {
		out = append(out, f.compare(ctx, e))
	}
	return out, nil
}

func (f *fetch) compare(ctx context.Context, e jobs.Entry) Comparison {
	c := Comparison{Partition: e.Partition, Recorded: e}
	a, err := f.ask(ctx, []civil.Date{e.Partition})
	if err != nil {
		c.Err = fmt.Errorf("fetch %s/%s: %w", f.o.Table, e.Partition, err)
		return c
	}
	part := a.parts[0]
	_ = os.Remove(part.Path) // its content isn't needed
	c.Rows, c.Same = part.Rows, part.Rows == e.Rows && (part.Rows == 0 || part.Hash == e.Hash)
	return c
}

// A Disagreement is a metric whose kind the service's own list gives otherwise than the table has it.
type Disagreement struct {
	Metric     string
	Type       catalog.Type // of the column
	Formatting string       // the service's word
}

// Disagreements holds the metrics of the config against the service's list of metrics, by slug its formatting. What it
// doesn't list is passed over.
func (k *Kind) Disagreements(formatting map[string]string) []Disagreement {
	var out []Disagreement
	for _, c := range k.fixed {
		word, listed := formatting[c.Source]
		if c.Dimension || !listed {
			continue
		}
		if typ, known := catalog.ForFormatting(word); known && typ != c.Type {
			out = append(out, Disagreement{c.Source, c.Type, word})
		}
	}
	return out
}
