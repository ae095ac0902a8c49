package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Table is what is kept of the pushes of one table, in a folder of the ledger.
type Table struct {
	Folder *ledger.Folder
}

// Folder is the name of that folder.
const Folder = "outbox"

// Open opens the pushes of a table. Nothing is read yet.
func Open(l *ledger.Ledger, table string) *Table {
	return &Table{l.Folder(table, Folder, "what it says was sent would be sent again")}
}

// Location says where the records of a push are, for people.
func (t *Table) Location(p *Push) string { return t.Folder.Location(p.RecordsKey()) }

// errGone: an object isn't there though others need it.
var errGone = errors.New("it is gone")

// List gives the pushes of the table, by the time they started, without their content.
func (t *Table) List(ctx context.Context) (pushes []*Push, err error) {
	keys, err := t.Folder.Keys(ctx, "")
	if err != nil {
		return nil, err
	}
	byID := map[string]*Push{}
	for _, key := range keys {
		id, name, _ := strings.Cut(key, "/")
		p := byID[id]
		if p == nil {
			p = &Push{ID: id}
			byID[id] = p
		}
		p.Last = max(p.Last, ledger.NumberOf(key))
		p.Records = p.Records || name == "records"
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		switch p := byID[id]; {
		case p.Last > 0:
			pushes = append(pushes, p)
		case p.Records: // every push has a segment before it has records
			return nil, t.Folder.Damaged(id+"/*.json", fmt.Errorf("%w, and %s is all that is left of a push", errGone, p.RecordsKey()))
		}
	}
	return pushes, nil
}

// Pushes reads all pushes of the table, the oldest first. Orphans ended before anything was sent: of a process that was killed
// as it began, or of a file that was refused. Another process may write more segments meanwhile.
func (t *Table) Pushes(ctx context.Context) (pushes, orphans []*Push, err error) {
	const tries = 5 // segments may be replaced by a whole one between the listing and the reading
	for range tries {
		if pushes, err = t.List(ctx); err == nil {
			g, gctx := errgroup.WithContext(ctx)
			g.SetLimit(8)
			for _, p := range pushes {
				g.Go(func() error { return t.load(gctx, p) })
			}
			err = g.Wait()
		}
		if !errors.Is(err, errGone) {
			break
		}
	}
	if err != nil {
		return nil, nil, err
	}
	pushes = slices.DeleteFunc(pushes, func(p *Push) bool {
		if p.Head.Sum == "" {
			orphans = append(orphans, p)
		}
		return p.Head.Sum == ""
	})
	newest := map[string]*Push{}
	for _, p := range pushes {
		newest[p.Head.Name] = p
	}
	for _, p := range newest {
		p.Newest = true
	}
	return pushes, orphans, nil
}

// read reads a segment. One that isn't there though a later one is means that the push is damaged, or is being folded.
func (t *Table) read(ctx context.Context, p *Push, n int, s *Segment) error {
	err := t.Folder.Read(ctx, p.Key(n), s)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return t.Folder.Damaged(p.Key(n), fmt.Errorf("%w, and %s was there after it", errGone, p.Key(p.Last)))
	}
	return err
}

// load reads the segments of a push.
func (t *Table) load(ctx context.Context, p *Push) error {
	var last Segment
	if err := t.read(ctx, p, p.Last, &last); err != nil {
		return err
	}
	p.Base = last.Base
	read := make([]Segment, p.Last-p.Base+1)
	if p.Base < 1 || p.Base > p.Last {
		return t.Folder.Damaged(p.Key(p.Last), fmt.Errorf("it adds to segment %d", p.Base))
	}
	read[p.Last-p.Base] = last
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for n := p.Base; n < p.Last; n++ {
		g.Go(func() error { return t.read(gctx, p, n, &read[n-p.Base]) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if read[0].Head == nil {
		return t.Folder.Damaged(p.Key(p.Base), fmt.Errorf("%s adds to it, and it isn't whole", p.Key(p.Last)))
	}
	p.Head = *read[0].Head
	if p.Head.Sum == "" {
		return nil
	}
	if !p.Records && !p.Head.Pruned {
		return t.Folder.Damaged(p.RecordsKey(), fmt.Errorf("%w, and %s needs it", errGone, p.Key(p.Last)))
	}
	p.Words, p.Sums = map[int64]Words{}, map[string]Sum{}
	if p.done() && p.Base == p.Last {
		p.Spans = read[0].Spans
		p.Take(read[0])
		return nil
	}
	p.States = &States{}
	for i, s := range read {
		if err := p.States.Apply(s.Spans); err != nil {
			return t.Folder.Damaged(p.Key(p.Base+i), err)
		}
		p.Take(s)
	}
	p.doubt()
	return nil
}

// done tells whether the states of single rows needn't be read: the push has ended, and each of its records was accepted.
func (p *Push) done() bool {
	return !p.Open() && (p.Head.Pruned || p.Head.Counts.Accepted == p.Head.Records)
}

// doubt marks what the end of a process has left open. Rows that waited weren't sent, and are pending; rows that an earlier
// version of this program had reserved may have been sent.
func (p *Push) doubt() {
	for row := int64(1); row <= p.States.Rows; row++ {
		switch now := p.States.Get(row); {
		case now == Waiting:
			p.States.Set(row, Pending)
		case row <= p.reserved && now&^Doubt == Pending:
			p.States.Set(row, Unknown)
		}
	}
	p.reserved = 0
}
