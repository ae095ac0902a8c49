package partition

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// A notice is given before rows come to stand beside others that mean something else.
type notice struct {
	give func(context.Context) error // nil: nobody asked for one
	turn chan map[string]bool        // the shapes of parts that were looked at; a mutex that testing/synctest sees as blocked
}

// BeforeRebaseline has give called before the first part is put that means something else than a recorded partition. Where it fails nothing
// is put, and it is called again for the next part.
func (t *Table) BeforeRebaseline(give func(context.Context) error) {
	t.notice = notice{give, make(chan map[string]bool, 1)}
	t.notice.turn <- map[string]bool{}
}

// giveNotice gives the notice if something that is to be put asks for it. Until the sinks have confirmed rows of another meaning they may
// show the old ones, and so the doubt of these has the old shape.
func (t *Table) giveNotice(ctx context.Context, courses []*course) {
	if t.notice.give == nil {
		return
	}
	var err error
	for _, w := range courses {
		if w.Err != nil || !w.puts() {
			continue
		}
		if err == nil {
			err = t.compareMeanings(ctx, w)
		}
		if w.Err = err; err != nil {
			w.Err = fmt.Errorf("put %s/%s: %w", t.Name(), w.Part.Partition, err)
		}
	}
}

func (t *Table) compareMeanings(ctx context.Context, w *course) error {
	var looked map[string]bool
	select {
	case looked = <-t.notice.turn:
		defer func() { t.notice.turn <- looked }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if looked[w.e.Shape] && (w.Base.Seq == 0 || w.Base.Shape == w.e.Shape) {
		return nil
	}
	is, err := t.ShapeOf(ctx, w.e)
	if err != nil {
		return err
	}
	stale, err := t.Stale(ctx, is)
	if err != nil {
		return err
	}
	if stale[w.Base.Shape].Rebased {
		w.doubt.Shape = w.Base.Shape
	}
	for _, how := range stale {
		if how.Rebased && !looked[w.e.Shape] {
			if err := t.notice.give(ctx); err != nil {
				return err
			}
			break
		}
	}
	looked[w.e.Shape] = true
	return nil
}

// DescribeMixed has targets say in their descriptions of the table whether its partitions are of two meanings.
func (t *Table) DescribeMixed(ctx context.Context, are bool) error {
	for _, target := range t.o.Targets {
		if sink, ok := target.Sink.(sinks.Describer); ok {
			if err := sink.Mixed(ctx, t.Name(), are); err != nil {
				return &SinkError{fmt.Errorf("describe %s in %s: %w", t.Name(), target.Name, err)}
			}
		}
	}
	return nil
}
