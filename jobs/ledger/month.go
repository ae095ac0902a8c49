package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/errgroup"
)

// monthOf names a month, as history does.
func monthOf(at time.Time) string { return at.UTC().Format("2006-01") }

// months names the months of which there is history, ascending.
func (t *Table) months(ctx context.Context) ([]string, error) {
	keys, err := t.ledger.list(ctx, t.prefix("history"))
	for i, key := range keys {
		keys[i] = path.Base(path.Dir(key))
	}
	return slices.Compact(keys), err
}

// month reads the history of a month, and the number of the object that has it; 0: there is none.
func (t *Table) month(ctx context.Context, month string) (n int, lines []Record, err error) {
	prefix := t.prefix("history") + month + "/"
	const tries = 5 // a newer one may have replaced it between the listing and the reading
	for range tries {
		var keys []string
		if keys, err = t.ledger.list(ctx, prefix); err != nil {
			return 0, nil, err
		}
		if n = highest(keys); n == 0 {
			return 0, nil, nil
		}
		if err = t.ledger.read(ctx, fmt.Sprintf("%s%06d.json", prefix, n), &lines); !isNotFound(err) {
			break
		}
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		damaged.Lacks = lacksHistory
	}
	return n, lines, err
}

// readMonth adds the history of a month as far as it is of these partitions.
func (t *Table) readMonth(ctx context.Context, had contents, month string, within func(civil.Date) bool) error {
	_, lines, err := t.month(ctx, month)
	had.add(slices.DeleteFunc(lines, func(e Record) bool { return !within(e.Partition) }))
	return err
}

// archive adds records to the history of the months in which they were fetched. Partition and number identify a line, and one that is
// there already stays. It answers false when another process was faster with a month, and has then left that month as it is.
func (t *Table) archive(ctx context.Context, records []Record) (done bool, err error) {
	of := map[string]contents{}
	for _, e := range records {
		month := monthOf(e.Fetched)
		if at := e.decided(); at.After(e.Fetched) {
			month = monthOf(at)
		}
		if of[month] == nil {
			of[month] = contents{}
		}
		of[month].add([]Record{e})
	}
	var outrun atomic.Bool
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for month, lines := range of {
		g.Go(func() error {
			holds, err := t.archiveMonth(ctx, month, lines)
			if !holds {
				outrun.Store(true)
			}
			return err
		})
	}
	err = g.Wait()
	return err == nil && !outrun.Load(), err
}

func (t *Table) archiveMonth(ctx context.Context, month string, lines contents) (holds bool, err error) {
	n, there, err := t.month(ctx, month)
	if err != nil {
		return false, err
	}
	all := contents{}
	all.add(there)
	all.add(slices.Concat(slices.Collect(maps.Values(lines))...))
	var list []Record
	for _, partition := range slices.SortedFunc(maps.Keys(all), civil.Date.Compare) {
		list = append(list, all[partition]...)
	}
	if len(list) == len(there) {
		return true, nil // a fold that was cut short goes on
	}
	err = t.ledger.compact(ctx, t.prefix("history")+month+"/", n+1, list, func() error {
		holds = true
		return nil
	})
	return holds, err
}

// forget drops whole months that are older than history is kept, by the store's clock.
func (t *Table) forget(ctx context.Context) error {
	if t.ledger.keep == 0 {
		return nil
	}
	now, err := t.ledger.now(ctx)
	if err != nil {
		return err
	}
	keys, err := t.ledger.list(ctx, t.prefix("history"))
	if err != nil {
		return err
	}
	for _, key := range keys {
		begin, err := time.Parse("2006-01", path.Base(path.Dir(key)))
		if err != nil || begin.AddDate(0, 1, 0).Add(t.ledger.keep).After(now) {
			continue
		}
		if err := t.ledger.drop(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
