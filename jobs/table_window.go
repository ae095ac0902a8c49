package jobs

import "context"

// StillDue reads what other processes have recorded since the plan was made, and gives the window without it. It is
// called under the window's claim.
func (t *Table) StillDue(ctx context.Context, w Window) (Window, error) {
	if err := t.Refresh(ctx); err != nil {
		return Window{}, err
	}
	return w.Without(func(d Due) bool {
		e, recorded := t.Entry(d.Partition)
		return recorded && e.Seq > d.Seq && e.State != Publishing
	}), nil
}
