package partition

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// A beforeRebaseline has the function that is called before rows are put beside others that mean
// something else.
type beforeRebaseline struct {
	call func(context.Context) error // nil: there is none
	// The IDs of the shapes that were compared already. The channel is used as a mutex, because
	// testing/synctest knows when a channel blocks.
	shapes chan map[string]bool
}

// BeforeRebaseline makes the table call a function before it puts the first part that means
// something else than a recorded partition. If the function fails, neither that part nor those
// behind it in the same Publish are put, and it is called again by the next Publish.
func (t *Table) BeforeRebaseline(call func(context.Context) error) {
	t.beforeRebaseline = beforeRebaseline{call, make(chan map[string]bool, 1)}
	t.beforeRebaseline.shapes <- map[string]bool{}
}

// callBeforeRebaseline calls the function if something that is to be put requires it.
func (t *Table) callBeforeRebaseline(ctx context.Context, publications []*attempt) {
	if t.beforeRebaseline.call == nil {
		return
	}
	var err error
	for _, p := range publications {
		if p.Err != nil || !p.puts() {
			continue
		}
		if err == nil {
			err = t.callIfMeaningDiffers(ctx, p)
		}
		if p.Err = err; err != nil {
			p.Err = fmt.Errorf("put %s/%s: %w", t.Name(), p.Part.Partition, err)
		}
	}
}

// callIfMeaningDiffers calls the function if the part of a publication means something else
// than a recorded partition.
func (t *Table) callIfMeaningDiffers(ctx context.Context, p *attempt) error {
	var compared map[string]bool
	select {
	case compared = <-t.beforeRebaseline.shapes:
		defer func() { t.beforeRebaseline.shapes <- compared }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if compared[p.record.Shape] {
		return nil
	}
	is, err := t.ShapeOf(ctx, p.record)
	if err != nil {
		return err
	}
	stale, err := t.Stale(ctx, is)
	if err != nil {
		return err
	}
	for _, how := range stale {
		if how.Rebased && !compared[p.record.Shape] {
			if err := t.beforeRebaseline.call(ctx); err != nil {
				return err
			}
			break
		}
	}
	compared[p.record.Shape] = true
	return nil
}

// DescribeMixed makes targets say in their descriptions of the table whether its partitions have
// two meanings.
func (t *Table) DescribeMixed(ctx context.Context, mixed bool) error {
	for _, target := range t.o.Targets {
		if sink, ok := target.Sink.(sinks.Describer); ok {
			if err := sink.Mixed(ctx, t.Name(), mixed); err != nil {
				return &SinkError{fmt.Errorf("describe %s in %s: %w", t.Name(), target.Name, err)}
			}
		}
	}
	return nil
}
