package partition

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// A notice has the function that is called before rows are put beside others that mean something
// else.
type notice struct {
	give func(context.Context) error // nil: there is none
	// The IDs of the shapes that were compared already. The channel is used as a mutex, because
	// testing/synctest knows when a channel blocks.
	shapes chan map[string]bool
}

// BeforeRebaseline makes the table call give before it puts the first part that means something
// else than a recorded partition. If give fails, nothing is put, and it is called again for the
// next part.
func (t *Table) BeforeRebaseline(give func(context.Context) error) {
	t.notice = notice{give, make(chan map[string]bool, 1)}
	t.notice.shapes <- map[string]bool{}
}

// giveNotice calls the notice's function if something that is to be put requires it.
func (t *Table) giveNotice(ctx context.Context, publications []*attempt) {
	if t.notice.give == nil {
		return
	}
	var err error
	for _, p := range publications {
		if p.Err != nil || !p.puts() {
			continue
		}
		if err == nil {
			err = t.compareMeanings(ctx, p)
		}
		if p.Err = err; err != nil {
			p.Err = fmt.Errorf("put %s/%s: %w", t.Name(), p.Part.Partition, err)
		}
	}
}

// compareMeanings calls the notice's function if the part of a publication means something else
// than a recorded partition.
func (t *Table) compareMeanings(ctx context.Context, p *attempt) error {
	var compared map[string]bool
	select {
	case compared = <-t.notice.shapes:
		defer func() { t.notice.shapes <- compared }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if compared[p.e.Shape] {
		return nil
	}
	is, err := t.ShapeOf(ctx, p.e)
	if err != nil {
		return err
	}
	stale, err := t.Stale(ctx, is)
	if err != nil {
		return err
	}
	for _, how := range stale {
		if how.Rebased && !compared[p.e.Shape] {
			if err := t.notice.give(ctx); err != nil {
				return err
			}
			break
		}
	}
	compared[p.e.Shape] = true
	return nil
}

// DescribeMixed makes targets say in their descriptions of the table whether its partitions have
// two meanings.
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
