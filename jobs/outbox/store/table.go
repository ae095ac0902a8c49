package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// folder contains the documents of all tables, and next to each a folder with its segments and
// records.
const folder = "pushes/"

// ifDeleted says, for error messages, what happens if an object is deleted.
const ifDeleted = "what it says was sent would be sent again"

// parallelReads is how many segments are read at once.
const parallelReads = 8

// A Table keeps the pushes of one table: a document, and next to it a log of segments.
type Table struct {
	ledger *ledger.Ledger
	doc    *ledger.Document[content]
	name   string
}

// A content is the content of the table's document.
type content struct {
	Lease    *holder `json:"lease,omitempty"`
	Segments int     `json:"segments"` // number of the last segment that Files includes
	Files    []Head  `json:"files"`    // in the order in which their pushes began
}

// A holder is the run that has the lease.
type holder struct {
	Token string    `json:"token"`
	Run   string    `json:"run"`
	Until time.Time `json:"until"` // by the store's clock
}

// Open opens the pushes of a table. Nothing is read yet.
func Open(l *ledger.Ledger, table string) *Table {
	return &Table{l, ledger.NewDocument[content](l, folder+table+".json", ifDeleted), table}
}

// Tables returns the tables of a ledger that have pushes.
func Tables(ctx context.Context, l *ledger.Ledger) (tables []string, err error) {
	objects, err := l.Store().List(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ledger.ErrBucket, err)
	}
	for _, o := range objects {
		if table, is := strings.CutSuffix(strings.TrimPrefix(o.Key, folder), ".json"); is &&
			!strings.Contains(table, "/") {
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// key returns the key of segment n.
func (t *Table) key(n int) string { return fmt.Sprintf("%s%s/%06d.json", folder, t.name, n) }

// recordsKey returns the key of the object with the records of a push.
func (t *Table) recordsKey(p *Push) string { return folder + t.name + "/" + p.Head.ID + ".records" }

// damaged returns the error for an object that can't be trusted.
func (t *Table) damaged(key string, why error) error { return t.ledger.Damaged(key, ifDeleted, why) }

// errGone says that an object is missing though others need it.
var errGone = errors.New("it is gone")

// gone returns the error for a missing object; why says how it is known to have existed.
func (t *Table) gone(key, why string) error {
	return t.damaged(key, fmt.Errorf("%w, and %s", errGone, why))
}

// Pushes reads all pushes of the table, in the order in which they began, and the states of rows
// for those that deep accepts. Another process may meanwhile add segments and drop old ones; if one
// is missing therefore, Pushes reads again, three times in all.
func (t *Table) Pushes(ctx context.Context, deep func(*Push) bool) (pushes []*Push, err error) {
	for range 3 {
		var c content
		if c, err = t.load(ctx); err == nil {
			pushes, _, err = t.read(ctx, c, deep)
		}
		if !errors.Is(err, errGone) {
			break
		}
	}
	return pushes, err
}

// load reads the document. If it is missing although its folder has objects, it counts as damaged.
func (t *Table) load(ctx context.Context) (content, error) {
	c, exists, err := t.doc.Load(ctx)
	if err != nil || exists {
		return c, err
	}
	left, err := t.ledger.Store().List(ctx, folder+t.name+"/")
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", ledger.ErrBucket, err)
	case len(left) > 0:
		err = t.gone(folder+t.name+".json", left[0].Key+" was there after it")
	}
	return c, err
}

// read returns the pushes of a document, updated by the segments that are newer than it, and the
// number of the last segment. There may be newer segments while a process has the lease, or after
// an older document was restored.
func (t *Table) read(ctx context.Context, c content, deep func(*Push) bool) (pushes []*Push, last int, err error) {
	for _, h := range c.Files {
		pushes = append(pushes, &Push{Head: h})
	}
	// Read the segments that are newer than the document, several at once where many are likely.
	newer, ahead := map[int]*Segment{}, 1
	if c.Lease != nil {
		ahead = parallelReads
	}
	last = c.Segments
	for more := true; more; ahead = parallelReads {
		some, err := t.segments(ctx, last+1, ahead)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range some {
			if more = more && s != nil; s == nil {
				continue
			}
			n := last + 1
			i := slices.IndexFunc(pushes, func(p *Push) bool { return p.Head.ID == s.Push })
			switch {
			case !more:
				return nil, 0, t.gone(t.key(n), "a later one is there")
			case s.Push == "": // the segment only takes a number
			case s.Head != nil && i < 0:
				pushes = append(pushes, &Push{Head: *s.Head})
			case s.Head != nil:
				pushes[i].Head = *s.Head
			case i < 0 || pushes[i].Head.Last != last:
				return nil, 0, t.gone(t.key(last), t.key(n)+" adds to it")
			default:
				pushes[i].Head.Last = n
			}
			newer[n], last = s, n
		}
	}

	// Read the states of rows where a segment has added to them, or where deep asks for it.
	for i, p := range pushes {
		p.Newest = !slices.ContainsFunc(pushes[i+1:], func(o *Push) bool { return o.sameFile(p) })
		if p.Head.Whole > 0 && (p.Head.Last > p.Head.Whole || deep(p)) {
			if err := t.rows(ctx, p, newer); err != nil {
				return nil, 0, err
			}
		}
	}
	Supersede(pushes)
	return pushes, last, nil
}

// rows reads the states of a push's rows: from the last segment that holds all that is known, and
// from those that add to it.
func (t *Table) rows(ctx context.Context, p *Push, read map[int]*Segment) error {
	p.States, p.Words, p.Sums = &States{}, map[int64]Words{}, map[string]Sum{}
	for n := p.Head.Whole; n <= p.Head.Last; {
		some := []*Segment{read[n]}
		if some[0] == nil {
			var err error
			if some, err = t.segments(ctx, n, min(parallelReads, p.Head.Last-n+1)); err != nil {
				return err
			}
		}
		for _, s := range some {
			switch {
			case s == nil:
				return t.gone(t.key(n), p.Head.Name+" needs it")
			case s.Push != p.Head.ID:
				return t.damaged(t.key(n), fmt.Errorf("it is of another push than %s", p.Head.ID))
			}
			if err := p.States.Apply(s.Spans); err != nil {
				return t.damaged(t.key(n), err)
			}
			p.Take(*s)
			p.Head.Run, p.Head.At = s.Run, s.At
			n++
		}
	}
	p.resume()
	return nil
}

// Rows returns the states of a push's rows, and reads them unless they are known or forgotten.
func (t *Table) Rows(ctx context.Context, p *Push) (*States, error) {
	if p.States == nil && !p.Head.Pruned {
		err := t.rows(ctx, p, nil)
		return p.States, err
	}
	return p.States, nil
}

// segments reads count segments, from a number on, in parallel. A missing one is nil.
func (t *Table) segments(ctx context.Context, from, count int) ([]*Segment, error) {
	some := make([]*Segment, count)
	g, ctx := errgroup.WithContext(ctx)
	for i := range some {
		g.Go(func() error {
			s, err := ledger.ReadOnce[Segment](ctx, t.ledger, t.key(from+i), ifDeleted)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			some[i] = &s
			return err
		})
	}
	return some, g.Wait()
}
