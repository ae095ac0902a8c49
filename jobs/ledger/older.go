package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// mostHistory is how many bytes of history a month keeps in its document by default. A table by the
// hour that is fetched each hour has megabytes of history, and each commit writes the whole
// document.
var mostHistory = 256 << 10

// An olderHistory is an object with history for which a month had no room. It is created once,
// under a unique name, and is valid once the month names it. Its name contains the day of its last
// record.
type olderHistory struct {
	Lines  records          `json:"lines"`
	Shapes map[string]Shape `json:"shapes"` // the shapes that Lines name, by ID
}

// archive moves the history of a month into an object of its own when there is too much of it. The
// object is written before the month names it, and the month drops those records in the same swap.
func (t *Table) archive(ctx context.Context, name string, d *Document[month]) error {
	m, size := d.Last(), d.Size()
	lines := m.History
	if len(lines) == 0 || size*len(lines)/(len(lines)+len(m.Records)) <= cmp.Or(t.ledger.history, mostHistory) {
		return nil
	}
	// Write the object, named by the day of its last record.
	last := lines[0]
	for _, e := range lines {
		if e.lastRecorded().After(last.lastRecorded()) {
			last = e
		}
	}
	key := fmt.Sprintf("%s%s.%s.%s.json", t.prefix("history"), name, last.lastRecorded().UTC().Format(time.DateOnly),
		rand.Text())
	if created, err := t.ledger.CreateOnce(ctx, key, olderHistory{lines, m.Shapes}); err != nil || !created {
		return err
	}
	moved := map[string]bool{}
	for _, e := range lines {
		moved[lineID(e)] = true
	}
	// Name it in the month, and drop its records there.
	err := d.Change(ctx, Change[month]{
		Apply: func(m *month) error {
			had := len(m.History)
			if m.drop(func(e Record) bool { return moved[lineID(e)] }); had-len(m.History) < len(moved) {
				return errMoved // another process has moved some of them, and they would be in two objects
			}
			m.Older = append(m.Older, key)
			return nil
		},
		Done: func(m *month) bool { return slices.Contains(m.Older, key) },
	})
	if errors.Is(err, errMoved) {
		return t.ledger.store.Delete(ctx, key)
	}
	return err
}

// errMoved says that archive must not name its object, because history would be in two objects.
var errMoved = errors.New("another process has moved the history")

// lineID returns a key for a record within a table.
func lineID(e Record) string { return fmt.Sprint(e.Partition, " ", e.Seq) }

// readOlder reads the records in the objects that a month names. If one of them can't be read, the
// month counts as damaged, because a reader would otherwise take the rest for the whole history.
func (t *Table) readOlder(ctx context.Context, name string, keys []string) ([]Record, error) {
	read := make([]olderHistory, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, key := range keys {
		g.Go(func() error {
			var err error
			read[i], err = ReadOnce[olderHistory](ctx, t.ledger, key, "")
			var damaged *DamagedError
			switch {
			case errors.Is(err, fs.ErrNotExist):
				damaged = &DamagedError{Location: t.ledger.location(key),
					Err: fmt.Errorf("%s names it", t.monthKey(name)), Gone: true}
			case !errors.As(err, &damaged):
				return err
			}
			damaged.With = t.ledger.location(t.monthKey(name)) + " and " + t.ledger.location(t.monthKey(indexName))
			return damaged
		})
	}
	err := g.Wait()
	var lines []Record
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range read {
		lines = append(lines, o.Lines...)
		t.addNamed(o.Shapes, nil)
	}
	return lines, err
}

// dropOldHistory drops history that is older than Options.KeepHistory, by the store's clock.
func (t *Table) dropOldHistory(ctx context.Context) error {
	if t.ledger.keepHistory == 0 {
		return nil
	}
	now, _, err := t.ledger.store.Now(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBucket, err)
	}
	// Find the months that have such history.
	until := now.Add(-t.ledger.keepHistory)
	t.mu.Lock()
	var names []string
	for name, m := range t.months {
		if !m.oldest.IsZero() && m.oldest.Before(until) || len(m.older) > 0 && endOf(m.older[0]).Before(until) {
			names = append(names, name)
		}
	}
	t.mu.Unlock()
	for _, name := range names {
		if _, err := t.readMonth(ctx, name); err != nil {
			return err
		}
		var over []string // keys of the objects that are dropped as a whole
		err := t.document(name).Change(ctx, Change[month]{Apply: func(m *month) error {
			if err := t.ready(name, m); err != nil {
				return err
			}
			m.drop(func(e Record) bool { return e.lastRecorded().Before(until) })
			over = nil
			m.Older = slices.DeleteFunc(m.Older, func(key string) bool {
				old := endOf(key).Before(until)
				if old {
					over = append(over, key)
				}
				return old
			})
			return nil
		}})
		if err == nil {
			err = t.ledger.store.Delete(ctx, over...)
		}
		if err != nil {
			return err
		}
		t.takeDocument(name)
	}
	return nil
}

// endOf returns the end of the day of the last record in an object of history.
func endOf(key string) time.Time {
	_, rest, _ := strings.Cut(path.Base(key), ".")
	day, _, _ := strings.Cut(rest, ".")
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Now() // a foreign name; the object isn't old
	}
	return at.AddDate(0, 0, 1)
}
