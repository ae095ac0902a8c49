package outbox

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
	folder *ledger.Folder
}

// OpenTable opens the pushes of a table. Nothing is read yet.
func OpenTable(l *ledger.Ledger, table string) *Table {
	return &Table{l.Folder(table, "outbox", "what it says was sent would be sent again")}
}

// Location says where the records of a push are, for people.
func (t *Table) Location(p *push) string { return t.folder.Location(p.recordsKey()) }

// errGone: an object isn't there though others need it.
var errGone = errors.New("it is gone")

// list gives the pushes of the table, by the time they started, without their content.
func (t *Table) list(ctx context.Context) (pushes []*push, err error) {
	keys, err := t.folder.Keys(ctx, "")
	if err != nil {
		return nil, err
	}
	byID := map[string]*push{}
	for _, key := range keys {
		id, name, _ := strings.Cut(key, "/")
		p := byID[id]
		if p == nil {
			p = &push{id: id}
			byID[id] = p
		}
		p.last = max(p.last, ledger.NumberOf(key))
		p.records = p.records || name == "records"
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		switch p := byID[id]; {
		case p.last > 0:
			pushes = append(pushes, p)
		case p.records: // every push has a segment before it has records
			return nil, t.folder.Damaged(id+"/*.json", fmt.Errorf("%w, and %s is all that is left of a push", errGone, p.recordsKey()))
		}
	}
	return pushes, nil
}

// pushes reads all pushes of the table, and tells apart those that ended before anything was sent: orphans, but for what is
// told of a file that is refused. Another process may go on meanwhile.
func (t *Table) pushes(ctx context.Context) (pushes, orphans []*push, err error) {
	const tries = 5 // segments may be replaced by a whole one between the listing and the reading
	for range tries {
		if pushes, err = t.list(ctx); err == nil {
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
	pushes = slices.DeleteFunc(pushes, func(p *push) bool {
		if p.head.Sum == "" {
			orphans = append(orphans, p)
		}
		return p.head.Sum == ""
	})
	newest := map[string]*push{}
	for _, p := range pushes {
		newest[p.head.Name] = p
	}
	for _, p := range newest {
		p.newest = true
	}
	return pushes, orphans, nil
}

// read reads a segment, which last needs when it is another one.
func (t *Table) read(ctx context.Context, p *push, n int, s *segment) error {
	err := t.folder.Read(ctx, p.key(n), s)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return t.folder.Damaged(p.key(n), fmt.Errorf("%w, and %s was there after it", errGone, p.key(p.last)))
	}
	return err
}

// load reads the segments of a push.
func (t *Table) load(ctx context.Context, p *push) error {
	var last segment
	if err := t.read(ctx, p, p.last, &last); err != nil {
		return err
	}
	p.base = last.Base
	read := make([]segment, p.last-p.base+1)
	if p.base < 1 || p.base > p.last {
		return t.folder.Damaged(p.key(p.last), fmt.Errorf("it adds to segment %d", p.base))
	}
	read[p.last-p.base] = last
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for n := p.base; n < p.last; n++ {
		g.Go(func() error { return t.read(gctx, p, n, &read[n-p.base]) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if read[0].Head == nil {
		return t.folder.Damaged(p.key(p.base), fmt.Errorf("%s adds to it, and it isn't whole", p.key(p.last)))
	}
	p.head = *read[0].Head
	if p.head.Sum == "" {
		return nil
	}
	if !p.records && !p.head.Pruned {
		return t.folder.Damaged(p.recordsKey(), fmt.Errorf("%w, and %s needs it", errGone, p.key(p.last)))
	}
	p.words, p.sums = map[int64]Words{}, map[string]Sum{}
	if p.done() && p.base == p.last {
		p.spans = read[0].Spans
		p.take(read[0])
		return nil
	}
	p.states = &states{}
	for i, s := range read {
		if err := p.states.apply(s.Spans); err != nil {
			return t.folder.Damaged(p.key(p.base+i), err)
		}
		p.take(s)
	}
	p.doubt()
	return nil
}

// done tells whether the states of the records needn't be known: each was accepted.
func (p *push) done() bool {
	return !p.open() && (p.head.Pruned || p.head.Counts.Accepted == p.head.Records)
}

// doubt marks what the end of the process left open. Rows that waited weren't sent, and wait no more; those that an earlier
// version had reserved may have been.
func (p *push) doubt() {
	for row := int64(1); row <= p.states.rows; row++ {
		switch now := p.states.get(row); {
		case now == waiting:
			p.states.set(row, pending)
		case row <= p.reserved && now&^doubt == pending:
			p.states.set(row, unknown)
		}
	}
	p.reserved = 0
}
