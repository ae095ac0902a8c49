package report

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Comparing says which contents of a partition are compared, and how its rows are told apart.
type Comparing struct {
	Partition civil.Date
	Seq       int        // number of the earlier content; 0: On chooses it
	On        civil.Date // the earlier content is that at the end of this day; zero: the last but one
	By        []string   // dimensions that tell rows apart; none: all of the job's
}

// A Diff says how two contents of a partition differ, by the raw answers that they were made of.
type Diff struct {
	Was, Is    ledger.Record
	Only       bool     // there is no other content than Is, so nothing is compared
	Dimensions []string // the dimensions that tell rows apart
	Metrics    []string // the metrics that are compared
	Left       []string // metrics that aren't compared: they don't add up, or one of the two answers lacks them
	Rows       []Row    // the rows that differ
	Same       int      // the number of the other rows

	types []catalog.Type // of the metrics
}

// Diff compares the current content of a partition with an earlier one. It asks the service for
// nothing, and changes nothing.
func (k *Kind) Diff(ctx context.Context, now time.Time, c Comparing) (d Diff, err error) {
	p, recorded, _, err := k.openRaw(ctx, now)
	if err != nil {
		return d, err
	}
	c.Partition = p.rules.Period.Start(c.Partition)
	if d, err = p.contents(ctx, c); err != nil || d.Only {
		return d, err
	}
	cols, err := p.recordedColumns(recorded)
	if err != nil {
		return d, err
	}
	shapes, err := p.shapesOf(ctx, d.Was, d.Is)
	if err != nil {
		return d, err
	}
	if err = d.choose(k.o, c.By, cols, shapes); err != nil {
		return d, fmt.Errorf("job %s: %w: %w", k.o.Job, ledger.ErrRefused, err)
	}
	keys := map[string][]string{}
	var contents [2]rowsByKey
	for i, e := range []ledger.Record{d.Was, d.Is} {
		if contents[i], err = p.readRows(ctx, e, d, keys); err != nil {
			return d, fmt.Errorf("content %d of %s/%s: %w", e.Seq, k.o.Table, span([]civil.Date{e.Partition}), err)
		}
		for key, rows := range contents[i] {
			if c.By != nil {
				contents[i][key] = sumRows(rows)
			}
		}
	}
	d.Rows, d.Same = compareRows(contents[0], contents[1], keys, d.Metrics)
	return d, nil
}

// contents finds the two contents in the partition's history.
func (p *plan) contents(ctx context.Context, c Comparing) (d Diff, err error) {
	history, err := p.table.History(ctx, c.Partition, p.rules.Period.Next(c.Partition))
	if err != nil {
		return d, err
	}
	name := p.o.Table + "/" + span([]civil.Date{c.Partition})
	if len(history) == 0 {
		return d, fmt.Errorf("%w: nothing is recorded of %s", ledger.ErrRefused, name)
	}
	last := len(history) - 1
	d.Is = history[last]
	switch {
	case c.Seq > 0:
		earlier, err := contentOf(p.o.Table, history, c.Seq)
		if err != nil {
			return d, err
		}
		d.Was = earlier[0]
	case c.On.IsValid():
		over := c.On.AddDays(1).In(p.rules.Location)
		for _, e := range history {
			if e.Brought().Before(over) {
				d.Was = e
			}
		}
		if d.Was.Seq == 0 {
			return d, fmt.Errorf("%w: %s had no content on %s; the first came %s", ledger.ErrRefused, name, c.On,
				history[0].Brought().UTC().Format(time.RFC3339))
		}
	case last > 0:
		d.Was = history[last-1]
	}
	d.Only = d.Was.Seq == 0 || d.Was.Seq == d.Is.Seq
	if e, _ := p.table.Record(c.Partition); e.State == ledger.Publishing {
		p.o.Log.Warn("the last put of "+name+" was interrupted: the sinks may show newer rows than are compared", "job",
			p.o.Job)
	}
	return d, nil
}

// shapesOf returns the shapes of contents. It refuses them unless their numbers mean the same as
// those of the config.
func (p *plan) shapesOf(ctx context.Context, records ...ledger.Record) (shapes []ledger.Shape, err error) {
	for _, e := range records {
		s, err := p.table.ShapeOf(ctx, e)
		if err == nil {
			err = ledger.CheckReplay(p.o.Table, s, shapeOf(p.o, p.fixed))
		}
		if err != nil {
			return nil, err
		}
		shapes = append(shapes, s)
	}
	return shapes, nil
}

// choose sets the dimensions that tell rows apart, and the metrics to compare. These are the ones
// that both contents have and that, if rows are to be added up, add up over the dimensions that are
// left out.
func (d *Diff) choose(o Options, by []string, cols []column, shapes []ledger.Shape) error {
	d.Dimensions = o.Query.Dimensions
	var dropped []string
	if by != nil {
		for _, name := range by {
			if !slices.Contains(o.Query.Dimensions, name) {
				return fmt.Errorf("%q is none of its dimensions: %s", name, strings.Join(o.Query.Dimensions, ", "))
			}
		}
		d.Dimensions = by
		for _, name := range o.Query.Dimensions {
			if f, _ := catalog.Dimension(name); !slices.Contains(by, name) && !f.Type.IsDate() {
				dropped = append(dropped, name)
			}
		}
	}
	for _, c := range cols {
		if c.Dimension || c.Stamp != "" {
			continue
		}
		alone := func(s ledger.Shape) bool { return sourceOf(s, c.Name) == "" }
		f := metric(c.Source)
		adds := c.Type != catalog.String && (c.addsUp || !slices.ContainsFunc(dropped,
			func(name string) bool { return !f.AdditiveOver(name) }))
		if slices.ContainsFunc(shapes, alone) || by != nil && !adds {
			d.Left = append(d.Left, c.Name)
			continue
		}
		d.Metrics = append(d.Metrics, c.Name)
		d.types = append(d.types, c.Type)
	}
	return nil
}

// sourceOf returns what the service calls a column of a shape. It is empty when the shape lacks the
// column, or has only NULLs in it.
func sourceOf(s ledger.Shape, name string) string {
	i := slices.IndexFunc(s.Columns, func(c ledger.Column) bool { return c.Name == name })
	if i < 0 {
		return ""
	}
	return s.Columns[i].Source
}

// readRows reads the rows that a content was made of, from the kept answers, and adds their keys to
// keys.
func (p *plan) readRows(ctx context.Context, e ledger.Record, d Diff, keys map[string][]string) (rowsByKey, error) {
	if len(e.Raw) == 0 {
		return nil, errUnkept
	}
	shape, err := p.table.ShapeOf(ctx, e)
	if err != nil {
		return nil, err
	}
	c := newColumns(shape)
	for _, name := range p.o.Query.Dimensions {
		f, _ := catalog.Dimension(name)
		c.add(table.Column{Name: name, Source: name, Type: f.Type, Dimension: true})
	}
	for _, name := range d.Metrics {
		c.add(table.Column{Name: name, Source: sourceOf(shape, name)})
	}
	rows, wide := rowsByKey{}, len(p.o.Query.Dimensions)
	for _, key := range e.Raw {
		if err := p.cells(ctx, key, c, e.Partition, func(cells []string) error {
			var key, numbers []string
			for _, name := range d.Dimensions {
				key = append(key, cells[slices.Index(p.o.Query.Dimensions, name)])
			}
			for i, cell := range cells[wide:] {
				numbers = append(numbers, plain(cell, d.types[i]))
			}
			id := keyOf(key)
			rows[id], keys[id] = append(rows[id], numbers), key
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// cells calls use for each row of a partition in one kept answer.
func (p *plan) cells(ctx context.Context, key string, c *columns, partition civil.Date,
	use func([]string) error) error {
	r, err := p.o.Raw.Open(ctx, key)
	if err != nil {
		return err
	}
	query, err := url.ParseQuery(r.Query)
	if err == nil && !r.Empty() {
		err = table.Cells(ctx, r, table.Options{
			Columns: c.Columns, Ignored: ignored(query, c.Columns), Route: c.Route, Partitions: []civil.Date{partition},
		}, use)
	}
	return errors.Join(err, r.Close())
}
