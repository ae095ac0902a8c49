package report

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/raw"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// replay makes again those partitions of a unit that are still due. A batch that fails doesn't stop
// the others.
func (p *plan) replay(ctx context.Context, unit replayUnit, cols []column) (out ledger.Outcome, err error) {
	window, lease, err := p.table.Begin(ctx, unit.window)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lease.End(ctx)) }()
	for _, e := range unit.batches {
		if e = e.only(window); len(e.records) == 0 {
			continue
		}
		d, a, failed := p.rebuild(ctx, e, cols)
		if failed != nil {
			out.Failed += len(e.records)
			err = errors.Join(err, fmt.Errorf("replay %s/%s: %w; the rows stay as they are", p.o.Table,
				e.spans(p.rules.Period), failed))
			continue
		}
		made, failed := p.table.Deliver(ctx, lease, d, window, a)
		out.Add(made)
		err = errors.Join(err, failed)
	}
	return out, err
}

// rebuild converts the kept answers of a batch, and returns the parts of its partitions. It checks
// the answers' checksums while it reads them, and compares each part with the recorded rows.
func (p *plan) rebuild(ctx context.Context, e batch, cols []column) (d partition.Definition, a partition.Answer,
	err error) {
	shape, err := p.table.ShapeOf(ctx, e.records[0])
	if err != nil {
		return d, a, err
	}
	var conv *table.Converter
	a = partition.Answer{None: true, Replayed: p.now, Raw: e.keys, Control: map[civil.Date]*ledger.Control{}}
	for _, key := range e.keys {
		r, err := p.o.Raw.Open(ctx, key)
		if err != nil {
			return d, a, err
		}
		if conv == nil {
			if d, err = p.definitionOf(cols, shape, r.Meta); err == nil {
				err = p.table.SaveShape(ctx, d.Shape)
			}
			if err == nil {
				conv, err = p.table.Converter(d, p.rowOf(r.Meta))
			}
			if err != nil {
				return d, a, errors.Join(err, r.Close())
			}
			defer conv.Abort()
			conv.Loaded(r.Fetched) // the first answer's time: the others came after it
		}
		if !r.Empty() {
			a.None = false
			err = conv.Read(ctx, r)
		}
		if a.Fetched.IsZero() || r.Fetched.Before(a.Fetched) {
			a.Fetched = r.Fetched
		}
		if err = errors.Join(err, r.Close()); err != nil {
			return d, a, err
		}
	}
	if a.Parts, err = conv.Finish(); err != nil {
		return d, a, err
	}
	a, err = p.checkRebuilt(a, e, d.Shape.ID(), shape)
	return d, a, err
}

// checkRebuilt keeps the parts of the batch's partitions, and removes the others. It refuses a part
// that isn't what was recorded, because the object of an answer may have been replaced by another
// that is just as whole and valid. If the columns differ from the recorded ones, only the sums can
// be compared.
func (p *plan) checkRebuilt(a partition.Answer, e batch, shape string, recorded ledger.Shape) (partition.Answer,
	error) {
	made := byPartition(a.Parts)
	var parts []table.Part
	var err error
	for _, was := range e.records {
		part, there := made[was.Partition]
		switch {
		case !there:
			err = fmt.Errorf("its raw answer %s is about other days", p.o.Raw.Location(e.keys[0]))
		case part.Rows != was.Rows:
			err = fmt.Errorf("the raw answer %s has %d rows of %s, and %d are recorded", p.o.Raw.Location(e.keys[0]),
				part.Rows, was.Partition, was.Rows)
		case shape == was.Shape && part.Hash != was.Hash, !partition.SumsAgree(was.Sums, part.Sums):
			err = fmt.Errorf("the raw answer %s gives other rows of %s than those that are recorded",
				p.o.Raw.Location(e.keys[0]), was.Partition)
		}
		delete(made, was.Partition)
		parts = append(parts, part)
		a.Control[was.Partition] = p.asNamed(was.Control, recorded)
	}
	for _, part := range made {
		part.Remove()
	}
	if err != nil {
		for _, part := range parts {
			part.Remove()
		}
		return a, err
	}
	return a.Only(parts...), nil
}

// rewrite drops or renames columns of partitions that are due for nothing else, without asking the
// service: it takes their rows from a sink or, if none gives them back, from the kept answers. It
// returns the window without the partitions that it has rewritten.
func (f *fetch) rewrite(ctx context.Context, w refresh.Window) (refresh.Window, error) {
	var sources []ledger.Record
	for _, d := range w.Due {
		if e := w.Base[d.Partition]; d.Reason == refresh.Dropped && e.HeldBack == nil {
			sources = append(sources, e)
		}
	}
	if len(sources) == 0 {
		return w, nil
	}
	recorded, _, err := f.table.LastShape(ctx)
	if err != nil {
		return w, err
	}
	cols, err := f.recordedColumns(recorded)
	if err != nil {
		return w, err
	}
	done := map[civil.Date]bool{}
	deliver := func(d partition.Definition, a partition.Answer, of ...ledger.Record) error {
		made, err := f.table.Deliver(ctx, f.lease, d, w, a)
		f.out.Add(made)
		for _, e := range of {
			done[e.Partition] = true
		}
		return err
	}
	var unread []ledger.Record
	for _, e := range sources {
		d, a, failed := f.reread(ctx, e, cols)
		if failed == nil {
			err = errors.Join(err, deliver(d, a, e))
			continue
		}
		f.o.Log.Debug("the rows of a partition can't be read back", "job", f.o.Job, "window", e.Partition.String(),
			"error", failed)
		unread = append(unread, e)
	}
	for _, e := range batchesOf(unread) {
		if f.o.Raw == nil || e.keys == nil {
			continue
		}
		if d, a, failed := f.rebuild(ctx, e, cols); failed == nil {
			err = errors.Join(err, deliver(d, a, e.records...))
		}
	}
	if left := len(sources) - len(done); left > 0 {
		f.o.Log.Warn("partitions are fetched to take columns out of them or to rename them, because no sink gives "+
			"their rows back as they are recorded", "job", f.o.Job, "partitions", left)
	}
	return w.Without(func(d refresh.Due) bool { return done[d.Partition] }), err
}

// reread makes a recorded partition again from its rows in a sink.
func (p *plan) reread(ctx context.Context, e ledger.Record, cols []column) (d partition.Definition, a partition.Answer,
	err error) {
	shape, err := p.table.ShapeOf(ctx, e)
	if err != nil {
		return d, a, err
	}
	at := map[string]int{}
	var sources []string
	for i, c := range shape.Columns {
		at[c.Name], sources = i, append(sources, c.Source)
	}
	if d, err = p.definition(cols, shape, sources); err != nil {
		return d, a, err
	}
	for _, c := range d.Columns {
		if _, has := at[c.Name]; !has && c.Source != "" && slices.Contains(sources, c.Source) {
			at[c.Name] = slices.Index(sources, c.Source) // recorded under another name
		}
		if i, has := at[c.Name]; has && shape.Columns[i].Type != c.Type.String() {
			return d, a, fmt.Errorf("column %s is %s by now, and its rows have %s", c.Name, c.Type,
				shape.Columns[i].Type)
		}
	}
	if err = p.table.SaveShape(ctx, d.Shape); err != nil {
		return d, a, err
	}
	conv, err := p.table.Converter(d, []civil.Date{e.Partition})
	if err != nil {
		return d, a, err
	}
	defer conv.Abort()
	conv.Loaded(e.Fetched)
	if err = p.table.Rows(ctx, e, shape, func(rows [][]any) error {
		chosen := make([][]any, len(rows))
		for k, row := range rows {
			chosen[k] = make([]any, len(d.Columns))
			for i, c := range d.Columns {
				if j, has := at[c.Name]; has {
					chosen[k][i] = row[j]
				}
			}
		}
		return conv.Rows(ctx, chosen)
	}); err != nil {
		return d, a, err
	}
	a = partition.Answer{Fetched: e.Fetched, Replayed: p.now, Raw: e.Raw,
		Control: map[civil.Date]*ledger.Control{e.Partition: p.asNamed(e.Control, shape)}}
	a.Parts, err = conv.Finish()
	return d, a, err
}

// definitionOf returns the table's definition for rows of one kept answer.
func (p *plan) definitionOf(cols []column, shape ledger.Shape, m raw.Meta) (partition.Definition, error) {
	query, err := url.ParseQuery(m.Query)
	if err != nil {
		return partition.Definition{}, fmt.Errorf("the query of a raw answer: %w", err)
	}
	d, err := p.definition(cols, shape, askedBy(query))
	d.Ignored = ignored(query, d.Columns)
	return d, err
}

// definition returns the table's definition for rows that were asked for by these dimensions and
// metrics. Other metrics become columns of NULLs. shape is that of the recorded rows, which tells
// what events were called then.
func (p *plan) definition(cols []column, shape ledger.Shape, asked []string) (partition.Definition, error) {
	if err := ledger.CheckReplay(p.o.Table, shape, shapeOf(p.o, p.fixed)); err != nil {
		return partition.Definition{}, err
	}
	cols = slices.Clone(cols)
	for i, c := range cols {
		at := slices.IndexFunc(shape.Columns, func(was ledger.Column) bool {
			return was.Name == c.Name &&
				was.Source != ""
		})
		if c.event != "" && at >= 0 {
			cols[i].Source = shape.Columns[at].Source
		}
		if !c.Dimension && !slices.Contains(asked, cols[i].Source) {
			cols[i].Source = ""
		}
	}
	d := p.withKept(p.define(cols), shape).Definition
	d.Strict = false // columns that the answer has besides were reported when it came
	return d, nil
}

// askedBy returns the dimensions and metrics that a query asked for.
func askedBy(query url.Values) []string {
	names := append(strings.Split(query.Get("dimensions"), ","), strings.Split(query.Get("metrics"), ",")...)
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// ignored returns the dimensions and metrics of a query that no column is made of.
func ignored(query url.Values, cols []table.Column) []string {
	return slices.DeleteFunc(askedBy(query), func(source string) bool {
		return slices.ContainsFunc(cols, func(c table.Column) bool { return c.Source == source })
	})
}

// rowOf returns the partitions that a kept answer covers.
func (p *plan) rowOf(m raw.Meta) (row []civil.Date) {
	if p.rules.Period == refresh.Whole {
		return []civil.Date{sinks.Whole}
	}
	for d := p.rules.Period.Start(m.From); d.Before(m.Until); d = p.rules.Period.Next(d) {
		row = append(row, d)
	}
	return row
}
