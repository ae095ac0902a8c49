package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
)

// mostFurther is how many requests a window may make, beyond the first ones for rows and totals, to
// find out why rows differ from totals.
const mostFurther = 4

// An allowance counts down the requests that are left. A nil one allows any number.
type allowance struct{ left atomic.Int64 }

// errAllowance says that no further request is made.
var errAllowance = fmt.Errorf("%d further requests have been made", mostFurther)

// take uses up one request, or returns errAllowance when none is left.
func (a *allowance) take() error {
	if a != nil && a.left.Add(-1) < 0 {
		return errAllowance
	}
	return nil
}

// A mismatch is a partition whose rows differ from the totals.
type mismatch struct {
	answer  partition.Answer // with the part of this partition alone
	control *ledger.Control
	why     string // a remark for the record, in addition to the differences
	spread  bool   // all of many values of the first dimension differ, so its place isn't narrowed further
}

// part returns the part with the rows that differ.
func (d mismatch) part() table.Part { return d.answer.Parts[0] }

// reconcile compares an answer with the totals. It publishes the partitions that agree, and keeps
// the others for recheck.
func (f *fetch) reconcile(ctx context.Context, a partition.Answer, c *control) error {
	totals, unknown := c.wait()
	control := f.compareWithTotals(a.Parts, totals, unknown)
	var agreeing []table.Part
	for _, p := range a.Parts {
		if d := (mismatch{answer: a.Only(p), control: control[p.Partition]}); d.control.State == ledger.Unreconciled {
			f.mismatches = append(f.mismatches, d)
		} else {
			agreeing = append(agreeing, p)
		}
	}
	return f.publish(ctx, a.Only(agreeing...), control)
}

// recheck goes through the partitions whose rows differed from the totals. It asks for new totals,
// because the service may have restated its numbers since the answer with the totals of several
// windows, and then for the rows of those that still differ. It publishes the partitions that agree
// by then. For the others it finds out where the difference is, and publishes them with that.
func (f *fetch) recheck(ctx context.Context) (err error) {
	if len(f.mismatches) == 0 {
		return nil
	}
	f.further = &allowance{}
	f.further.left.Store(mostFurther)
	slices.SortFunc(f.mismatches, func(a, b mismatch) int { return a.part().Partition.Compare(b.part().Partition) })
	left := f.mismatches
	parts, unknown := f.totals(ctx, f.spanning(left))
	if unknown == nil {
		totals := byPartition(parts)
		if left, err = f.publishAgreeing(ctx, left, totals); len(left) > 0 {
			f.fetchAgain(ctx, left)
			var failed error
			left, failed = f.publishAgreeing(ctx, left, totals)
			err = errors.Join(err, failed)
		}
		if len(left) > 0 && ctx.Err() == nil {
			f.locate(ctx, left)
		}
	} else if errors.Is(unknown, adjust.ErrAuth) {
		err = unknown // the job goes no further
	}
	// What still differs is published with where it differs, or with why that isn't known.
	for _, d := range left {
		switch {
		case unknown == nil:
			d.control.Why = d.why
		case d.control.Differences == nil:
			d.control.Why = unknown.Error()
		default:
			d.control.Why = fmt.Sprintf("asking again: %v", unknown)
		}
		err = errors.Join(err, f.publish(ctx, d.answer, map[civil.Date]*ledger.Control{d.part().Partition: d.control}))
	}
	return err
}

// publishAgreeing publishes the mismatches whose rows agree with the totals, and returns the
// others.
func (f *fetch) publishAgreeing(ctx context.Context, mismatches []mismatch,
	totals map[civil.Date]table.Part) (left []mismatch, err error) {
	parts := make([]table.Part, len(mismatches))
	for i, d := range mismatches {
		parts[i] = d.part()
	}
	control := f.compareWithTotals(parts, totals, nil)
	for _, d := range mismatches {
		if d.control = control[d.part().Partition]; d.control.State == ledger.Unreconciled {
			left = append(left, d)
		} else {
			err = errors.Join(err, f.publish(ctx, d.answer, control))
		}
	}
	return left, err
}

// fetchAgain fetches the rows of mismatches once more, and replaces the earlier rows. A mismatch
// whose rows can't be fetched keeps the earlier ones.
func (f *fetch) fetchAgain(ctx context.Context, mismatches []mismatch) {
	answers := map[civil.Date]partition.Answer{}
	failed := f.fetchPartitions(ctx, f.spanning(mismatches), nil,
		func(_ []civil.Date, a partition.Answer, err error) error {
			for _, p := range a.Parts {
				answers[p.Partition] = a.Only(p)
			}
			return err
		})
	for i, d := range mismatches {
		a, answered := answers[d.part().Partition]
		if !answered {
			mismatches[i].why = fmt.Sprintf("asking again: %v", failed)
			continue
		}
		delete(answers, d.part().Partition)
		d.part().Remove()
		mismatches[i].answer = a
	}
	for _, a := range answers {
		a.Parts[0].Remove() // of partitions in between
	}
}

// publish publishes an answer. control has the result of comparing each partition with the totals.
// A partition that isn't reconciled fails instead if the config asks for that, and one with refused
// apps or repeated rows fails if no totals agree with it.
func (f *fetch) publish(ctx context.Context, a partition.Answer, control map[civil.Date]*ledger.Control) (err error) {
	refusal := "the service refuses the apps " + strings.Join(a.Refused, ", ") + ", whose rows aren't in it"
	a.Control, a.Scope, a.Hidden = control, f.scope.now.ID(), map[civil.Date][]string{}
	var parts []table.Part
	for _, p := range a.Parts {
		a.Hidden[p.Partition] = f.hidden(f.window.Base[p.Partition])
		c, name := control[p.Partition], span([]civil.Date{p.Partition})
		if p.Repeated > 0 {
			f.o.Log.Warn("rows have the same dimensions as others", "job", f.o.Job, "run", f.o.Run, "window", name,
				"rows", p.Repeated)
		}
		if said := f.clockWarning(p.Partition); said != "" {
			f.o.Log.Warn(said, "job", f.o.Job, "run", f.o.Run, "window", name)
			c.Also(said)
		}
		if len(a.Refused) > 0 {
			a.Hidden[p.Partition] = slices.Concat(a.Hidden[p.Partition], a.Refused)
			c.Also(refusal)
		}
		var why error
		switch {
		case len(a.Refused) > 0 && c.State != ledger.Reconciled:
			why = fmt.Errorf("no total vouches for the rows of the other apps: %s", c.Say())
		case p.Repeated > 0 && c.State != ledger.Reconciled: // they may be the same row twice
			why = fmt.Errorf("%d of %d rows have the same dimensions as others, and no total vouches for them (%s)",
				p.Repeated, p.Rows, c.Say())
		case f.o.Reconcile == ReconcileFail && c.State == ledger.Unreconciled:
			why = fmt.Errorf("%s: %s", c.Headline(), c.Say())
		default:
			parts = append(parts, p)
			continue
		}
		f.out.Failed++
		p.Remove()
		err = errors.Join(err, fmt.Errorf("reconcile %s/%s: %w; the old rows stay", f.o.Table, name, why))
	}
	if len(parts) > 0 && f.noteReported(a.Refused) {
		err = errors.Join(err, fmt.Errorf("fetch %s: %s; those of the other apps are published; name these in "+
			"filters: {app_token__in: [...]} to do without the rest", f.o.Table, refusal))
	}
	out, failed := f.table.Deliver(ctx, f.lease, f.cols.Definition, f.window, a.Only(parts...))
	if f.newTable {
		out.Blank = out.Empty
	}
	f.out.Add(out)
	return errors.Join(err, failed)
}

// spanning returns all partitions from the first mismatch to the last.
func (f *fetch) spanning(mismatches []mismatch) []civil.Date {
	return f.rules.Period.Row(mismatches[0].part().Partition, mismatches[len(mismatches)-1].part().Partition)
}

// placeDimensions are the dimensions in which locate looks for a difference, in this order.
var placeDimensions = []string{"app_token", "os_name", "network"}

// mostNarrowed is how many values of the first dimension may differ for locate to go on with them.
const mostNarrowed = 20

// locate finds where each difference is, as far as the dimensions of the job and the allowance let
// it: first by the first of placeDimensions that the job has and then, for the values that differ,
// by all of them. A difference whose place can't be found keeps none.
func (f *fetch) locate(ctx context.Context, mismatches []mismatch) {
	var by []string
	for _, name := range placeDimensions {
		if slices.Contains(f.o.Query.Dimensions, name) {
			by = append(by, name)
		}
	}
	if len(by) == 0 {
		return
	}
	values := f.locateBy(ctx, mismatches, by[:1], nil)
	slices.Sort(values)
	values = slices.Compact(values)
	if len(by) == 1 || len(values) == 0 || len(values) > mostNarrowed ||
		slices.ContainsFunc(values, func(v string) bool { return v == "" || strings.Contains(v, ",") }) {
		return
	}
	f.locateBy(ctx, mismatches, by, values)
}

// locateBy asks for totals by some dimensions, and notes in the mismatches where the differences
// are. If only isn't nil, it asks only for these values of the first dimension. It returns the
// values of the first dimension that differ, leaving out mismatches in which all of many values do.
func (f *fetch) locateBy(ctx context.Context, mismatches []mismatch, by, only []string) (values []string) {
	metrics := slices.DeleteFunc(slices.Clone(f.cols.totalled), func(c table.Column) bool {
		return !slices.ContainsFunc(mismatches, func(d mismatch) bool {
			return slices.ContainsFunc(d.control.Differences,
				func(x ledger.Difference) bool { return x.Metric == c.Name })
		})
	})
	filters := f.o.Query.Filters
	if only != nil {
		filters = withFilter(filters, by[0]+"__in", only)
	}
	totals, err := f.totalsBy(ctx, f.spanning(mismatches), by, metrics, filters)
	if err != nil {
		f.o.Log.Debug("where rows and totals differ isn't known", "job", f.o.Job, "run", f.o.Run, "error", err)
		return nil
	}
	columns := f.cols.period()
	for _, name := range by {
		columns = append(columns, table.Column{Name: name, Source: name, Dimension: true})
	}
	columns = append(columns, metrics...)
	for _, t := range totals {
		if i := slices.IndexFunc(mismatches, func(d mismatch) bool {
			return d.part().Partition == t.Partition &&
				!d.spread
		}); i >= 0 {
			values = append(values, f.locateOne(ctx, &mismatches[i], t, columns, metrics, by, only)...)
		}
		t.Remove()
	}
	return values
}

// locateOne does the work of locateBy for one mismatch, whose totals by place are in the part
// total.
func (f *fetch) locateOne(ctx context.Context, d *mismatch, total table.Part, columns, metrics []table.Column, by,
	only []string) (values []string) {
	theirs, err := total.Grouped(ctx, columns, by)
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range by {
		names = append(names, f.o.named(name, name))
	}
	ours, err := d.part().Grouped(ctx, f.cols.Columns, names)
	if err != nil {
		return nil
	}
	all := map[string]bool{}
	for group := range theirs {
		all[group] = true
	}
	for group := range ours {
		if first, _, _ := strings.Cut(group, table.GroupSeparator); only != nil && !slices.Contains(only, first) {
			delete(ours, group)
			continue
		}
		all[group] = true
	}
	groups := partition.Compare(metrics, ours, theirs, f.cols.tolerances)
	for i, x := range d.control.Differences {
		switch where, every := partition.Place(by, x.Metric, groups, len(all)); {
		case every && only != nil: // all that it was narrowed to differs: the shorter text of before stays
		case where != "":
			d.control.Differences[i].Where = where
		case only == nil: // by place nothing differs, so the service's own totals don't add up
			if d.why != "" {
				d.why += "; "
			}
			d.why += x.Metric + " by " + by[0] + " is the same in the service's totals as in the rows"
		}
	}
	if d.spread = len(groups) == len(all) && len(all) > partition.MostPlaces; d.spread {
		return nil
	}
	for group := range groups {
		first, _, _ := strings.Cut(group, table.GroupSeparator)
		values = append(values, first)
	}
	return values
}
